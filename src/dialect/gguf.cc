// Tensors of GGUF files, and what their numbers mean.
#include "dequant/gguf.h"

#include <algorithm>
#include <array>

#include "checked.h"
#include "dialect/checks.h"
#include "text.h"

namespace dequant::gguf {
namespace {

/// A type of GGUF that is no block type.
struct OtherType {
  int64_t id;
  std::string_view name;
  bool removed;                      ///< from GGUF; false: plain numbers
  std::string_view bitnet_cpp = {};  ///< the type that bitnet.cpp writes under this number
};

constexpr std::array kOtherTypes{
    OtherType{0, "F32", false},
    OtherType{1, "F16", false},
    OtherType{4, "Q4_2", true},
    OtherType{5, "Q4_3", true},
    OtherType{24, "I8", false},
    OtherType{25, "I16", false},
    OtherType{26, "I32", false},
    OtherType{27, "I64", false},
    OtherType{28, "F64", false},
    OtherType{30, "BF16", false},
    OtherType{31, "Q4_0_4_4", true},
    OtherType{32, "Q4_0_4_8", true},
    OtherType{33, "Q4_0_8_8", true},
    OtherType{36, "IQ4_NL_4_4", true, "I2_S"},
    OtherType{37, "IQ4_NL_4_8", true, "I8_S"},
    OtherType{38, "IQ4_NL_8_8", true, "TL1"},
};

Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

/// The error of a type that is no block type, given as `what`.
template <class Accepts>
Error no_block_type(const std::string& what, const Accepts& accepts) {
  const auto found = std::find_if(kOtherTypes.begin(), kOtherTypes.end(), accepts);
  if (found == kOtherTypes.end()) return unsupported(concat("type: ", what, " is no type of GGUF"));
  if (found->removed) {
    const std::string now =
        found->bitnet_cpp.empty()
            ? std::string("no tool reads it")
            : concat("files of bitnet.cpp have its own type ", found->bitnet_cpp,
                     " under this number, which dequant does not read");
    return unsupported(
        concat("type: ", found->name, ", number ", found->id, ", was removed from GGUF; ", now));
  }
  return unsupported(
      concat("type: ", found->name, ", number ", found->id, ", has plain numbers, not blocks"));
}

}  // namespace

Result<BlockType> block_type(int64_t id) {
  if (const auto type = block_type_from_gguf(id)) return *type;
  return no_block_type(concat(id), [=](const OtherType& other) { return other.id == id; });
}

Result<BlockType> block_type(std::string_view name) {
  if (const auto type = block_type_from_name(name)) return *type;
  return no_block_type(concat("\"", name, "\""),
                       [=](const OtherType& other) { return other.name == name; });
}

Result<Plan> dequantize(const Dequantize& node) {
  const auto types = block_types();
  if (static_cast<size_t>(node.type) >= types.size()) {
    return invalid("type: ", static_cast<int>(node.type), " is no block type");
  }
  DEQUANT_CHECK(check_output(node.output));
  const Shape shape = node.shape;
  if (shape.empty() || shape.size() > size_t{kMaxRank}) {
    return invalid("shape: ", to_string(shape), " has rank ", shape.size(), ", not 1 to ",
                   kMaxRank);
  }
  const auto count = checked_count(shape);
  if (!count || !checked_bytes(32, *count)) {
    if (const auto counted = element_count(shape); !counted) return counted.error();
    return invalid("shape: the elements of ", to_string(shape), " do not fit in 64 bits");
  }
  const int64_t block = block_elements(node.type);
  if (shape.back() % block != 0) {
    return invalid("shape: rows of ", shape.back(), " in ", to_string(shape),
                   " are no multiple of the ", block, " elements of a ", name(node.type), " block");
  }
  // The elements of one scale are one row of the plan.
  const size_t outer = !node.has_scale ? shape.size() - 1 : node.scale_per_expert ? 1 : 0;
  if (node.scale_per_expert && shape.size() < 2) {
    return invalid("shape: ", to_string(shape), " has rows only, not one for each expert");
  }
  Plan plan{.output = node.output,
            .granularity = Granularity::blocked,
            .outer = *checked_count(shape.first(outer)),
            .axis = *checked_count(shape.subspan(outer)),
            .block = block};
  plan.parameters.x_blocks = node.type;
  if (node.has_scale) plan.parameters.tensor_scale = TensorScale::multiply;
  return plan;
}

}  // namespace dequant::gguf

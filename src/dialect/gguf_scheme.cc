// Tensors of GGUF files by name: the bytes of a tensor, its type and shape as options.
#include <algorithm>

#include "checked.h"
#include "dequant/gguf.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::gguf {
namespace {

using enum Element;

constexpr std::array kInputs{
    SchemeInput{"data", true, "uint8: the bytes of the tensor, whose rows are whole blocks"},
    SchemeInput{"scale", false,
                "float32: one number, or one for each index of the first dimension"},
};
constexpr std::array kSettings{
    SchemeSetting{"type", "the block type, such as Q4_K, or its number in GGUF files"},
    SchemeSetting{"shape", "of the dense tensor; by default that of data, in elements"},
};

/// The block type of a name, or of a number in decimal digits.
Result<BlockType> type_of(const SchemeArguments& arguments) {
  const auto text = arguments.text("type");
  if (!text) return invalid("gguf needs a type, such as Q4_K");
  int64_t id = 0;
  const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), id);
  const bool number = error == std::errc() && rest == text->data() + text->size();
  return number ? block_type(id) : block_type(*text);
}

/// The shape in elements of `data`, whose last dimension has the bytes of a row.
Result<std::vector<int64_t>> shape_of(Shape data, BlockType type) {
  if (data.empty()) return invalid("data: shape [] has no rows");
  std::vector<int64_t> shape(data.begin(), data.end());
  const int64_t bytes = block_bytes(type);
  if (shape.back() % bytes != 0) {
    return invalid("data: rows of ", shape.back(), " bytes in ", to_string(data),
                   " are no multiple of the ", bytes, " bytes of a ", name(type), " block");
  }
  const auto elements = checked_mul(shape.back() / bytes, block_elements(type));
  if (!elements) {
    return invalid("data: the elements of ", to_string(data), " do not fit in 64 bits");
  }
  shape.back() = *elements;
  return shape;
}

/// Demands as many bytes as the blocks of the plan have.
Status check_bytes(Shape data, const Plan& plan, BlockType type, Shape shape) {
  DEQUANT_TRY(const int64_t bytes, element_count(data));
  const int64_t needed = extents(plan).x;
  if (bytes == needed) return {};
  return invalid("data: ", bytes, " bytes where ", name(type), " of shape ", to_string(shape),
                 " has ", needed);
}

/// True for one float32 for each index of the first dimension, false for one. Fails for others.
Result<bool> is_per_expert(TensorType scale, Shape shape) {
  if (scale.element != float32) {
    return invalid("scale: element type ", name(scale.element), " is not float32");
  }
  if (std::ranges::all_of(scale.shape, [](int64_t size) { return size == 1; })) return false;
  if (scale.shape.size() == 1 && shape.size() > 1 && scale.shape[0] == shape[0]) return true;
  return invalid("scale: shape ", to_string(scale.shape), " is neither that of one number nor of ",
                 "one for each index of the first dimension of ", to_string(shape));
}

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  DEQUANT_TRY(const BlockType type, type_of(arguments));
  const TensorType data = arguments.type("data");
  if (data.element != uint8) {
    return invalid("data: element type ", name(data.element), " is not uint8");
  }
  const auto scale = arguments.optional_type("scale");
  DEQUANT_TRY(auto shape, arguments.integers("shape"));
  if (!arguments.text("shape")) {
    DEQUANT_TRY(shape, shape_of(data.shape, type));
  }
  Dequantize node{type, shape, arguments.output(), scale.has_value()};
  if (scale) {
    DEQUANT_TRY(node.scale_per_expert, is_per_expert(*scale, shape));
  }
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_CHECK(check_bytes(data.shape, plan, type, shape));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("data"),
                    .tensor_scale = arguments.index("scale")};
}

}  // namespace
}  // namespace dequant::gguf

namespace dequant {

const SchemeEntry kGgufScheme{{"gguf", "llama.cpp", gguf::kInputs, gguf::kSettings},
                              &gguf::plan_of};

}  // namespace dequant

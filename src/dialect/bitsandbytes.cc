// Weights of bitsandbytes: tables of values, scales of blocks of the flattened weight.
#include "dequant/bitsandbytes.h"

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/scheme.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant::bitsandbytes {
namespace {

using enum Element;

Status check_type(const TensorType& type, const char* what, Element element, Shape shape) {
  if (type.element != element) {
    return invalid(what, ": element type ", name(type.element), " is not ", name(element));
  }
  if (std::equal(shape.begin(), shape.end(), type.shape.begin(), type.shape.end())) return {};
  return invalid(what, ": shape ", to_string(type.shape), " where ", to_string(shape),
                 " is needed");
}

Status check_blocksize(int64_t size, const char* what) {
  if (size >= 1) return {};
  return invalid(what, ": ", size, " is less than 1");
}

/// The elements of the dense weight, which the bytes of the stored one must hold.
Result<int64_t> check_weight(const Dequantize4Bit& node) {
  DEQUANT_CHECK(check_rank("shape", node.shape, kMaxRank));
  const auto count = checked_count(node.shape);
  const auto bytes = count ? checked_bytes(4, *count) : std::nullopt;
  if (!bytes || !checked_bytes(bits(node.output), *count)) {
    return invalid("shape: the elements of ", to_string(node.shape), " do not fit in 64 bits");
  }
  const auto stored = checked_count(node.weight.shape);
  const auto stored_bytes =
      stored ? checked_bytes(bits(node.weight.element), *stored) : std::nullopt;
  if (stored_bytes != bytes) {
    return invalid("weight: ", name(node.weight.element), to_string(node.weight.shape), " has ",
                   stored_bytes.value_or(-1), " bytes where the codes of ", to_string(node.shape),
                   " need ", *bytes);
  }
  return *count;
}

constexpr std::array kInputs4Bit{
    SchemeInput{"weight", true, "any type: two codes in each byte, the first in the high bits"},
    SchemeInput{"absmax", true, "float32 [blocks]"},
    SchemeInput{"quant_map", true, "float32 [16]: the values of the codes"},
};
constexpr std::array kSettings4Bit{
    SchemeSetting{"shape", "of the dense weight: 4096,4096"},
    SchemeSetting{"blocksize", "elements that share a scale; 64 is the default"},
};

Result<SchemePlan> plan_of_4bit(const SchemeArguments& arguments) {
  DEQUANT_TRY(auto shape, arguments.integers("shape"));
  DEQUANT_TRY(const int64_t blocksize, arguments.integer("blocksize", 64));
  DEQUANT_TRY(Plan plan, dequantize(Dequantize4Bit{
                             arguments.type("weight"), arguments.type("absmax"),
                             arguments.type("quant_map"), shape, blocksize, arguments.output()}));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("absmax"),
                    .codebook = arguments.index("quant_map")};
}

constexpr std::array kInputsAbsmax{
    SchemeInput{"absmax", true, "uint8 [blocks]"},
    SchemeInput{"nested_absmax", true, "float32 [ceil(blocks / nested_blocksize)]"},
    SchemeInput{"nested_quant_map", true, "float32 [256]: the values of the codes"},
    SchemeInput{"nested_offset", true, "float32, one element"},
};
constexpr std::array kSettingsAbsmax{
    SchemeSetting{"nested_blocksize", "scales that share one; 256 is the default"},
};

Result<SchemePlan> plan_of_absmax(const SchemeArguments& arguments) {
  DEQUANT_TRY(const int64_t blocksize, arguments.integer("nested_blocksize", 256));
  const TensorType absmax = arguments.type("absmax");
  DEQUANT_TRY(Plan plan,
              dequantize(DequantizeAbsmax{
                  absmax, arguments.type("nested_absmax"), arguments.type("nested_quant_map"),
                  arguments.type("nested_offset"), blocksize, arguments.output()}));
  return SchemePlan{.plan = std::move(plan),
                    .shape = {absmax.shape.begin(), absmax.shape.end()},
                    .x = *arguments.index("absmax"),
                    .scale = *arguments.index("nested_absmax"),
                    .zero_point = arguments.index("nested_offset"),
                    .codebook = arguments.index("nested_quant_map")};
}

constexpr std::array kInputsInt8{
    SchemeInput{"weight", true, "int8 [out, in]"},
    SchemeInput{"SCB", true, "float32 [out]"},
};

Result<SchemePlan> plan_of_int8(const SchemeArguments& arguments) {
  const TensorType weight = arguments.type("weight");
  DEQUANT_TRY(Plan plan,
              dequantize(DequantizeInt8{weight, arguments.type("SCB"), arguments.output()}));
  return SchemePlan{.plan = std::move(plan),
                    .shape = {weight.shape.begin(), weight.shape.end()},
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("SCB")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize4Bit& node) {
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(const int64_t count, check_weight(node));
  DEQUANT_CHECK(check_blocksize(node.blocksize, "blocksize"));
  DEQUANT_CHECK(
      check_type(node.absmax, "absmax", float32, std::array{ceil_div(count, node.blocksize)}));
  DEQUANT_CHECK(check_type(node.quant_map, "quant_map", float32, std::array<int64_t, 1>{16}));
  Plan plan{.input = uint8, .scale = float32, .output = node.output};
  plan.parameters.codebook = true;
  plan.parameters.x_packing = {CodeOrder::high_first, 4, 0, 0};
  plan.granularity = Granularity::strided;
  return strided_plan(std::move(plan),
                      {{.size = count, .x = 1, .scale = 1, .y = 1, .block = node.blocksize}});
}

Result<Plan> dequantize(const DequantizeAbsmax& node) {
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_CHECK(check_blocksize(node.nested_blocksize, "nested_blocksize"));
  const Shape blocks = node.absmax.shape;
  const int64_t count = blocks.size() == 1 ? blocks[0] : -1;
  if (node.absmax.element != uint8 || !checked_bytes(32, count)) {
    return invalid("absmax: ", name(node.absmax.element), to_string(blocks),
                   " is not a list of uint8");
  }
  DEQUANT_CHECK(check_type(node.nested_absmax, "nested_absmax", float32,
                           std::array{ceil_div(count, node.nested_blocksize)}));
  DEQUANT_CHECK(
      check_type(node.nested_quant_map, "nested_quant_map", float32, std::array<int64_t, 1>{256}));
  if (node.nested_offset.element != float32 || checked_count(node.nested_offset.shape) != 1) {
    return invalid("nested_offset: ", name(node.nested_offset.element),
                   to_string(node.nested_offset.shape), " is not one float32");
  }
  Plan plan{.input = uint8, .scale = float32, .output = node.output, .has_zero_point = true};
  plan.parameters.codebook = true;
  plan.parameters.zero_point = float32;
  plan.parameters.zero_point_role = ZeroPointRole::add_after;
  plan.granularity = Granularity::strided;
  return strided_plan(
      std::move(plan),
      {{.size = count, .x = 1, .scale = 1, .y = 1, .block = node.nested_blocksize}});
}

Result<Plan> dequantize(const DequantizeInt8& node) {
  DEQUANT_CHECK(check_output(node.output));
  const Shape shape = node.weight.shape;
  if (node.weight.element != int8 || shape.size() != 2) {
    return invalid("weight: ", name(node.weight.element), to_string(shape),
                   " is not a matrix of int8");
  }
  DEQUANT_CHECK(check_type(node.SCB, "SCB", float32, shape.first(1)));
  Plan plan{.input = int8, .scale = float32, .output = node.output};
  plan.parameters.result_factor = kInt8Factor;
  return grid_plan(std::move(plan), {"weight", node.weight}, {"SCB", node.SCB}, {});
}

}  // namespace dequant::bitsandbytes

namespace dequant {

const SchemeEntry kBitsandbytesScheme{{"bitsandbytes", "bitsandbytes: nf4, fp4",
                                       bitsandbytes::kInputs4Bit, bitsandbytes::kSettings4Bit},
                                      &bitsandbytes::plan_of_4bit};
const SchemeEntry kBitsandbytesAbsmaxScheme{
    {"bitsandbytes_absmax", "bitsandbytes: scales with double quantization",
     bitsandbytes::kInputsAbsmax, bitsandbytes::kSettingsAbsmax},
    &bitsandbytes::plan_of_absmax};
const SchemeEntry kBitsandbytesInt8Scheme{
    {"bitsandbytes_int8", "bitsandbytes: LLM.int8", bitsandbytes::kInputsInt8, {}},
    &bitsandbytes::plan_of_int8};

}  // namespace dequant

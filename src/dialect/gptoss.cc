// MXFP4 experts of gpt-oss: blocks of 32 codes with a byte of scale each.
#include "dequant/gptoss.h"

#include <vector>

#include "checked.h"
#include "dialect/scheme.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant::gptoss {
namespace {

using enum Element;

/// The dense matrices before a transpose: [..., rows, groups * 32].
Result<std::vector<int64_t>> stored_shape(const Dequantize& node) {
  const Shape blocks = node.blocks.shape;
  if (blocks.size() < 3 || blocks.size() > size_t{kMaxRank}) {
    return invalid("blocks: shape ", to_string(blocks), " has rank ", blocks.size(), ", not 3 to ",
                   kMaxRank);
  }
  if (blocks.back() != kBlockBytes) {
    return invalid("blocks: the last dimension of ", to_string(blocks), " is not ", kBlockBytes,
                   " bytes");
  }
  const Shape groups = blocks.first(blocks.size() - 1);
  if (!std::equal(groups.begin(), groups.end(), node.scales.shape.begin(),
                  node.scales.shape.end())) {
    return invalid("scales: shape ", to_string(node.scales.shape), " where blocks of ",
                   to_string(blocks), " need ", to_string(groups));
  }
  std::vector<int64_t> shape(groups.begin(), groups.end());
  const auto columns = checked_mul(shape.back(), kBlock);
  if (columns) shape.back() = *columns;
  const auto count = columns ? checked_count(shape) : std::nullopt;
  if (!count || !checked_bytes(32, *count)) {
    return invalid("blocks: the elements of ", to_string(blocks), " do not fit in 64 bits");
  }
  return shape;
}

/// Strides of x and y in elements, of scales in groups.
std::vector<Dimension> dimensions_of(const std::vector<int64_t>& shape, bool transposed) {
  std::vector<Dimension> out(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= std::max<int64_t>(shape[d], 1)) {
    out[d] = {.size = shape[d], .x = stride, .scale = stride / kBlock, .y = stride};
  }
  Dimension& rows = out[out.size() - 2];
  Dimension& columns = out.back();
  columns.scale = 1;
  columns.block = kBlock;
  if (transposed) {
    rows.y = 1;
    columns.y = std::max<int64_t>(rows.size, 1);
  }
  return out;
}

constexpr std::array kInputs{
    SchemeInput{"blocks", true, "uint8 [..., rows, groups, 16], two codes of 4 bits in a byte"},
    SchemeInput{"scales", true, "uint8 or float8e8m0 [..., rows, groups]"},
};
constexpr std::array kSettings{
    SchemeSetting{"transposed", "true: dense matrices are [columns, rows]; false is the default"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  DEQUANT_TRY(const bool transposed, arguments.flag("transposed", false));
  const Dequantize node{arguments.type("blocks"), arguments.type("scales"), transposed,
                        arguments.output()};
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(auto shape, stored_shape(node));
  if (transposed) std::swap(shape[shape.size() - 2], shape.back());
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("blocks"),
                    .scale = *arguments.index("scales")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  if (node.blocks.element != uint8) {
    return invalid("blocks: element type ", name(node.blocks.element), " is not uint8");
  }
  if (node.scales.element != uint8 && node.scales.element != float8e8m0) {
    return invalid("scales: element type ", name(node.scales.element),
                   " is neither uint8 nor float8e8m0");
  }
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(const auto shape, stored_shape(node));
  const Plan plan{.input = float4e2m1,
                  .scale = float8e8m0,
                  .output = node.output,
                  .granularity = Granularity::strided};
  return strided_plan(plan, dimensions_of(shape, node.transposed));
}

}  // namespace dequant::gptoss

namespace dequant {

const SchemeEntry kGptOssScheme{
    {"gptoss", "OpenAI, transformers", gptoss::kInputs, gptoss::kSettings}, &gptoss::plan_of};

}  // namespace dequant

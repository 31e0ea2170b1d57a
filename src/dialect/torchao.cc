// Weights of torchao.
#include "dequant/torchao.h"

#include "dialect/grid.h"
#include "dialect/linear.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::torchao {
namespace {

using enum Element;

constexpr size_t kMaxRank = 8;
constexpr ElementSet kCodes{int8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};

constexpr std::array kInputs{
    SchemeInput{"qdata", true, "int8 or a float8"},
    SchemeInput{"scale", true, "float32, float16 or bfloat16: one for each block"},
    SchemeInput{"zero_point", false, "of int8: int8, the shape of scale"},
};
constexpr std::array kSettings{
    SchemeSetting{"block_size", "block lengths, one for each dimension of qdata: 1,32"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  DEQUANT_TRY(const auto block, arguments.integers("block_size"));
  const TensorType qdata = arguments.type("qdata");
  DEQUANT_TRY(Plan plan,
              dequantize({qdata, arguments.type("scale"), arguments.optional_type("zero_point"),
                          block, arguments.output()}));
  return SchemePlan{.plan = std::move(plan),
                    .shape = {qdata.shape.begin(), qdata.shape.end()},
                    .x = *arguments.index("qdata"),
                    .scale = *arguments.index("scale"),
                    .zero_point = arguments.index("zero_point")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(check_output(node.output));
  if (!kCodes.contains(node.qdata.element)) {
    return invalid("qdata: element type ", name(node.qdata.element),
                   " is neither int8 nor a float8");
  }
  DEQUANT_CHECK(check_rank("qdata", node.qdata.shape, kMaxRank));
  DEQUANT_CHECK(check_float_type("scale", node.scale.element));
  if (node.block_size.empty()) return invalid("block_size: needs a length for each dimension");
  Plan plan{.input = node.qdata.element, .scale = node.scale.element, .output = node.output};
  if (node.zero_point) {
    const Shape shape = node.scale.shape;
    const TensorType& zero = *node.zero_point;
    if (node.qdata.element != int8 || zero.element != int8 ||
        !std::equal(shape.begin(), shape.end(), zero.shape.begin(), zero.shape.end())) {
      return invalid("zero_point: ", name(zero.element), to_string(zero.shape), " for qdata of ",
                     name(node.qdata.element), " and scale of ", to_string(shape));
    }
    plan.has_zero_point = true;
  }
  return grid_plan(plan, {"qdata", node.qdata}, {"scale", node.scale}, node.block_size);
}

}  // namespace dequant::torchao

namespace dequant {

const SchemeEntry kTorchaoScheme{{"torchao", "torchao", torchao::kInputs, torchao::kSettings},
                                 &torchao::plan_of};

}  // namespace dequant

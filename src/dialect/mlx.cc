// MLX weights: rows of codes in words of 32 bits, scales of groups along the last dimension.
#include "dequant/mlx.h"

#include <algorithm>

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/scheme.h"
#include "dialect/words.h"
#include "text.h"

namespace dequant::mlx {
namespace {

using enum Element;

/// What a mode says of its tensors.
struct ModeTraits {
  std::string_view name;
  Element element;  ///< of the codes
  Element scale;    ///< whose bytes uint8 scales are
  int64_t group_size;
};
constexpr std::array kModes{
    ModeTraits{"affine", uint8, float32, 0},
    ModeTraits{"mxfp4", float4e2m1, float8e8m0, 32},
    ModeTraits{"mxfp8", float8e4m3fn, float8e8m0, 32},
    ModeTraits{"nvfp4", float4e2m1, float8e4m3fn, 16},
};

Status check_affine(const Dequantize& node) {
  constexpr std::array<int64_t, 7> kBits{1, 2, 3, 4, 5, 6, 8};
  constexpr std::array<int64_t, 3> kGroups{32, 64, 128};
  if (std::find(kBits.begin(), kBits.end(), node.bits) == kBits.end())
    return invalid("bits: ", node.bits, " is not one of 1, 2, 3, 4, 5, 6, 8");
  if (std::find(kGroups.begin(), kGroups.end(), node.group_size) == kGroups.end())
    return invalid("group_size: ", node.group_size, " is not one of 32, 64, 128");
  DEQUANT_CHECK(check_float_type("scales", node.scales.element));
  if (!node.biases) return invalid("biases: affine weights need some");
  const TensorType& biases = *node.biases;
  if (biases.element != node.scales.element ||
      !std::equal(biases.shape.begin(), biases.shape.end(), node.scales.shape.begin(),
                  node.scales.shape.end())) {
    return invalid("biases: ", name(biases.element), to_string(biases.shape), " where scales are ",
                   name(node.scales.element), to_string(node.scales.shape));
  }
  return {};
}

Status check_float(const Dequantize& node, const ModeTraits& mode) {
  if (node.bits != bits(mode.element)) {
    return invalid("bits: ", node.bits, " where ", mode.name, " has ", bits(mode.element));
  }
  if (node.group_size != mode.group_size) {
    return invalid("group_size: ", node.group_size, " where ", mode.name, " has ", mode.group_size);
  }
  if (node.scales.element != uint8) {
    return invalid("scales: element type ", name(node.scales.element), " is not uint8");
  }
  if (node.biases) return invalid("biases: ", mode.name, " has none");
  return {};
}

constexpr std::array kInputs{
    SchemeInput{"weight", true, "uint32 [..., columns * bits / 32]"},
    SchemeInput{"scales", true, "a float, or uint8 of the float modes [..., groups]"},
    SchemeInput{"biases", false, "of affine weights: type and shape of the scales"},
};
constexpr std::array kSettings{
    SchemeSetting{"mode", "affine (the default), mxfp4, mxfp8, nvfp4"},
    SchemeSetting{"bits", "1, 2, 3, 4 (the default), 5, 6, 8"},
    SchemeSetting{"group_size", "columns that share a scale; 64 is the default"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  std::array<std::string_view, kModes.size()> modes;
  std::transform(kModes.begin(), kModes.end(), modes.begin(), [](auto& m) { return m.name; });
  Dequantize node{.weight = arguments.type("weight"),
                  .scales = arguments.type("scales"),
                  .biases = arguments.optional_type("biases"),
                  .output = arguments.output()};
  DEQUANT_TRY(const size_t mode, arguments.one_of("mode", modes, 0));
  node.mode = static_cast<Mode>(mode);
  DEQUANT_TRY(node.bits, arguments.integer("bits", 4));
  DEQUANT_TRY(node.group_size, arguments.integer("group_size", 64));
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(auto shape, dense_shape(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("scales"),
                    .zero_point = arguments.index("biases")};
}

}  // namespace

Result<std::vector<int64_t>> dense_shape(const Dequantize& node) {
  const ModeTraits& mode = kModes[static_cast<size_t>(node.mode)];
  DEQUANT_CHECK(node.mode == Mode::affine ? check_affine(node) : check_float(node, mode));
  DEQUANT_CHECK(check_output(node.output));
  const Shape words = node.weight.shape;
  if (node.weight.element != uint32) {
    return invalid("weight: element type ", name(node.weight.element), " is not uint32");
  }
  if (words.empty() || words.size() > size_t{kMaxRank}) {
    return invalid("weight: rank ", words.size(), " is not 1 to ", kMaxRank);
  }
  const auto all = checked_mul(words.back(), 32);
  if (!all || *all % (node.bits * node.group_size) != 0) {
    return invalid("weight: rows of ", words.back(), " words hold no whole groups of ",
                   node.group_size, " codes of ", node.bits, " bits");
  }
  std::vector<int64_t> shape(words.begin(), words.end());
  shape.back() = *all / node.bits;
  return shape;
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_TRY(const auto shape, dense_shape(node));
  const ModeTraits& mode = kModes[static_cast<size_t>(node.mode)];
  Plan plan{.input = mode.element, .scale = mode.scale, .output = node.output};
  if (node.mode == Mode::affine) {
    plan.scale = node.scales.element;
    plan.has_zero_point = true;
    plan.parameters.zero_point = plan.scale;
    plan.parameters.zero_point_role = ZeroPointRole::add_after;
    if (plan.scale != float32 && node.output != float32)
      plan.parameters.result_rounding = plan.scale;
    set_stream(plan, node.bits, shape.back());
  }
  if (node.scales.shape.size() != shape.size()) {
    return invalid("scales: shape ", to_string(node.scales.shape), " where the weight is ",
                   to_string(shape));
  }
  plan.parameters.infinite_e8m0 = mode.scale == float8e8m0;
  std::vector<int64_t> block(shape.size(), 1);
  block.back() = node.group_size;
  return grid_plan(std::move(plan), {"weight", {plan.input, shape}}, {"scales", node.scales},
                   block);
}

}  // namespace dequant::mlx

namespace dequant {

const SchemeEntry kMlxScheme{{"mlx", "MLX", mlx::kInputs, mlx::kSettings}, &mlx::plan_of};

}  // namespace dequant

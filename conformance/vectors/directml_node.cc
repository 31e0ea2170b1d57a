// The rules of the feature levels, from DirectML's documents.
#include "conformance/vectors/directml_node.h"

#include "conformance/directml/node.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;

bool at_least(const std::string& level, DML_FEATURE_LEVEL first) {
  const auto known = directml::feature_level_from_name(level);
  return known && *known >= first;
}

}  // namespace

std::vector<DirectmlRules> directml_rules(const std::string& level) {
  DirectmlRules element_wise{.operator_name = "ELEMENT_WISE_DEQUANTIZE_LINEAR",
                             .title = "element_wise",
                             .x = {uint8},
                             .scale = {float32}};
  if (at_least(level, DML_FEATURE_LEVEL_2_1)) {
    element_wise.x = {uint8, int8, uint16, int16, uint32, int32};
  }
  element_wise.any_rank = at_least(level, DML_FEATURE_LEVEL_3_0);
  if (at_least(level, DML_FEATURE_LEVEL_6_0)) element_wise.scale = {float32, float16};
  element_wise.needs_zero_point = !at_least(level, DML_FEATURE_LEVEL_6_2);
  if (!at_least(level, DML_FEATURE_LEVEL_6_3)) return {element_wise};
  return {element_wise,
          {.operator_name = "DEQUANTIZE",
           .title = "dequantize",
           .x = {uint8, int8, uint4, int4},
           .scale = {float32, float16},
           .blocks = true}};
}

int64_t reach(const Sizes& sizes, const Sizes& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return last + 1;
}

Case directml_case(const Collector& out, std::string name, const DirectmlRules& rules, Element x,
                   Element scale, const DirectmlShapes& shapes, bool zero_point) {
  Case c = out.begin(std::move(name));
  Random random = out.random(c.name);
  c.operator_name = rules.operator_name;
  c.inputs["x"] = laid_out(x, shapes.x, [&] { return random_code(random, x); });
  c.inputs["scale"] = laid_out(scale, shapes.scale, [&] { return random_scale(random, scale); });
  if (zero_point) {
    c.inputs["zero_point"] =
        laid_out(x, shapes.zero_point, [&] { return random_zero_point(random, x); });
  }
  if (rules.blocks) {
    c.attributes["quantization_type"] = std::string(zero_point ? "SCALE_ZERO_POINT" : "SCALE");
  }
  return narrowed(std::move(c));
}

}  // namespace dequant::conformance::vectors

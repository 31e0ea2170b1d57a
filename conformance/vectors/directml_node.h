// What a feature level allows, and tensors whose elements strides order in memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/vectors/collect.h"
#include "conformance/vectors/values.h"

namespace dequant::conformance::vectors {

/// One of the two operators at a feature level.
struct DirectmlRules {
  std::string_view operator_name;  ///< as in case files
  std::string_view title;          ///< in names of cases: "element_wise", "dequantize"
  std::vector<Element> x;          ///< uint8 first
  std::vector<Element> scale;      ///< float32 first
  bool any_rank = true;            ///< ranks 1 to 8; otherwise only 4
  bool needs_zero_point = false;
  bool blocks = false;  ///< scales have sizes of their own
};

/// The operators that the level has. An operator of a later level must be refused.
std::vector<DirectmlRules> directml_rules(const std::string& level);

/// Sizes, and strides where a tensor is not packed.
struct Layout {
  Sizes sizes;
  std::optional<Sizes> strides = {};
};

/// The layouts of all inputs of a node.
struct DirectmlShapes {
  Layout x;
  Layout scale;
  Layout zero_point;  ///< not used where a node has none
};

/// Elements in memory from the first to the last one that the strides reach.
int64_t reach(const Sizes& sizes, const Sizes& strides);

/// A tensor whose storage has the codes that `next` returns.
template <class Next>
CaseTensor laid_out(Element element, const Layout& layout, const Next& next) {
  if (!layout.strides) return tensor_of(element, layout.sizes, next);
  CaseTensor tensor = tensor_of(element, {reach(layout.sizes, *layout.strides)}, next);
  tensor.shape = layout.sizes;
  tensor.strides = layout.strides;
  return tensor;
}

/// A node of random codes and scales. DEQUANTIZE gets the matching quantization type.
Case directml_case(const Collector& out, std::string name, const DirectmlRules& rules, Element x,
                   Element scale, const DirectmlShapes& shapes, bool zero_point);

/// Random shapes: few elements, sizes of scale and zero point that the rules allow, any strides.
DirectmlShapes random_shapes(Random& random, const DirectmlRules& rules, int64_t rank);

/// Adds for each rule of the level nodes that violate it.
void add_directml_refusals(Collector& out, const DirectmlRules& rules);

/// Adds a refused node of an operator of a later level.
void refuse_directml_operator(Collector& out, const DirectmlRules& rules);

}  // namespace dequant::conformance::vectors

// Vectors of DequantizeLinear of ai.onnx and com.microsoft. The rules of each version are a row of
// a table, from its specification; the same code makes the cases of every row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/vectors/collect.h"
#include "conformance/vectors/values.h"
#include "dequant/element.h"

namespace dequant::conformance::vectors {

/// The rules of one version.
struct LinearRules {
  std::vector<Element> x;      ///< uint8 first
  std::vector<Element> scale;  ///< float32 first
  bool axis = false;           ///< has the attribute, and so a scale for each slice
  bool block_size = false;
  bool output_dtype = false;
};

/// The rules of the newest version up to that opset.
LinearRules onnx_rules(int64_t opset);
LinearRules microsoft_rules();

/// Shapes and attributes of a node.
struct LinearShape {
  std::string name;
  Sizes x;
  Sizes scale;
  std::optional<int64_t> axis = {};
  std::optional<int64_t> block_size = {};
  std::optional<Sizes> zero_point = {};  ///< where it differs from that of the scale
};

/// "per_tensor", "per_axis" or "blocked", by the definition of the specification.
std::string granularity_of(const LinearShape& shape);

/// A node of random codes and scales, and with `zero_point` of random zero points.
Case linear_case(const Collector& out, std::string name, Element x, Element scale,
                 const LinearShape& shape, bool zero_point);

/// Adds every type of x, scale and output in every granularity, with and without zero points.
void add_linear_types(Collector& out, const LinearRules& rules);

/// Adds every type of x in shapes where errors are likely: odd, empty, of each rank and on each
/// axis.
void add_linear_shapes(Collector& out, const LinearRules& rules);

/// Adds for each rule of the version nodes that violate it.
void add_linear_refusals(Collector& out, const LinearRules& rules);

/// Adds random nodes that the version allows.
void add_linear_random(Collector& out, const LinearRules& rules, int64_t count);

}  // namespace dequant::conformance::vectors

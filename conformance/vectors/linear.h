// DequantizeLinear of ai.onnx and com.microsoft: a version is a row of what it allows, from its
// specification; the same cases are made of each row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/vectors/collect.h"
#include "conformance/vectors/values.h"
#include "dequant/element.h"

namespace dequant::conformance::vectors {

struct LinearRules {
  std::vector<Element> x;      ///< uint8 first
  std::vector<Element> scale;  ///< float32 first
  bool axis = false;           ///< and with it a scale for each slice
  bool block_size = false;
  bool output_dtype = false;
};

/// What the newest version not above that opset allows.
LinearRules onnx_rules(int64_t opset);
LinearRules microsoft_rules();

/// How a node shares its scales: shapes and attributes.
struct LinearShape {
  std::string name;
  Sizes x;
  Sizes scale;
  std::optional<int64_t> axis = {};
  std::optional<int64_t> block_size = {};
  std::optional<Sizes> zero_point = {};  ///< where it is not that of the scale
};

/// "per_tensor", "per_axis" or "blocked", as the specification tells them apart.
std::string granularity_of(const LinearShape& shape);

/// A node of random codes and scales; with a zero point if asked for.
Case linear_case(const Collector& out, std::string name, Element x, Element scale,
                 const LinearShape& shape, bool zero_point);

/// Every type of x, scale and output in every granularity, with and without zero points.
void add_linear_types(Collector& out, const LinearRules& rules);

/// Every type of x in shapes that are easy to get wrong: odd, empty, of each rank and on each axis.
void add_linear_shapes(Collector& out, const LinearRules& rules);

/// Each rule of the version, broken.
void add_linear_refusals(Collector& out, const LinearRules& rules);

/// Any node that the version allows.
void add_linear_random(Collector& out, const LinearRules& rules, int64_t count);

}  // namespace dequant::conformance::vectors

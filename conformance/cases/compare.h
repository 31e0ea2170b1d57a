// Comparing a tensor with the expected one: bit for bit, or with a tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/element.h"
#include "format/io/tensor_data.h"

namespace dequant::conformance {

/// The allowed difference of an element. All NaNs are equal.
struct Tolerance {
  int64_t ulp = 0;                ///< units in the last place of the output's own type
  bool ignore_zero_sign = false;  ///< -0 equals +0
};

/// The elements that differ.
struct Difference {
  Element element = Element::float32;
  int64_t count = 0;           ///< elements that differ
  int64_t total = 0;           ///< elements of the tensor
  std::vector<int64_t> index;  ///< of the first difference in row-major order
  uint32_t actual = 0;         ///< the code of that element
  uint32_t expected = 0;
};

/// True if two codes of an element are equal within a tolerance. In float32, float16 and bfloat16,
/// neighbours are one unit apart, infinity and the largest finite number included. -0 and +0 are
/// zero units apart, but differ unless the tolerance ignores the sign. Other elements must be
/// equal.
bool close(Element element, uint32_t actual, uint32_t expected, const Tolerance& tolerance);

/// Compares two tensors of the same element and shape. Their bytes must have the packed size.
/// Returns nothing where no element differs.
std::optional<Difference> compare(const format::TensorData& actual,
                                  const format::TensorData& expected, const Tolerance& tolerance);

/// "float32[2, 3]".
std::string describe(Element element, Shape shape);

/// "[0, 2]".
std::string describe_index(Shape index);

/// The value of a code, with enough digits to distinguish it from its neighbours: "0.100000001".
std::string describe_value(Element element, uint32_t code);

/// "0x3dcccccd", with the digits of the element's width.
std::string describe_bits(Element element, uint32_t code);

/// "differs in 3 of 24 elements, first at [0, 2]: 0.1 (0x...) where 0.2 (0x...) is expected".
std::string describe(const Difference& difference);

}  // namespace dequant::conformance

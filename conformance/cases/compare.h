// Comparing a tensor with the one expected: bit for bit, or as far off as a case allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/element.h"
#include "format/io/tensor_data.h"

namespace dequant::conformance {

/// How far an element may be off. NaNs are equal to each other whatever their bits.
struct Tolerance {
  int64_t ulp = 0;                ///< units in the last place of the output's own type
  bool ignore_zero_sign = false;  ///< -0 equals +0
};

/// The elements that differ.
struct Difference {
  Element element = Element::float32;
  int64_t count = 0;           ///< how many of them
  int64_t total = 0;           ///< elements of the tensor
  std::vector<int64_t> index;  ///< of the first in row-major order
  uint32_t actual = 0;         ///< its code
  uint32_t expected = 0;
};

/// Whether two codes of an element are equal under a tolerance. Neighbours among float32, float16
/// and bfloat16 are one unit apart, infinity and the largest finite value too. -0 and +0 are zero
/// units apart, yet differ unless the tolerance ignores it. Other elements have no units.
bool close(Element element, uint32_t actual, uint32_t expected, const Tolerance& tolerance);

/// Compares tensors of the same element and shape, whose bytes are as many as those ask for.
std::optional<Difference> compare(const format::TensorData& actual,
                                  const format::TensorData& expected, const Tolerance& tolerance);

/// "float32[2, 3]".
std::string describe(Element element, Shape shape);

/// "[0, 2]".
std::string describe_index(Shape index);

/// The value of a code, with as many digits as tell it from its neighbours: "0.100000001".
std::string describe_value(Element element, uint32_t code);

/// "0x3dcccccd", as wide as the element.
std::string describe_bits(Element element, uint32_t code);

/// "differs in 3 of 24 elements, first at [0, 2]: 0.1 (0x...) where 0.2 (0x...) is expected".
std::string describe(const Difference& difference);

}  // namespace dequant::conformance

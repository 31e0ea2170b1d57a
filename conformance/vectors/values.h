// The codes of the vectors: edge cases of the arithmetic, and random codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/cases/cases.h"
#include "conformance/vectors/random.h"
#include "dequant/element.h"

namespace dequant::conformance::vectors {

using Codes = std::vector<uint64_t>;
using Sizes = std::vector<int64_t>;

/// Quantized codes: zeros, ones, extremes and their neighbours. For wide integers also numbers that
/// float32, float16 and bfloat16 must round, ties among them. For at most 4 bits all codes.
Codes edge_codes(Element element);

/// Every code of an element of at most 8 bits; edge_codes() for wider elements.
Codes all_codes(Element element);

/// Scales: zeros, subnormals, infinities, NaNs, extremes, and numbers that are ties or overflow
/// when they are rounded to float16 and bfloat16.
Codes edge_scales(Element scale);

/// A random quantized code, sometimes one of edge_codes().
uint64_t random_code(Random& random, Element element);

/// A zero point: any code of an integer type; +0 of a float type.
uint64_t random_zero_point(Random& random, Element element);

/// The code of -0 of a float type that has -0 and allows it as a zero point.
std::optional<uint64_t> minus_zero(Element element);

/// A positive normal scale in [2^-4, 2^5).
uint64_t plain_scale(Random& random, Element scale);

/// Mostly plain_scale(), sometimes one of edge_scales(), sometimes any code.
uint64_t random_scale(Random& random, Element scale);

/// The number of elements of a shape, whose sizes must be small and not negative.
int64_t count_of(const Sizes& shape);

/// A tensor of the codes that `next` returns, in order.
template <class Next>
CaseTensor tensor_of(Element element, Sizes shape, const Next& next) {
  CaseTensor tensor{std::string(name(element)), std::move(shape), {}, {}};
  for (int64_t i = count_of(tensor.shape); i > 0; --i) tensor.bits.push_back(next());
  return tensor;
}

/// Tensors of random_code(), random_scale() and random_zero_point().
CaseTensor random_codes(Random& random, Element element, Sizes shape);
CaseTensor random_scales(Random& random, Element element, Sizes shape);
CaseTensor random_zero_points(Random& random, Element element, Sizes shape);

/// The case with 32-bit codes and zero points reduced to 24 bits, if the case has zero points. The
/// differences are then exact in float32, in any order and width of computation. Separate cases
/// have differences that are not exact.
Case narrowed(Case c);

/// Tensors of rows along the first dimension. repeated() has all `codes` in each of `rows` rows.
/// one_per_row() has the first code in all elements of the first row, the second in the second, and
/// so on.
CaseTensor repeated(Element element, size_t rows, const Codes& codes);
CaseTensor one_per_row(Element element, const Sizes& shape, const Codes& codes);

/// True if an element is in a list.
inline bool has(const std::vector<Element>& list, Element element) {
  return std::find(list.begin(), list.end(), element) != list.end();
}

}  // namespace dequant::conformance::vectors

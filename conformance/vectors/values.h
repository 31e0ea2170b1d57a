// The codes that vectors are made of: those at which arithmetic tends to go wrong, and random ones.
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

/// Quantized codes: zeros, ones, extremes and their neighbours, and of wide integers those that
/// float32, float16 and bfloat16 must round, ties among them. Of at most 4 bits all.
Codes edge_codes(Element element);

/// Every code of an element of at most 8 bits; edge_codes() of a wider one.
Codes all_codes(Element element);

/// Scales: zeros, subnormals, infinities, NaNs, extremes, and those which, times 1, are ties or
/// overflow when float16 and bfloat16 round them.
Codes edge_scales(Element scale);

/// A quantized code, an edge one now and then.
uint64_t random_code(Random& random, Element element);

/// A zero point: any code of an integer; of a float +0.
uint64_t random_zero_point(Random& random, Element element);

/// The code of -0 of a quantized float that has it and takes it for a zero point.
std::optional<uint64_t> minus_zero(Element element);

/// A positive normal scale whose exponent is at most 4 from that of 1.
uint64_t plain_scale(Random& random, Element scale);

/// Mostly a plain scale, now and then an edge, sometimes any code.
uint64_t random_scale(Random& random, Element scale);

/// As many elements as a shape has. Its sizes are small and not negative.
int64_t count_of(const Sizes& shape);

/// A tensor of the codes that `next` yields, one after another.
template <class Next>
CaseTensor tensor_of(Element element, Sizes shape, const Next& next) {
  CaseTensor tensor{std::string(name(element)), std::move(shape), {}, {}};
  for (int64_t i = count_of(tensor.shape); i > 0; --i) tensor.bits.push_back(next());
  return tensor;
}

/// The same by random_code(), random_scale() and random_zero_point().
CaseTensor random_codes(Random& random, Element element, Sizes shape);
CaseTensor random_scales(Random& random, Element element, Sizes shape);
CaseTensor random_zero_points(Random& random, Element element, Sizes shape);

/// The case with codes of 32 bits that have zero points brought within 24 bits. Differences are
/// then exact in float32, in whatever order and width they are computed; where they are not is for
/// cases of their own to say.
Case narrowed(Case c);

/// Slices of the first dimension, as many as `rows`: `codes` in each, or in the first the first of
/// `codes` throughout, in the second the second, and so on.
CaseTensor repeated(Element element, size_t rows, const Codes& codes);
CaseTensor one_per_row(Element element, const Sizes& shape, const Codes& codes);

/// Whether an element is in a list.
inline bool has(const std::vector<Element>& list, Element element) {
  return std::find(list.begin(), list.end(), element) != list.end();
}

}  // namespace dequant::conformance::vectors

// The least and the greatest of floats.
#include "format/model/value_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "format/model/floats.h"

namespace dequant::format {
namespace {

/// Codes that are taken from the bytes at once.
constexpr size_t kPart = 1024;

constexpr int16_t kFloat16Infinity = 0x7C00;

/// What was found in codes of a type, whose order as signed integers is that of `key`.
template <class Code>
struct Found {
  int64_t nan = 0;
  int64_t infinity = 0;
  Code least = std::numeric_limits<Code>::max();
  Code greatest = std::numeric_limits<Code>::min();
};

/// The bits of the magnitude.
template <class Code>
constexpr Code kMagnitude = std::numeric_limits<Code>::max();

/// `Code` is signed, so that a negative number has a negative code; its other bits increase with
/// the magnitude, so they are inverted.
template <class Code>
Code key_of(Code code) {
  return static_cast<Code>(code ^ ((code >> std::numeric_limits<Code>::digits) & kMagnitude<Code>));
}

// Compilers make vectors of loops that do one thing: with all in one loop they do not.

template <class Code>
void count(Found<Code>& found, std::span<const Code> codes, Code infinity) {
  Code nan = 0;
  Code infinite = 0;
  for (const Code code : codes) {
    const auto magnitude = static_cast<Code>(code & kMagnitude<Code>);
    nan = static_cast<Code>(nan + (magnitude > infinity ? 1 : 0));
    infinite = static_cast<Code>(infinite + (magnitude == infinity ? 1 : 0));
  }
  found.nan += nan;
  found.infinity += infinite;
}

template <class Code>
void add_finite(Found<Code>& found, std::span<const Code> codes) {
  Code least = found.least;
  Code greatest = found.greatest;
  for (const Code code : codes) least = std::min(least, key_of(code));
  for (const Code code : codes) greatest = std::max(greatest, key_of(code));
  found.least = least;
  found.greatest = greatest;
}

template <class Code>
void add_codes(Found<Code>& found, std::span<const Code> codes, Code infinity) {
  const int64_t others = found.nan + found.infinity;
  count(found, codes, infinity);
  if (found.nan + found.infinity == others) return add_finite(found, codes);
  for (const Code& code : codes) {
    const bool finite = static_cast<Code>(code & kMagnitude<Code>) < infinity;
    if (finite) add_finite(found, std::span(&code, 1));
  }
}

template <class Code>
float value_of_key(Element element, Code key) {
  constexpr Code kMagnitude = std::numeric_limits<Code>::max();
  const auto code = static_cast<Code>(key < 0 ? key ^ kMagnitude : key);
  std::array<float, 1> value{};
  widen(element, std::as_bytes(std::span(&code, 1)), value);
  return value[0];
}

/// Calls add(codes) for all codes of the bytes, part by part.
template <class Code, class Add>
void for_each_part(std::span<const std::byte> bytes, Add add) {
  std::array<Code, kPart> part;
  for (size_t at = 0; at < bytes.size(); at += sizeof part) {
    const size_t size = std::min(sizeof part, bytes.size() - at);
    std::memcpy(part.data(), bytes.data() + at, size);
    add(std::span<const Code>(part).first(size / sizeof(Code)));
  }
}

template <class Code>
ValueRange range_of(Element element, std::span<const std::byte> bytes, Code infinity) {
  Found<Code> found;
  for_each_part<Code>(bytes,
                      [&](std::span<const Code> codes) { add_codes(found, codes, infinity); });
  ValueRange range{found.nan, found.infinity};
  if (found.least > found.greatest) return range;
  range.least = value_of_key(element, found.least);
  range.greatest = value_of_key(element, found.greatest);
  return range;
}

/// The lesser by the order of ValueRange, in which -0 and +0 differ.
bool less(float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

}  // namespace

void ValueRange::add(const ValueRange& other) {
  nan += other.nan;
  infinity += other.infinity;
  if (other.least && (!least || less(*other.least, *least))) least = other.least;
  if (other.greatest && (!greatest || less(*greatest, *other.greatest))) greatest = other.greatest;
}

void ValueRange::add(Element element, std::span<const std::byte> bytes) {
  switch (element) {
    case Element::float32: return add(range_of<int32_t>(element, bytes, 0x7F800000));
    case Element::float16: return add(range_of<int16_t>(element, bytes, kFloat16Infinity));
    case Element::bfloat16: return add(range_of<int16_t>(element, bytes, 0x7F80));
    default: return;
  }
}

int64_t infinite_float16(std::span<const std::byte> bytes) {
  Found<int16_t> found;
  for_each_part<int16_t>(
      bytes, [&](std::span<const int16_t> codes) { count(found, codes, kFloat16Infinity); });
  return found.infinity;
}

}  // namespace dequant::format

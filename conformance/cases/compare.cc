// Floats are compared by integers that have the order of the floats.
#include "conformance/cases/compare.h"

#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>

#include "dequant/codes.h"

namespace dequant::conformance {

using format::TensorData;

namespace {

bool is_nan(Element element, uint32_t code) {
  return kind(element) == Kind::floating && std::isnan(value_of(element, code));
}

/// How many numbers of the type lie between zero and this one, itself counted; negative below zero.
/// Both zeros have 0.
int64_t ordinal(Element element, uint32_t code) {
  const uint32_t sign = 1u << (bits(element) - 1);
  const auto magnitude = int64_t{code & ~sign};
  return (code & sign) != 0 ? -magnitude : magnitude;
}

std::vector<int64_t> index_of(int64_t flat, Shape shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

}  // namespace

bool close(Element element, uint32_t actual, uint32_t expected, const Tolerance& tolerance) {
  if (actual == expected) return true;
  const bool nan = is_nan(element, actual);
  if (nan || is_nan(element, expected)) return nan == is_nan(element, expected);
  if (!is_output(element)) return false;
  const int64_t distance = std::abs(ordinal(element, actual) - ordinal(element, expected));
  return distance == 0 ? tolerance.ignore_zero_sign : distance <= tolerance.ulp;
}

std::optional<Difference> compare(const TensorData& actual, const TensorData& expected,
                                  const Tolerance& tolerance) {
  const Element element = actual.element;
  const auto total = element_count(actual.shape);
  Difference difference;
  difference.element = element;
  difference.total = total ? *total : 0;
  for (int64_t i = 0; i < difference.total; ++i) {
    const uint32_t a = load_code(element, actual.bytes, i);
    const uint32_t e = load_code(element, expected.bytes, i);
    if (close(element, a, e, tolerance)) continue;
    if (++difference.count > 1) continue;
    difference.index = index_of(i, actual.shape);
    difference.actual = a;
    difference.expected = e;
  }
  if (difference.count == 0) return std::nullopt;
  return difference;
}

std::string describe(Element element, Shape shape) {
  return fmt::format("{}{}", name(element), describe_index(shape));
}

std::string describe_index(Shape index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

std::string describe_value(Element element, uint32_t code) {
  // Integers may have more than 9 digits; 9 are enough for floats of 32 bits.
  const double value = value_of(element, code);
  if (kind(element) != Kind::floating) return fmt::format("{}", static_cast<int64_t>(value));
  return fmt::format("{:.9g}", value);
}

std::string describe_bits(Element element, uint32_t code) {
  return fmt::format("0x{:0{}x}", code, (bits(element) + 3) / 4);
}

std::string describe(const Difference& d) {
  return fmt::format("differs in {} of {} elements, first at {}: {} ({}) where {} ({}) is expected",
                     d.count, d.total, describe_index(d.index), describe_value(d.element, d.actual),
                     describe_bits(d.element, d.actual), describe_value(d.element, d.expected),
                     describe_bits(d.element, d.expected));
}

}  // namespace dequant::conformance

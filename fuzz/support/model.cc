// The types by their definitions: sign, exponent, fraction; values in double, which holds them all.
#include "fuzz/support/model.h"

#include <cmath>
#include <limits>

namespace dequant::fuzz {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint32_t first_nan;  ///< smallest code without sign that is NaN
  uint32_t infinity;   ///< code of infinity; above all codes if there is none
  bool fnuz = false;   ///< the code of -0 is the one NaN
};

constexpr uint32_t kNone = 0x8000'0000;

Format format_of(Element element) {
  switch (element) {
    case Element::float8e4m3fn: return {4, 3, 7, 0x7F, kNone};
    case Element::float8e4m3fnuz: return {4, 3, 8, kNone, kNone, true};
    case Element::float8e5m2: return {5, 2, 15, 0x7D, 0x7C};
    case Element::float8e5m2fnuz: return {5, 2, 16, kNone, kNone, true};
    case Element::float4e2m1: return {2, 1, 1, kNone, kNone};
    case Element::float6e2m3: return {2, 3, 1, kNone, kNone};
    case Element::float6e3m2: return {3, 2, 3, kNone, kNone};
    case Element::float16: return {5, 10, 15, 0x7C01, 0x7C00};
    case Element::bfloat16: return {8, 7, 127, 0x7F81, 0x7F80};
    default: return {8, 23, 127, 0x7F80'0001, 0x7F80'0000};
  }
}

double float_value(const Format& f, int bits, uint32_t code) {
  const uint32_t sign = uint32_t{1} << (bits - 1);
  const uint32_t magnitude = code & (sign - 1);
  if (f.fnuz && code == sign) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude >= f.first_nan) return std::numeric_limits<double>::quiet_NaN();
  const uint32_t one = uint32_t{1} << f.mantissa_bits;
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const uint32_t fraction = magnitude % one;
  double v = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.mantissa_bits)
                           : std::ldexp(fraction + one, exponent - f.bias - f.mantissa_bits);
  if (magnitude == f.infinity) v = std::numeric_limits<double>::infinity();
  return code >= sign ? -v : v;
}

/// The nearest code, ties to the even one; beyond the midpoint to what would come next, infinity.
uint32_t rounded(const Format& f, double v) {
  const uint32_t sign =
      std::signbit(v) ? uint32_t{1} << (f.exponent_bits + f.mantissa_bits) : uint32_t{0};
  const double a = std::abs(v);
  if (std::isnan(v)) return f.infinity | (uint32_t{1} << (f.mantissa_bits - 1));
  if (std::isinf(a)) return sign | f.infinity;
  if (a == 0) return sign;
  const int lowest = 1 - f.bias;
  const int exponent = std::max(std::ilogb(a), lowest);
  // Codes go up with values: those of the next exponent follow on, also when rounding gets there.
  const auto steps =
      static_cast<uint64_t>(std::nearbyint(std::ldexp(a, f.mantissa_bits - exponent)));
  const uint64_t code = (static_cast<uint64_t>(exponent - lowest) << f.mantissa_bits) + steps;
  return sign | static_cast<uint32_t>(std::min<uint64_t>(code, f.infinity));
}

/// The code at an index of packed data.
uint32_t code_at(Element element, std::span<const std::byte> data, int64_t i) {
  const int width = bits(element);
  uint32_t code = 0;
  for (int b = 0; b < width; ++b) {
    const int64_t at = i * width + b;
    const auto byte = static_cast<uint32_t>(data[static_cast<size_t>(at / 8)]);
    code |= (byte >> at % 8 & 1) << b;
  }
  return code;
}

/// The number that a code stands for.
double value(Element element, uint32_t code) {
  const int width = bits(element);
  if (element == Element::float8e8m0) {
    return code == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                        : std::ldexp(1.0, static_cast<int>(code) - 127);
  }
  if (kind(element) == Kind::floating) return float_value(format_of(element), width, code);
  const int64_t modulus = int64_t{1} << width;
  const bool negative = kind(element) == Kind::signed_integer && code >= modulus / 2;
  return static_cast<double>(negative ? code - modulus : int64_t{code});
}

}  // namespace

uint32_t modelled(const Plan& plan, const Tensors& t, const Offsets& at) {
  double zero = plan.implicit_zero_point;
  if (plan.has_zero_point && kind(plan.input) != Kind::floating) {
    zero = value(plan.input, code_at(plan.input, t.zero_point.bytes(), at.zero_point));
  }
  const double x = value(plan.input, code_at(plan.input, t.x.bytes(), at.x));
  const double scale = value(plan.scale, code_at(plan.scale, t.scale.bytes(), at.scale));
  // Each step is exact in double, so narrowing rounds once.
  const auto difference = static_cast<float>(x - zero);
  const auto product = static_cast<float>(double{difference} * scale);
  return rounded(format_of(plan.output), double{product});
}

}  // namespace dequant::fuzz

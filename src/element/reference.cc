// The scalar definition of dequantization: one rounding in each statement.
#include "element/reference.h"

#include "element/codes.h"

namespace dequant {

float reference_difference(Element x, uint32_t code, int64_t zero_point) noexcept {
  if (kind(x) == Kind::floating) return float_value(x, code);
  return static_cast<float>(integer_value(x, code) - zero_point);
}

uint32_t reference_narrow(Element output, float value) noexcept {
  return encode_float(traits(output).format, value);
}

uint32_t reference_dequantize(Element x, uint32_t code, int64_t zero_point, float scale,
                              Element output) noexcept {
  const float product = reference_difference(x, code, zero_point) * scale;
  return reference_narrow(output, product);
}

int32_t reference_carried_zero_point(Element zero_point, uint32_t word, int i,
                                     uint32_t offset) noexcept {
  const int width = bits(zero_point);
  uint32_t sum = word;
  for (int at = 0; at < 32; at += width) sum += offset << at;
  const uint32_t mask = (uint32_t{1} << width) - 1;
  return static_cast<int32_t>(sum >> (i * width) & mask);
}

uint32_t reference_float_zero_point(float x, Element type, float zero_point, float scale,
                                    Element output) noexcept {
  const float difference = x - zero_point;
  const float rounded = reference_round(type, difference);
  const float product = rounded * scale;
  return reference_narrow(output, product);
}

float reference_round(Element type, float value) noexcept {
  return float_value(type, reference_narrow(type, value));
}

uint32_t reference_after_product(float product, const AfterProduct& after, float zero_point,
                                 Element output) noexcept {
  const float scaled = product * after.factor;
  const float rounded = reference_round(after.rounding, scaled);
  const float sum = after.subtracts ? rounded - zero_point : rounded + zero_point;
  return reference_narrow(output, reference_round(after.rounding, sum));
}

uint32_t reference_scaled_value(float value, float scale, Element output) noexcept {
  const float product = value * scale;
  return reference_narrow(output, product);
}

uint32_t reference_scale_add(Element x, uint32_t code, int32_t shift, float scale, float offset,
                             Element output) noexcept {
  const auto value = static_cast<float>(integer_value(x, code));
  const float shifted = value - static_cast<float>(shift);
  const float product = shifted * scale;
  const float sum = product + offset;
  return reference_narrow(output, sum);
}

uint32_t reference_formula(Element x, uint32_t code, const AffineFormula& formula) noexcept {
  const auto difference = static_cast<double>(integer_value(x, code) - formula.shift);
  const double product = difference * formula.factor;
  const double quotient = product / formula.divisor;
  const double sum = formula.base + quotient;
  return reference_narrow(Element::float32, static_cast<float>(sum));
}

}  // namespace dequant

// The scalar definition of dequantization, from codes: one rounding in each statement.
#include "element/reference.h"

#include "element/arithmetic.h"
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
  return carried_zero_point(bits(zero_point), word, i, offset);
}

uint32_t reference_float_zero_point(float x, Element type, float zero_point, float scale,
                                    Element output) noexcept {
  const float difference = float_difference(x, traits(type).format, zero_point);
  const float product = difference * scale;
  return reference_narrow(output, product);
}

float reference_round(Element type, float value) noexcept {
  return rounded_to(traits(type).format, value);
}

uint32_t reference_after_product(float product, const AfterProduct& after, float zero_point,
                                 Element output) noexcept {
  return reference_narrow(
      output, after_product(product, after.factor, traits(after.rounding).format, after.subtracts,
                            zero_point));
}

uint32_t reference_scaled_value(float value, float scale, Element output) noexcept {
  const float product = value * scale;
  return reference_narrow(output, product);
}

uint32_t reference_scale_add(Element x, uint32_t code, int32_t shift, float scale, float offset,
                             Element output) noexcept {
  return reference_narrow(output, scale_add(integer_value(x, code), shift, scale, offset));
}

uint32_t reference_formula(Element x, uint32_t code, const AffineFormula& formula) noexcept {
  return reference_narrow(Element::float32, affine(integer_value(x, code), formula));
}

}  // namespace dequant

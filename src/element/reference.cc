// The scalar definition of dequantization.
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

}  // namespace dequant

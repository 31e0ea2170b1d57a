// The tables, made at compile time by the generic decoder.
#include "kernel/lut.h"

#include <array>

#include "element/float_code.h"

namespace dequant {
namespace {

template <int kBits, int kExponent, int kMantissa, int kBias, Specials kSpecials>
constexpr auto make_lut() {
  constexpr FloatFormat format{kBits, kExponent, kMantissa, kBias, kSpecials};
  std::array<float, size_t{1} << kBits> lut{};
  for (uint32_t code = 0; code < lut.size(); ++code) lut[code] = decode_float(format, code);
  return lut;
}

template <int kBits, Kind kKind, int kExponent, int kMantissa, int kBias, Specials kSpecials>
const float* lut_or_null() {
  if constexpr (kKind == Kind::floating && kBits <= 8) {
    alignas(64) static constexpr auto lut =
        make_lut<kBits, kExponent, kMantissa, kBias, kSpecials>();
    return lut.data();
  } else {
    return nullptr;
  }
}

}  // namespace

const float* lut_of(Element element) noexcept {
  switch (element) {
#define DEQUANT_ELEMENT(name, bits, kind, exponent, mantissa, bias, specials, onnx) \
  case Element::name:                                                               \
    return lut_or_null<bits, Kind::kind, exponent, mantissa, bias, Specials::specials>();
#include "dequant/elements.def"
#undef DEQUANT_ELEMENT
  }
  return nullptr;
}

}  // namespace dequant

// The tables, computed at compile time by the generic decoder of element/float_code.h.
#include "kernel/lut.h"

#include <array>
#include <bit>

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

template <size_t kCodes>
using Bytes = std::array<uint8_t, kCodes>;

/// The DigitSums of an 8-bit float, from the lower and upper bytes of all bfloat16 codes.
constexpr DigitSums digit_sums(const Bytes<256>& low, const Bytes<256>& high) {
  const auto byte = [](int value) { return static_cast<uint8_t>(value); };
  DigitSums sums;
  for (size_t i = 0; i < 16; ++i) {
    sums.low[i] = low[16 + i];
    sums.high[i] = high[16 + i];
    sums.row[i] = byte(high[i % 8 * 16] - high[16] + (i < 8 ? 0 : 0x80));
    sums.first_low[i] = byte(low[i] - low[16 + i]);
    sums.first_high[i] = byte(high[i] - high[16 + i] - high[0] + high[16]);
  }
  return sums;
}

template <size_t kCodes>
struct Lut {
  std::array<float, kCodes> values;
  Bytes<kCodes> low;   ///< the lower bytes of the values' bfloat16 codes
  Bytes<kCodes> high;  ///< the upper bytes
  DigitSums sums;      ///< 8-bit floats only

  explicit constexpr Lut(const std::array<float, kCodes>& all) : values(all), low{}, high{} {
    for (size_t i = 0; i < kCodes; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(all[i]);
      low[i] = static_cast<uint8_t>(bits >> 16);
      high[i] = static_cast<uint8_t>(bits >> 24);
    }
    if constexpr (kCodes == 256) {
      sums = digit_sums(low, high);
      if (all[0x80] != all[0x80]) {
        sums.nan_mask = 0xFF;
        sums.nan = 0x80;
      }
    }
  }
};

template <int kBits, Kind kKind, int kExponent, int kMantissa, int kBias, Specials kSpecials>
const float* lut_or_null() {
  if constexpr (kKind == Kind::floating && kBits <= 8) {
    alignas(64) static constexpr Lut lut(make_lut<kBits, kExponent, kMantissa, kBias, kSpecials>());
    return lut.values.data();
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

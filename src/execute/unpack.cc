// Packed codes as whole bytes, and codes that lie apart as neighbours.
#include "execute/unpack.h"

#include <array>
#include <cstring>

#include "element/codes.h"

namespace dequant {
namespace {

/// The float8e4m3fn code of every float4e2m1 code: it holds them all.
constexpr auto kFloat8OfFloat4 = [] {
  constexpr FloatFormat narrow{4, 2, 1, 1, Specials::none};
  constexpr FloatFormat wide{8, 4, 3, 7, Specials::fn};
  std::array<uint8_t, 16> codes{};
  for (uint32_t code = 0; code < 0x100; ++code) {
    for (uint32_t i = 0; i < codes.size(); ++i) {
      const bool same =
          (code >> 7) == (i >> 3) && decode_float(wide, code) == decode_float(narrow, i);
      if (same) codes[i] = static_cast<uint8_t>(code);
    }
  }
  return codes;
}();

/// Codes of kBytes bytes, `stride` of them apart.
template <size_t kBytes>
void gather(const std::byte* data, int64_t stride, int64_t count, uint8_t* out) {
  const int64_t step = stride * static_cast<int64_t>(kBytes);
  for (int64_t k = 0; k < count; ++k) {
    std::memcpy(out + static_cast<size_t>(k) * kBytes, data + k * step, kBytes);
  }
}

/// Neighbouring codes of kWidth bits: number(code) for each, a byte of them at a time, in a loop that
/// compilers turn into vector code where number() allows it.
template <int kWidth, class Number>
void spread_bytes(const std::byte* data, int64_t i, int64_t count, uint8_t* out,
                  const Number& number) {
  constexpr int64_t kCodes = 8 / kWidth;
  constexpr unsigned kMask = (1u << kWidth) - 1;
  const auto code = [&](int64_t k) {
    return static_cast<unsigned>(data[k / kCodes]) >> (k % kCodes * kWidth) & kMask;
  };
  for (; i % kCodes != 0 && count > 0; ++i, --count) *out++ = number(code(i));
  const std::byte* from = data + i / kCodes;
  const int64_t whole = count / kCodes;
  for (int64_t k = 0; k < whole; ++k) {
    const auto byte = static_cast<unsigned>(from[k]);
    for (int64_t j = 0; j < kCodes; ++j) {
      out[k * kCodes + j] = number(byte >> (j * kWidth) & kMask);
    }
  }
  for (int64_t k = whole * kCodes; k < count; ++k) out[k] = number(code(i + k));
}

/// The byte that has the number of a code of kWidth bits with a sign.
template <int kWidth>
uint8_t signed_byte(unsigned code) {
  constexpr unsigned kSign = 1u << (kWidth - 1);
  return static_cast<uint8_t>((code ^ kSign) - kSign);
}

/// Neighbouring codes of a packed element.
void spread_neighbours(Element x, const std::byte* data, int64_t i, int64_t count, uint8_t* out) {
  const auto same = [](unsigned code) { return static_cast<uint8_t>(code); };
  const auto table = [](unsigned code) { return kFloat8OfFloat4[code]; };
  switch (x) {
    case Element::uint4: return spread_bytes<4>(data, i, count, out, same);
    case Element::int4: return spread_bytes<4>(data, i, count, out, signed_byte<4>);
    case Element::uint2: return spread_bytes<2>(data, i, count, out, same);
    case Element::int2: return spread_bytes<2>(data, i, count, out, signed_byte<2>);
    default: return spread_bytes<4>(data, i, count, out, table);
  }
}

void spread(Element x, const std::byte* data, int64_t i, int64_t stride, int64_t count,
            uint8_t* out) {
  const int width = bits(x);
  const int unused = kind(x) == Kind::signed_integer ? 32 - width : 0;
  for (int64_t k = 0; k < count; ++k) {
    const uint32_t code = load_code(width, data, i + k * stride);
    out[k] = x == Element::float4e2m1
                 ? kFloat8OfFloat4[code]
                 : static_cast<uint8_t>(static_cast<int32_t>(code << unused) >> unused);
  }
}

}  // namespace

Element unpacked(Element x) noexcept {
  switch (x) {
    case Element::uint4:
    case Element::uint2: return Element::uint8;
    case Element::int4:
    case Element::int2: return Element::int8;
    case Element::float4e2m1: return Element::float8e4m3fn;
    default: return x;
  }
}

void unpack(Element x, const std::byte* data, int64_t i, int64_t stride, int64_t count,
            uint8_t* out) noexcept {
  const int width = bits(x);
  if (stride == 1 && width < 8) return spread_neighbours(x, data, i, count, out);
  if (width < 8) return spread(x, data, i, stride, count, out);
  const std::byte* first = data + i * (width / 8);
  if (stride == 1) {
    std::memcpy(out, first, static_cast<size_t>(count * (width / 8)));
  } else if (width == 8) {
    gather<1>(first, stride, count, out);
  } else if (width == 16) {
    gather<2>(first, stride, count, out);
  } else {
    gather<4>(first, stride, count, out);
  }
}

}  // namespace dequant

// Unpacking by tables, and copying codes of whole bytes with a stride.
#include "execute/unpack.h"

#include <cstring>

#include "element/code_stream.h"
#include "element/codes.h"
#include "element/float8_of.h"

namespace dequant {
namespace {

/// Copies `count` codes of kBytes bytes, each `stride` codes after the one before.
template <size_t kBytes>
void gather(const std::byte* data, int64_t stride, int64_t count, uint8_t* out) {
  const int64_t step = stride * static_cast<int64_t>(kBytes);
  for (int64_t k = 0; k < count; ++k) {
    std::memcpy(out + static_cast<size_t>(k) * kBytes, data + k * step, kBytes);
  }
}

/// The code of unpacked(kX) that has the value of a code of kX.
template <Element kX>
constexpr uint8_t byte_of(unsigned code) {
  if constexpr (traits(kX).kind == Kind::floating) {
    constexpr auto kCodes = float8_of<kX>();
    return kCodes[code];
  }
  if constexpr (traits(kX).kind == Kind::signed_integer) {
    return signed_byte<traits(kX).format.bits>(code);
  }
  return static_cast<uint8_t>(code);
}

/// unpack() of an element of fewer than 8 bits.
template <Element kX>
void unpack_bytes(const std::byte* data, int64_t i, int64_t stride, int64_t count, uint8_t* out) {
  constexpr int kWidth = traits(kX).format.bits;
  if (stride == 1) return unpack_each<kWidth>(data, i, count, out, byte_of<kX>);
  for (int64_t k = 0; k < count; ++k) {
    out[k] = byte_of<kX>(load_code(kWidth, data, i + k * stride));
  }
}

void unpack_packed(Element x, const std::byte* data, int64_t i, int64_t stride, int64_t count,
                   uint8_t* out) {
  switch (x) {
#define DEQUANT_ELEMENT(name, bits, ...)                                                     \
  case Element::name:                                                                        \
    if constexpr (bits < 8) return unpack_bytes<Element::name>(data, i, stride, count, out); \
    return;
#include "dequant/elements.def"
#undef DEQUANT_ELEMENT
  }
}

}  // namespace

Element unpacked(Element x) noexcept {
  const ElementTraits& t = traits(x);
  if (t.format.bits >= 8) return x;
  if (t.kind == Kind::floating) return Element::float8e4m3fn;
  return t.kind == Kind::signed_integer ? Element::int8 : Element::uint8;
}

void unpack(Element x, const std::byte* data, int64_t i, int64_t stride, int64_t count,
            uint8_t* out) noexcept {
  const int width = bits(x);
  if (width < 8) return unpack_packed(x, data, i, stride, count, out);
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

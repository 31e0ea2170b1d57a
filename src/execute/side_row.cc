// Converting stored scales and zero points, exactly, to what the kernels take.
#include "execute/side_row.h"

#include <cstring>

#include "element/codes.h"

namespace dequant {
namespace {

void load_scales(Element element, const std::byte* data, int64_t i, int64_t count, float* out) {
  if (element == Element::float32) {
    std::memcpy(out, data + i * 4, static_cast<size_t>(count) * 4);
    return;
  }
  const FloatFormat format = traits(element).format;
  for (int64_t k = 0; k < count; ++k) {
    out[k] = decode_float(format, load_code(format.bits, data, i + k));
  }
}

void load_zeros(Element element, const std::byte* data, int64_t i, int64_t count, int32_t* out) {
  const int width = bits(element);
  const int unused = kind(element) == Kind::signed_integer ? 32 - width : 0;
  for (int64_t k = 0; k < count; ++k) {
    out[k] = static_cast<int32_t>(load_code(width, data, i + k) << unused) >> unused;
  }
}

}  // namespace

void SideRow::load(int64_t begin, int64_t count) noexcept {
  if (begin_ <= begin && begin + count <= end_) return;
  begin_ = begin;
  end_ = begin + count;
  load_scales(plan_.scale, buffers_.scale.data(), begin - first_, count, scale_);
  // A zero point of a float is zero, checked at the door; its code is no number.
  if (plan_.has_zero_point && kind(plan_.input) != Kind::floating) {
    load_zeros(plan_.input, buffers_.zero_point.data(), begin - first_, count, zero_);
  } else {
    std::memset(zero_, 0, static_cast<size_t>(count) * sizeof *zero_);
  }
}

}  // namespace dequant

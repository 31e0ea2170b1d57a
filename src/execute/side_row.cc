// Converting stored scales, zero points and ranges, exactly, to what the kernels take.
#include "execute/side_row.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "element/codes.h"
#include "execute/ranges.h"
#include "execute/unpack.h"
#include "kernel/lut.h"

namespace dequant {
namespace {

/// Neighbouring integers of whole bytes; a loop that compilers turn into vector code.
template <class T>
void widen(const std::byte* data, int64_t i, int64_t count, int32_t* out) {
  const std::byte* first = data + i * static_cast<int64_t>(sizeof(T));
  for (int64_t k = 0; k < count; ++k) {
    T value;
    std::memcpy(&value, first + k * static_cast<int64_t>(sizeof(T)), sizeof value);
    out[k] = static_cast<int32_t>(value);
  }
}

/// Neighbouring integers of less than a byte, by way of bytes.
void widen_packed(Element x, const std::byte* data, int64_t i, int64_t count, int32_t* out) {
  constexpr int64_t kPiece = 512;
  uint8_t bytes[kPiece];
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  for (int64_t done = 0; done < count; done += kPiece) {
    const int64_t n = std::min(kPiece, count - done);
    unpack(x, data, i + done, 1, n, bytes);
    if (unpacked(x) == Element::int8) {
      widen<int8_t>(first, 0, n, out + done);
    } else {
      widen<uint8_t>(first, 0, n, out + done);
    }
  }
}

/// The value of a float16 code: its bits as those of a float32, one exact multiplication to correct the
/// exponent, subnormals included, and the top exponent for infinities and NaNs.
float float16_value(uint16_t code) {
  const uint32_t magnitude = static_cast<uint32_t>(code & 0x7FFF) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const uint32_t special = (code & 0x7C00) == 0x7C00 ? 0x7F800000 : 0;
  const uint32_t sign = static_cast<uint32_t>(code & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

float bfloat16_value(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

/// Neighbouring floats of 16 bits. NaNs keep their payload, which no result shows.
template <float (*kValue)(uint16_t)>
void widen_floats(const std::byte* data, int64_t i, int64_t count, float* out) {
  const std::byte* first = data + i * 2;
  for (int64_t k = 0; k < count; ++k) {
    uint16_t code = 0;
    std::memcpy(&code, first + k * 2, sizeof code);
    out[k] = kValue(code);
  }
}

}  // namespace

void load_scales(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                 float* out) noexcept {
  const std::byte* data = buffers.scale.data();
  if (plan.scale == Element::float32 && stride == 1) {
    std::memcpy(out, data + i * 4, static_cast<size_t>(count) * 4);
    return;
  }
  if (plan.scale == Element::float16 && stride == 1) {
    return widen_floats<float16_value>(data, i, count, out);
  }
  if (plan.scale == Element::bfloat16 && stride == 1) {
    return widen_floats<bfloat16_value>(data, i, count, out);
  }
  const FloatFormat format = traits(plan.scale).format;
  if (const float* values = lut_of(plan.scale); values != nullptr && format.bits == 8) {
    for (int64_t k = 0; k < count; ++k) out[k] = values[static_cast<uint8_t>(data[i + k * stride])];
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    out[k] = decode_float(format, load_code(format.bits, data, i + k * stride));
  }
}

void load_zeros(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                int32_t* out) noexcept {
  // A zero point of a float is zero, checked at the door; its code is no number.
  if (!plan.has_zero_point || kind(plan.input) == Kind::floating) {
    std::fill_n(out, count, plan.implicit_zero_point);
    return;
  }
  if (stride == 1) {
    const std::byte* zeros = buffers.zero_point.data();
    switch (plan.input) {
      case Element::uint8: return widen<uint8_t>(zeros, i, count, out);
      case Element::int8: return widen<int8_t>(zeros, i, count, out);
      case Element::uint16: return widen<uint16_t>(zeros, i, count, out);
      case Element::int16: return widen<int16_t>(zeros, i, count, out);
      case Element::uint32:
      case Element::int32: return widen<int32_t>(zeros, i, count, out);
      default: break;
    }
  }
  const int width = bits(plan.input);
  if (stride == 1) return widen_packed(plan.input, buffers.zero_point.data(), i, count, out);
  const int unused = kind(plan.input) == Kind::signed_integer ? 32 - width : 0;
  const std::byte* data = buffers.zero_point.data();
  for (int64_t k = 0; k < count; ++k) {
    out[k] = static_cast<int32_t>(load_code(width, data, i + k * stride) << unused) >> unused;
  }
}

SideRow::SideRow(const Plan& plan, const Buffers& buffers, const Moves& moves,
                 int64_t first) noexcept
    : plan_(plan),
      buffers_(buffers),
      moves_(moves),
      first_(first),
      in_place_(plan.scale == Element::float32 && !takes_ranges(plan.rule) &&
                reinterpret_cast<uintptr_t>(buffers.scale.data()) % alignof(float) == 0),
      constant_zeros_(!plan.has_zero_point || kind(plan.input) == Kind::floating) {}

Sides SideRow::load(int64_t begin, int64_t count) noexcept {
  if (begin < begin_ || begin + count > end_) {
    begin_ = begin;
    end_ = begin + count;
    load_zero_points(count);
    if (takes_ranges(plan_.rule)) {
      load_ranges(count);
    } else if (in_place_) {
      scales_ = reinterpret_cast<const float*>(buffers_.scale.data()) + (begin - first_);
    } else {
      load_scales(plan_, buffers_, begin - first_, 1, count, scale_);
      scales_ = scale_;
    }
    const auto n = static_cast<size_t>(count);
    plain_ = moves_.all_plain(scales_, n, !has_infinity(plan_.input)) &&
             (!adds_offset(plan_.rule) || moves_.all_plain(offset_, n, true));
  }
  const int64_t at = begin - begin_;
  return {scales_ + at, zero_ + at, adds_offset(plan_.rule) ? offset_ + at : nullptr, plain_};
}

void SideRow::load_zero_points(int64_t count) noexcept {
  if (!constant_zeros_) {
    load_zeros(plan_, buffers_, begin_ - first_, 1, count, zero_);
  } else if (zeros_set_ < count) {
    const int32_t zero =
        takes_ranges(plan_.rule) ? shift_of(plan_.rule, plan_.input) : plan_.implicit_zero_point;
    std::fill_n(zero_, count, zero);
    zeros_set_ = count;
  }
}

void SideRow::load_ranges(int64_t count) noexcept {
  const auto value = [&](std::span<const std::byte> ranges, int64_t k) {
    return float_value(Element::float32, load_code(32, ranges.data(), begin_ - first_ + k));
  };
  for (int64_t k = 0; k < count; ++k) {
    const RangeSide side = range_side(plan_.rule, plan_.input, value(buffers_.min_range, k),
                                      value(buffers_.max_range, k));
    scale_[k] = side.scale;
    offset_[k] = side.offset;
  }
  scales_ = scale_;
}

}  // namespace dequant

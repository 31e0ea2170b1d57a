// Converting stored scales, zero points and ranges, exactly, to what the kernels take.
#include "execute/side_row.h"

#include <algorithm>
#include <cstring>

#include "element/codes.h"
#include "execute/ranges.h"
#include "kernel/lut.h"
#include "kernel/targets.h"

namespace dequant {
namespace {

/// Neighbouring integers as int32.
void widen(Element x, const std::byte* data, int64_t i, int64_t count, int32_t* out) {
  const int width = bits(x);
  if (width == 32) {
    std::memcpy(out, data + i * 4, static_cast<size_t>(count) * 4);
    return;
  }
  const int unused = kind(x) == Kind::signed_integer ? 32 - width : 0;
  for (; i * width % 8 != 0 && count > 0; ++i, --count) {
    *out++ = static_cast<int32_t>(load_code(width, data, i) << unused) >> unused;
  }
  if (count == 0) return;
  active_table().moves.widen[static_cast<size_t>(x)](
      reinterpret_cast<const uint8_t*>(data + i * width / 8), static_cast<size_t>(count), out);
}

}  // namespace

void load_scales(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                 float* out) noexcept {
  const std::byte* data = buffers.scale.data();
  if (plan.scale == Element::float32 && stride == 1) {
    std::memcpy(out, data + i * 4, static_cast<size_t>(count) * 4);
    return;
  }
  if (bits(plan.scale) == 16 && stride == 1) {
    const Moves& moves = active_table().moves;
    const auto widen = plan.scale == Element::float16 ? moves.widen_float16 : moves.widen_bfloat16;
    return widen(reinterpret_cast<const uint8_t*>(data + i * 2), static_cast<size_t>(count), out);
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
  const std::byte* data = buffers.zero_point.data();
  if (stride == 1) return widen(plan.input, data, i, count, out);
  const int width = bits(plan.input);
  const int unused = kind(plan.input) == Kind::signed_integer ? 32 - width : 0;
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
      stored_(stored(plan, buffers)),
      in_place_(plan.scale == Element::float32 && !takes_ranges(plan.rule) &&
                reinterpret_cast<uintptr_t>(buffers.scale.data()) % alignof(float) == 0),
      constant_zeros_(!plan.has_zero_point || kind(plan.input) == Kind::floating) {}

std::array<SideRow::Stored, 2> SideRow::stored(const Plan& plan, const Buffers& buffers) noexcept {
  const auto of = [](std::span<const std::byte> data, Element element) {
    return Stored{data.data(), static_cast<int64_t>(data.size()), bits(element)};
  };
  if (takes_ranges(plan.rule)) {
    return {of(buffers.min_range, Element::float32), of(buffers.max_range, Element::float32)};
  }
  return {of(buffers.scale, plan.scale), of(buffers.zero_point, plan.input)};
}

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

bool SideRow::can_narrow(int64_t at, int64_t count) const noexcept {
  if (plan_.scale != Element::float16 || plan_.output != Element::float16) return false;
  if (moves_.narrow_zeros[static_cast<size_t>(plan_.input)] == nullptr) return false;
  // Rows read on behind the last one.
  constexpr auto kSlack = static_cast<int64_t>(Moves::kNarrowSlack);
  if ((at + count + kSlack) * 2 > static_cast<int64_t>(buffers_.scale.size())) return false;
  if (reinterpret_cast<uintptr_t>(buffers_.scale.data()) % alignof(uint16_t) != 0) return false;
  return constant_zeros_ || at * bits(plan_.input) % 8 == 0;
}

Sides SideRow::load_varying(int64_t begin, int64_t count) noexcept {
  const int64_t at = begin - first_;
  if (!can_narrow(at, count)) return load(begin, count);
  const auto* scale = reinterpret_cast<const uint16_t*>(buffers_.scale.data()) + at;
  const auto n = static_cast<size_t>(count);
  if (!moves_.all_plain16(scale, n, !has_infinity(plan_.input))) return load(begin, count);
  if (!constant_zeros_) {
    const std::byte* zero = buffers_.zero_point.data() + at * bits(plan_.input) / 8;
    moves_.narrow_zeros[static_cast<size_t>(plan_.input)](reinterpret_cast<const uint8_t*>(zero), n,
                                                          zero16_);
  } else if (zeros16_set_ < count) {
    std::fill_n(zero16_, count, static_cast<int16_t>(plan_.implicit_zero_point));
    zeros16_set_ = count;
  }
  return {nullptr, nullptr, nullptr, true, scale, zero16_};
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
  constexpr int64_t kPiece = 256;
  float min[kPiece];
  float max[kPiece];
  for (int64_t done = 0; done < count; done += kPiece) {
    const int64_t n = std::min(kPiece, count - done);
    const int64_t at = (begin_ - first_ + done) * 4;
    std::memcpy(min, buffers_.min_range.data() + at, static_cast<size_t>(n) * 4);
    std::memcpy(max, buffers_.max_range.data() + at, static_cast<size_t>(n) * 4);
    range_sides(plan_.rule, plan_.input, n, min, max, scale_ + done, offset_ + done);
  }
  scales_ = scale_;
}

}  // namespace dequant

// Converting stored scales, zero points and ranges, exactly, to what the kernels take.
#include "execute/param_window.h"

#include <algorithm>
#include <cstring>

#include "execute/ranges.h"
#include "plan/packing.h"

namespace dequant {

ParamWindow::ParamWindow(const Plan& plan, const Buffers& buffers, const Helpers& helpers,
                         int64_t first) noexcept
    : plan_(plan),
      buffers_(buffers),
      helpers_(helpers),
      first_(first),
      stored_(stored(plan, buffers)),
      in_place_(plan.scale == Element::float32 && scales_are_stored(plan) &&
                !takes_ranges(plan.rule) &&
                reinterpret_cast<uintptr_t>(buffers.scale.data()) % alignof(float) == 0),
      first_zero_(is_packing(plan.parameters.zero_point_packing) ? 0 : first),
      constant_zeros_(!has_zero_points(plan)) {}

std::array<ParamWindow::Stored, 2> ParamWindow::stored(const Plan& plan,
                                                       const Buffers& buffers) noexcept {
  const auto of = [](std::span<const std::byte> data, Element element) {
    return Stored{data.data(), static_cast<int64_t>(data.size()), bits(element)};
  };
  if (takes_ranges(plan.rule)) {
    return {of(buffers.min_range, Element::float32), of(buffers.max_range, Element::float32)};
  }
  // Zero points of a Packing are few.
  const bool packed = is_packing(plan.parameters.zero_point_packing);
  return {of(buffers.scale, plan.scale),
          of(packed ? std::span<const std::byte>() : buffers.zero_point, zero_point_element(plan))};
}

Params ParamWindow::load(int64_t begin, int64_t count) noexcept {
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
    finite_normal_ = helpers_.all_finite_normal(scales_, n, !has_infinity(plan_.input)) &&
                     (!adds_offset(plan_.rule) || helpers_.all_finite_normal(offset_, n, true));
  }
  const int64_t at = begin - begin_;
  return {scales_ + at, zero_ + at, adds_offset(plan_.rule) ? offset_ + at : nullptr,
          finite_normal_};
}

bool ParamWindow::can_narrow(int64_t at, int64_t count) const noexcept {
  if (plan_.scale != Element::float16 || plan_.output != Element::float16) return false;
  if (!scales_are_stored(plan_) || !zero_points_are_stored(plan_)) return false;
  if (!has_plain_kernels(plan_)) return false;
  if (helpers_.narrow_zeros[static_cast<size_t>(plan_.input)] == nullptr) return false;
  // Kernels load up to kNarrowSlack entries behind the last one.
  constexpr auto kSlack = static_cast<int64_t>(Helpers::kNarrowSlack);
  if ((at + count + kSlack) * 2 > static_cast<int64_t>(buffers_.scale.size())) return false;
  if (reinterpret_cast<uintptr_t>(buffers_.scale.data()) % alignof(uint16_t) != 0) return false;
  return constant_zeros_ || at * bits(plan_.input) % 8 == 0;
}

Params ParamWindow::load_per_element(int64_t begin, int64_t count) noexcept {
  const int64_t at = begin - first_;
  if (!can_narrow(at, count)) return load(begin, count);
  const auto* scale = reinterpret_cast<const uint16_t*>(buffers_.scale.data()) + at;
  const auto n = static_cast<size_t>(count);
  if (!helpers_.all_finite_normal16(scale, n, !has_infinity(plan_.input)))
    return load(begin, count);
  if (!constant_zeros_) {
    const std::byte* zero = buffers_.zero_point.data() + at * bits(plan_.input) / 8;
    helpers_.narrow_zeros[static_cast<size_t>(plan_.input)](reinterpret_cast<const uint8_t*>(zero),
                                                            n, zero16_);
  } else if (zeros16_set_ < count) {
    std::fill_n(zero16_, count, static_cast<int16_t>(plan_.implicit_zero_point));
    zeros16_set_ = count;
  }
  return {nullptr, nullptr, nullptr, true, scale, zero16_};
}

void ParamWindow::load_zero_points(int64_t count) noexcept {
  if (!constant_zeros_) {
    load_zeros(plan_, buffers_, begin_ - first_zero_, 1, count, zero_);
  } else if (zeros_set_ < count) {
    const int32_t zero =
        takes_ranges(plan_.rule) ? shift_of(plan_.rule, plan_.input) : plan_.implicit_zero_point;
    std::fill_n(zero_, count, zero);
    zeros_set_ = count;
  }
}

void ParamWindow::load_ranges(int64_t count) noexcept {
  constexpr int64_t kBatch = 256;
  float min[kBatch];
  float max[kBatch];
  for (int64_t done = 0; done < count; done += kBatch) {
    const int64_t n = std::min(kBatch, count - done);
    const int64_t at = (begin_ - first_ + done) * 4;
    std::memcpy(min, buffers_.min_range.data() + at, static_cast<size_t>(n) * 4);
    std::memcpy(max, buffers_.max_range.data() + at, static_cast<size_t>(n) * 4);
    range_params(plan_.rule, plan_.input, n, min, max, scale_ + done, offset_ + done);
  }
  scales_ = scale_;
}

}  // namespace dequant

// What the FastPlans of vectors and of squares have in common.
#include "cuda/fast_draft.h"

#include <algorithm>
#include <initializer_list>

namespace dequant::cuda {

bool FastDraft::set_kind() {
  if (p_.has_blocks || p_.has_after || p_.groups.groups != 0 || p_.checks_zero_point) return false;
  const auto has = [&](std::initializer_list<int> widths) {
    return std::find(widths.begin(), widths.end(), p_.x.bits) != widths.end();
  };
  switch (p_.difference) {
    case Difference::integer: f_.kind = FastKind::integer; return has({2, 4, 8, 16});
    case Difference::floating: f_.kind = FastKind::floating; return has({4, 8, 16}) && set_float();
    case Difference::codebook:
      f_.kind = FastKind::codebook;
      return has({4}) && reinterpret_cast<uintptr_t>(p_.codebook) % 4 == 0;
    default: return false;
  }
}

bool FastDraft::set_float() {
  const FloatFormat format = p_.x.format;
  const auto magnitudes = uint32_t{1} << (format.bits - 1);
  f_.special_from = UINT32_MAX;
  f_.special_code = UINT32_MAX;
  f_.infinity = UINT32_MAX;
  switch (format.specials) {
    case Specials::none: break;
    case Specials::ieee:
      f_.special_from = ((uint32_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
      f_.infinity = f_.special_from;
      break;
    case Specials::fn: f_.special_from = magnitudes - 1; break;
    case Specials::fnuz: f_.special_code = magnitudes; break;
    case Specials::e8m0: return false;
  }
  f_.factor = power_of_two(127 - format.bias);
  return true;
}

void FastDraft::set_params() {
  scale_origin_ = p_.origin.scale;
  zero_point_origin_ = p_.loads_zero_point ? p_.origin.zero_point : 0;
  const bool stored =
      !p_.infinite_e8m0 && p_.tensor_scale_use == TensorScale::none && !p_.rounds_scale;
  const auto address = reinterpret_cast<uintptr_t>(p_.scale.data);
  f_.scale = FastParam::other;
  if (stored && p_.scale.bits == 32 && address % 4 == 0) f_.scale = FastParam::float32;
  if (stored && p_.scale.bits == 16 && address % 2 == 0) {
    f_.scale = p_.scale.format.mantissa_bits == 10 ? FastParam::float16 : FastParam::bfloat16;
  }
  f_.zero_point = FastParam::constant;
  if (!p_.loads_zero_point) return;
  f_.zero_point = FastParam::other;
  const bool plain = p_.zero_point.order == CodeOrder::of_element && p_.zero_point_offset == 0 &&
                     p_.zero_point_overflow == ZeroPointOverflow::keep;
  if (!plain) return;
  switch (p_.zero_point.bits) {
    case 2: f_.zero_point = FastParam::bits2; break;
    case 4: f_.zero_point = FastParam::bits4; break;
    case 8: f_.zero_point = FastParam::bits8; break;
    case 16:
      if (reinterpret_cast<uintptr_t>(p_.zero_point.data) % 2 == 0) {
        f_.zero_point = FastParam::bits16;
      }
      break;
    default: break;
  }
}

void FastDraft::take_first_indices() {
  for (Step& step : steps_) {
    f_.x += step.first * step.x;
    f_.y += step.first * step.y;
    if (step.has_blocks()) continue;
    scale_origin_ += step.first * step.scale;
    zero_point_origin_ += step.first * step.zero_point;
    step.first = 0;
  }
}

bool FastDraft::has_few_params() const {
  int64_t scale = scale_origin_;
  int64_t zero_point = zero_point_origin_;
  for (const Step& step : steps_) {
    if (step.scale < 0 || step.zero_point < 0) return false;
    if (step.scale > kMostThreads || step.zero_point > kMostThreads) return false;
    scale += (step.first + step.size) * step.scale;
    zero_point += (step.first + step.size) * step.zero_point;
    if (scale > kMostThreads || zero_point > kMostThreads) return false;
  }
  return scale_origin_ >= 0 && zero_point_origin_ >= 0;
}

bool FastDraft::count_threads() {
  int64_t threads = 1;
  for (const Step& step : steps_) {
    const bool fits = step.size <= kMostThreads && step.first <= kMostThreads - step.size &&
                      step.block <= kMostThreads && threads <= kMostThreads / step.size;
    if (!fits) return false;
    threads *= step.size;
  }
  f_.threads = static_cast<uint32_t>(threads);
  return true;
}

std::optional<FastPlan> FastDraft::finish() {
  if (!count_threads()) return std::nullopt;
  steps_ = without_whole_blocks(steps_);
  take_first_indices();
  f_.x_step = take_linear(steps_, &Step::x);
  f_.y_step = take_linear(steps_, &Step::y);
  if (!has_few_params()) return std::nullopt;
  steps_ = merged(steps_);
  if (steps_.size() > kFastDimensions) return std::nullopt;
  f_.scale_origin = static_cast<uint32_t>(scale_origin_);
  f_.zero_point_origin = static_cast<uint32_t>(zero_point_origin_);
  for (const Step& step : steps_) {
    const auto size = static_cast<uint32_t>(step.size);
    const auto block = step.has_blocks() ? static_cast<uint32_t>(step.block) : 1U;
    f_.dimensions[f_.rank++] = {size,
                                SmallDivisor(size),
                                block,
                                SmallDivisor(block),
                                static_cast<uint32_t>(step.first),
                                static_cast<uint32_t>(step.scale),
                                static_cast<uint32_t>(step.zero_point),
                                step.has_params() || step.moves(),
                                step.moves(),
                                step.x,
                                step.y};
  }
  f_.plan = p_;
  return f_;
}

}  // namespace dequant::cuda

// What the FastPlans of vectors and of squares have in common.
#include "cuda/plan/fast_draft.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <iterator>

#include "cuda/plan/aligned.h"
#include "cuda/plan/fast.h"
#include "cuda/plan/layouts.h"
#include "cuda/thread/codes.h"

namespace dequant::cuda {

std::optional<Step> FastDraft::inner_step() {
  const DeviceDimension& of = p_.dimensions[p_.rank - 1];
  if (of.y != 1) return std::nullopt;
  if (p_.rank > 1 && of.size % count_ != 0) return std::nullopt;
  const bool zeros = p_.loads_zero_point;
  Step step{of.size / count_,       0, 1, 0, 16, of.scale, zeros ? of.zero_point : 0,
            of.group_index * count_};
  if (!step.has_params()) return step;
  f_.each = of.block == 1 && of.scale == 1 && (!zeros || of.zero_point == 1);
  if (f_.each) {
    step.scale = count_;
    step.zero_point = zeros ? count_ : 0;
  } else if (of.block % count_ != 0) {
    return std::nullopt;
  } else {
    step.block = of.block / count_;
  }
  return step;
}

bool FastDraft::add_outer_steps(const std::function<std::optional<int64_t>(int64_t)>& x_of) {
  for (int d = p_.rank - 2; d >= 0; --d) {
    const DeviceDimension& of = p_.dimensions[d];
    const auto x = x_of(of.x);
    if (!x || !is_modest(*x) || !is_modest(of.y)) return false;
    steps_.insert(steps_.begin(), {of.size, 0, of.block, *x, of.y * y_bytes_, of.scale,
                                   p_.loads_zero_point ? of.zero_point : 0, of.group_index});
  }
  const Range e = fast_elements(p_);
  if (e.begin >= e.end) return false;
  int64_t unit = p_.rank == 1 ? count_ : 1;
  for (int d = 1; d < p_.rank; ++d) unit *= p_.dimensions[d].size;
  Step& outermost = steps_.front();
  if (p_.rank == 1 && steps_.size() > 1) return false;
  outermost.first = e.begin / unit;
  outermost.size = (e.end - e.begin) / unit;
  return true;
}

bool FastDraft::set_kind() {
  if (p_.has_blocks || (p_.groups.groups != 0 && !unpacks_) || p_.checks_zero_point) return false;
  const auto has = [&](std::initializer_list<int> widths) {
    return unpacks_ || std::find(widths.begin(), widths.end(), p_.x.bits) != widths.end();
  };
  f_.plain = !p_.has_after;
  switch (p_.difference) {
    case Difference::integer: f_.kind = FastKind::integer; return has({2, 4, 8, 16});
    case Difference::wide_integer: f_.kind = FastKind::wide; return has({32});
    case Difference::floating: f_.kind = FastKind::floating; return has({4, 8}) && set_float();
    case Difference::codebook:
      f_.kind = FastKind::codebook;
      return has({4}) && is_aligned(p_.codebook, 4);
    case Difference::float_zero:
    case Difference::shifted:
      f_.plain = false;
      f_.kind = p_.x.bits == 32 ? FastKind::wide : FastKind::integer;
      return has({2, 4, 8, 16, 32});
    default: return false;
  }
}

bool FastDraft::set_float() {
  const FloatFormat format = p_.x.format;
  if (format.specials == Specials::e8m0) return false;
  const int place = 23 - format.mantissa_bits;
  const uint32_t magnitudes = low_bits(format.bits - 1);
  const uint32_t infinity = low_bits(format.exponent_bits) << format.mantissa_bits;
  f_.number.specials = format.specials;
  f_.number.shift = 8 - format.exponent_bits;
  f_.number.mask = uint32_t{1} << 31 | magnitudes << place;
  f_.number.special =
      std::bit_cast<float>((format.specials == Specials::ieee ? infinity : magnitudes) << place);
  f_.number.factor = power_of_two(127 - format.bias);
  return true;
}

namespace {

/// The sign bits of all codes of a word.
uint32_t signs_of(const Codes& codes) {
  uint32_t signs = 0;
  if (codes.sign == 0) return signs;  // also of tensors that the plan does not have
  for (int at = 0; at + codes.bits <= 32; at += codes.bits) signs |= codes.sign << at;
  return signs;
}

/// True if code i begins at bit i * bits, as without a Packing.
bool is_stream(const Codes& codes) {
  if (codes.order == CodeOrder::of_element) return true;
  return (codes.order == CodeOrder::words || codes.order == CodeOrder::stream) &&
         32 % codes.bits == 0 && codes.word_step == 1 &&
         codes.row * codes.bits == codes.row_step * 32;
}

/// Of scales, and of float zero points.
FastParam stored_float(const Codes& codes) {
  if (codes.order != CodeOrder::of_element) return FastParam::none;
  switch (codes.bits) {
    case 8: return FastParam::bits8;
    case 16:
      if (!is_aligned(codes.data, 2)) return FastParam::none;
      return codes.format.mantissa_bits == 10 ? FastParam::float16 : FastParam::bfloat16;
    case 32: return is_aligned(codes.data, 4) ? FastParam::float32 : FastParam::none;
    default: return FastParam::none;
  }
}

FastParam stored_integer(const DevicePlan& p) {
  const Codes& zero = p.zero_point;
  if (!is_stream(zero) || p.zero_point_overflow == ZeroPointOverflow::carry) return FastParam::none;
  const bool wide = p.difference == Difference::wide_integer;
  switch (zero.bits) {
    case 2: return wide ? FastParam::none : FastParam::bits2;
    case 4: return wide ? FastParam::none : FastParam::bits4;
    case 8: return wide ? FastParam::none : FastParam::bits8;
    case 16: return !wide && is_aligned(zero.data, 2) ? FastParam::bits16 : FastParam::none;
    case 32: return wide && is_aligned(zero.data, 4) ? FastParam::bits32 : FastParam::none;
    default: return FastParam::none;
  }
}

}  // namespace

bool FastDraft::set_params() {
  first_group_ = p_.origin.group_index;
  scale_origin_ = p_.origin.scale;
  zero_point_origin_ = p_.loads_zero_point ? p_.origin.zero_point : 0;
  f_.scale = stored_float(p_.scale);
  f_.changes_scale = p_.infinite_e8m0 || p_.inverts_scale ||
                     p_.tensor_scale_use != TensorScale::none || p_.rounds_scale;
  f_.signs = signs_of(p_.x);
  if (f_.scale == FastParam::none) return false;
  if (p_.inverts_scale && p_.tensor_scale_use != TensorScale::none) return false;
  const auto is_large = [](FastParam p) { return p != FastParam::bits8 && p != FastParam::none; };
  if (p_.difference == Difference::shifted) {
    return is_large(f_.scale) && stored_float(p_.max_range) == f_.scale;
  }
  const bool after = p_.adds_zero_point || p_.subtracts_zero_point;
  if (after || p_.difference == Difference::float_zero) {
    f_.offset = stored_float(p_.zero_point);
    return is_large(f_.offset);
  }
  f_.constant_zero = p_.implicit_zero_point;
  if (!p_.loads_zero_point) return true;
  f_.zero_point = stored_integer(p_);
  if (f_.zero_point == FastParam::none && has_packed_zeros()) f_.zero_point = FastParam::packed;
  if (f_.zero_point == FastParam::none) return false;
  f_.zero_signs = signs_of(p_.zero_point);
  f_.wraps = p_.zero_point_overflow == ZeroPointOverflow::wrap;
  return true;
}

bool FastDraft::has_packed_zeros() {
  return p_.difference == Difference::integer &&
         p_.zero_point_overflow != ZeroPointOverflow::carry &&
         p_.zero_point.order != CodeOrder::planes && lay_out_rows(p_.zero_point, f_.zero_layout);
}

bool FastDraft::are_vectors(const Codes& codes, int64_t origin, int64_t Step::*stride) const {
  const int64_t bytes = std::max<int64_t>(1, count_ * codes.bits / 8);
  return is_aligned(codes.data, std::min<int64_t>(16, bytes)) && origin % count_ == 0 &&
         std::all_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return step.*stride % count_ == 0; });
}

bool FastDraft::has_ranges_of_each() const {
  return p_.difference == Difference::shifted && p_.rule != Rule::min_first &&
         f_.scale == FastParam::float32 && are_vectors(p_.scale, scale_origin_, &Step::scale) &&
         are_vectors(p_.max_range, scale_origin_, &Step::scale);
}

bool FastDraft::has_params_of_each() const {
  if (!f_.plain) return has_ranges_of_each();
  if (f_.scale == FastParam::bits8 || f_.changes_scale) return false;
  if (!are_vectors(p_.scale, scale_origin_, &Step::scale)) return false;
  if (f_.zero_point == FastParam::constant) return true;
  if (f_.zero_point == FastParam::packed || f_.wraps || p_.zero_point_offset != 0) return false;
  return p_.zero_point.sign == p_.x.sign &&
         are_vectors(p_.zero_point, zero_point_origin_, &Step::zero_point);
}

void FastDraft::take_first_indices() {
  for (Step& step : steps_) {
    first_x_ += step.first * step.x;
    f_.y += step.first * step.y;
    first_group_ += step.first * step.group;
    if (step.has_blocks()) continue;
    scale_origin_ += step.first * step.scale;
    zero_point_origin_ += step.first * step.zero_point;
    step.first = 0;
  }
}

bool FastDraft::has_few_params() const {
  // The first index that vectors have. The origin may be negative, if blocks of a range have the
  // numbers that they have in the tensor: kernels add modulo 2^32.
  int64_t scale = scale_origin_;
  int64_t zero_point = zero_point_origin_;
  for (const Step& step : steps_) {
    const int64_t block = step.has_blocks() ? step.first / step.block : 0;
    if (step.scale < 0 || step.zero_point < 0) return false;
    if (step.scale > kMostThreads || step.zero_point > kMostThreads) return false;
    scale += block * step.scale;
    zero_point += block * step.zero_point;
  }
  if (scale < 0 || zero_point < 0) return false;
  for (const Step& step : steps_) {
    scale += step.size * step.scale;
    zero_point += step.size * step.zero_point;
    if (scale > kMostThreads || zero_point > kMostThreads) return false;
  }
  return true;
}

bool FastDraft::has_few_codes() const {
  int64_t last = first_x_ + count_;
  for (const Step& step : steps_) {
    if (step.x < 0 || step.x > kMostThreads) return false;
    last += step.size * step.x;
    if (last > kMostThreads) return false;
  }
  return first_x_ >= 0;
}

bool FastDraft::has_modest_steps() const {
  int64_t vectors = 1;
  for (const Step& step : steps_) {
    const bool fits = step.size <= kMostThreads && step.first <= kMostThreads - step.size &&
                      step.block <= kMostThreads && vectors <= kMostThreads / step.size;
    if (!fits) return false;
    vectors *= step.size;
  }
  return true;
}

void FastDraft::count_vectors() {
  f_.vectors = 1;
  for (const Step& step : steps_) f_.vectors *= static_cast<uint32_t>(step.size);
  const bool many = !f_.square && f_.mode() == FastMode::groups;
  const uint32_t of_block = kThreadsOfBlock * (many ? kGroupSpots : 1);
  f_.threads = (f_.vectors / of_block + (f_.vectors % of_block != 0 ? 1 : 0)) * kThreadsOfBlock;
}

bool FastDraft::share_params(int64_t units, int64_t least_inner) {
  const auto can = [&](const Step& step, int64_t least) {
    return !step.has_params() && step.first == 0 && step.size % units == 0 && step.size >= least;
  };
  const auto inner = std::prev(steps_.end());
  auto at = std::find_if(steps_.begin(), inner, [&](const Step& step) { return can(step, units); });
  if (at == inner && !can(*inner, units * least_inner)) return false;
  at->size /= units;
  f_.units = static_cast<int32_t>(units);
  f_.unit_x = at->x * at->size;
  f_.unit_y = at->y * at->size;
  return true;
}

void FastDraft::share_params() {
  if (f_.square || f_.groups != 0 || f_.has_rows) return;
  // The scales of a vector of ranges take as many instructions as the results of several vectors.
  if (f_.mode() == FastMode::ranges && share_params(2 * kMostUnits, 4)) return;
  // Threads side by side write 64 bytes side by side, or at least a sector of 32 bytes: what a
  // thread with one vector computes besides takes longer than that vector.
  if (share_params(kMostUnits, 4) || f_.each) return;
  if (!f_.plain && share_params(kMostUnits, 2)) return;
  (void)share_params(2, 2);
}

namespace {

FastDimension dimension_of(const Step& step) {
  const auto size = static_cast<uint32_t>(step.size);
  const auto block = step.has_blocks() ? static_cast<uint32_t>(step.block) : 1U;
  return {size,
          SmallDivisor(size),
          block,
          SmallDivisor(block),
          static_cast<uint32_t>(step.first),
          static_cast<uint32_t>(step.scale),
          static_cast<uint32_t>(step.zero_point),
          static_cast<uint32_t>(step.group),
          step.x,
          step.y,
          static_cast<uint32_t>(step.x),
          static_cast<uint32_t>(step.y)};
}

}  // namespace

void FastDraft::set_dimensions() {
  f_.has_blocks = !std::all_of(steps_.begin(), steps_.end(), is_simple);
  while (steps_.size() < 2) steps_.insert(steps_.begin(), Step());
  for (const Step& step : steps_) f_.dimensions[f_.rank++] = dimension_of(step);
  f_.innermost = dimension_of(steps_.back());
}

std::optional<FastPlan> FastDraft::finish() {
  if (!has_modest_steps()) return std::nullopt;
  steps_ = without_whole_blocks(steps_);
  take_first_indices();
  if (unpacks_) {
    if (!has_few_codes()) return std::nullopt;
    f_.layout.origin = static_cast<uint32_t>(first_x_);
  } else {
    f_.x += first_x_;
  }
  share_params();
  count_vectors();
  if (!has_few_params()) return std::nullopt;
  steps_ = merged(steps_);
  if (steps_.size() > kFastDimensions) return std::nullopt;
  f_.scale_origin = static_cast<uint32_t>(scale_origin_);
  f_.zero_point_origin = static_cast<uint32_t>(zero_point_origin_);
  set_dimensions();
  f_.plan = p_;
  if (f_.groups != 0) f_.plan.group_index += first_group_ * 4;
  return f_;
}

}  // namespace dequant::cuda

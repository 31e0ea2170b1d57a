// Which codes have a FastLayout, and steps that count codes.
#include "cuda/plan/layouts.h"

#include <algorithm>
#include <cstddef>

#include "cuda/plan/aligned.h"
#include "cuda/plan/fast_draft.h"
#include "cuda/plan/thread_tiles.h"
#include "cuda/thread/codes.h"
#include "cuda/thread/fast_codes.h"

namespace dequant::cuda {
namespace {

void set_codes(const Codes& codes, FastLayout& l) {
  l.data = codes.data;
  l.bits = static_cast<uint32_t>(codes.bits);
  l.mask = low_bits(codes.bits) * 0x01010101;
}

void set_row(int64_t codes, FastLayout& l) {
  l.row = static_cast<uint32_t>(codes);
  l.by_row = SmallDivisor(l.row);
}

class Layouts : FastDraft {
 public:
  explicit Layouts(const DevicePlan& p) : FastDraft(p) { unpacks_ = true; }

  std::optional<FastPlan> build() {
    if (!set_draft()) return std::nullopt;
    if (p_.groups.groups != 0 && !set_groups()) return std::nullopt;
    if (p_.x.word_step > 1) interleave_rows();
    return finish();
  }

  /// Of FastMode::rows.
  std::optional<FastPlan> build_rows() {
    if (p_.x.word_step <= 1 || p_.groups.groups != 0 || !set_draft()) return std::nullopt;
    if (f_.kind != FastKind::integer || !f_.plain || f_.each) return std::nullopt;
    if (!take_rows() || !f_.has_rows) return std::nullopt;
    interleave_rows();
    return finish();
  }

 private:
  bool set_draft() {
    if (!set_kind() || !set_layout() || !set_steps() || !set_params()) return false;
    if (f_.kind == FastKind::floating && !f_.plain) return false;
    if (f_.each && (f_.kind != FastKind::floating || !has_params_of_each())) return false;
    f_.bits = f_.kind == FastKind::floating ? 6 : kUnpacked;
    f_.signs = p_.x.sign * 0x01010101;
    return true;
  }

  int64_t inner_x() const { return p_.dimensions[p_.rank - 1].x; }

  bool set_layout() {
    if (f_.kind != FastKind::integer && f_.kind != FastKind::floating) return false;
    if (p_.x.bits > 8) return false;
    set_codes(p_.x, f_.layout);
    switch (p_.x.order) {
      case CodeOrder::of_element: return set_elements();
      case CodeOrder::slabs:
      case CodeOrder::slabs_high_first: return set_slabs();
      default: return set_rows();
    }
  }

  /// Codes without a Packing.
  bool set_elements() {
    FastLayout& l = f_.layout;
    if (f_.kind == FastKind::floating) {
      l.order = FastOrder::of_bytes;
      return p_.x.bits == 6 && inner_x() == 1 && (count_ == 4 || is_aligned(l.data, 2));
    }
    // Each byte has codes of several rows.
    if (p_.x.bits >= 8 || inner_x() * p_.x.bits != 8) return false;
    l.in_pairs = true;
    set_row(inner_x(), l);
    l.order = is_of_aligned_bytes() ? FastOrder::fields : FastOrder::scattered;
    return true;
  }

  bool set_rows() {
    if (inner_x() != 1 || f_.kind != FastKind::integer || p_.x.row % count_ != 0) return false;
    return lay_out_rows(p_.x, f_.layout) && f_.layout.order != FastOrder::interleaved;
  }

  bool set_slabs() {
    FastLayout& l = f_.layout;
    const Codes& x = p_.x;
    if (inner_x() != 1 || f_.kind != FastKind::integer || x.columns > kMostThreads) return false;
    set_row(x.columns, l);
    l.is_of_words = x.word_bytes == 4;
    if (l.is_of_words && !is_aligned(l.data, 4)) return false;
    l.shift_step = l.bits;
    if (x.order == CodeOrder::slabs_high_first) {
      l.first_shift = static_cast<uint32_t>(x.in_word - 1) * l.bits;
      l.shift_step = 0 - l.bits;
    }
    const bool whole = !l.is_of_words && x.columns % count_ == 0 && is_of_aligned_bytes();
    l.order = whole ? FastOrder::fields : FastOrder::scattered;
    return true;
  }

  /// True if every vector of fields is as many bytes, aligned to their number.
  bool is_of_aligned_bytes() const {
    const auto is_whole = [&](int64_t codes) { return codes % (count_ * inner_x()) == 0; };
    int64_t within = 0;  // a byte
    for (int d = 0; d < p_.rank - 1; ++d) {
      const DeviceDimension& of = p_.dimensions[d];
      if (is_whole(of.x)) continue;
      if (of.x < 0 || of.x >= inner_x() || of.size > inner_x()) return false;
      within += (of.size - 1) * of.x;
    }
    return within < inner_x() && is_whole(p_.origin.x) && is_aligned(p_.x.data, count_);
  }

  bool set_steps() {
    auto inner = inner_step();
    if (!inner) return false;
    inner->x = count_ * inner_x();
    steps_ = {*inner};
    first_x_ = p_.origin.x;
    f_.y = p_.y + p_.origin.y * y_bytes_;
    if (!add_outer_steps([](int64_t codes) { return std::optional(codes); })) return false;
    const bool anywhere = f_.layout.order == FastOrder::fields ||  // found by is_of_aligned_bytes()
                          f_.layout.order == FastOrder::scattered;
    return is_aligned(f_.y, 16) && (anywhere || first_x_ % count_ == 0) &&
           std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
             return step.y % 16 == 0 && (anywhere || step.x % count_ == 0);
           });
  }

  /// Elements have the parameters of any groups.
  bool set_groups() {
    const GroupIndex& of = p_.groups;
    if (f_.kind != FastKind::integer || !f_.plain || f_.each) return false;
    if (f_.scale == FastParam::bits8 || f_.changes_scale) return false;
    if (p_.dimensions[p_.rank - 1].group_index != 1 || !are_entries_aligned()) return false;
    if (f_.layout.order != FastOrder::stream) return false;
    const int64_t zero_point = p_.loads_zero_point ? of.zero_point : 0;
    if (of.groups > kMostThreads) return false;
    if (std::max(of.scale, zero_point) > kMostThreads / of.groups) return false;
    f_.groups = static_cast<uint32_t>(of.groups);
    f_.group_scale = static_cast<uint32_t>(of.scale);
    f_.group_zero_point = static_cast<uint32_t>(zero_point);
    if (take_rows()) return true;
    for (const int64_t units : {8, 4, 2}) {
      if (take_units(units, 0)) return true;
    }
    return true;
  }

  /// A thread takes rows whose first words are neighbours.
  bool take_rows() {
    if (p_.x.row_step != 1 || !take_units(kRowsAtOnce, p_.x.row)) return false;
    f_.has_rows = has_word_rows() && has_params_of_rows();
    return true;
  }

  /// True if the entries of a vector can be loaded as vectors, too.
  bool are_entries_aligned() const {
    return is_aligned(p_.group_index, 16) && p_.origin.group_index % 4 == 0 &&
           std::all_of(steps_.begin(), steps_.end(),
                       [](const Step& step) { return step.group % 4 == 0; });
  }

  /// True if the words of a thread's rows can be loaded as vectors.
  bool has_word_rows() const {
    const FastLayout& l = f_.layout;
    const int64_t row = p_.x.row;
    if (l.order != FastOrder::stream || (l.bits != 4 && l.bits != 8)) return false;
    if (!is_aligned(l.data, 16) || l.word_step % 4 != 0 || first_x_ / row % 4 != 0) return false;
    int64_t within = first_x_ % row;  // the last vector of a row
    for (const Step& step : steps_) {
      if (step.x % (4 * row) == 0) continue;
      if (step.x < 0 || step.x >= row || step.first + step.size > row) return false;
      within += (step.first + step.size - 1) * step.x;
    }
    return within < row;
  }

  /// True if the parameters of a thread's rows can be loaded at once.
  bool has_params_of_rows() const {
    const auto fits = [&](const Codes& codes, int64_t bits, int64_t origin, int64_t of_group,
                          int64_t Step::*stride) {
      return is_aligned(codes.data, std::min<int64_t>(16, bits * kRowsAtOnce / 8)) &&
             origin % kRowsAtOnce == 0 && of_group % kRowsAtOnce == 0 &&
             std::all_of(steps_.begin(), steps_.end(),
                         [&](const Step& step) { return step.*stride % kRowsAtOnce == 0; });
    };
    if (f_.scale == FastParam::bits8 || f_.changes_scale || f_.scale_step != 1) return false;
    if (f_.groups != 0 && f_.scale == FastParam::float32 && !has_wide_scales(count_)) return false;
    if (!fits(p_.scale, p_.scale.bits, p_.origin.scale, f_.group_scale, &Step::scale)) return false;
    if (f_.zero_point == FastParam::constant) return true;
    const bool of_four = f_.zero_point == FastParam::bits4;
    if (!of_four && (f_.zero_point != FastParam::bits8 || f_.wraps)) return false;
    return p_.zero_point.sign == 0 && f_.zero_point_step == 1 &&
           fits(p_.zero_point, of_four ? 4 : 8, p_.origin.zero_point, f_.group_zero_point,
                &Step::zero_point);
  }

  /// Vectors of a thread, which have the same entries of the group index, are neighbours in a
  /// dimension of whole rows without entries; its stride is `x`, unless that is 0.
  bool take_units(int64_t units, int64_t x) {
    for (size_t i = 0; i + 1 < steps_.size(); ++i) {
      Step& step = steps_[i];
      Step outer, inner;
      if (step.group != 0 || step.has_blocks() || step.x % p_.x.row != 0) continue;
      if (x != 0 && step.x != x) continue;
      if (!divide(step, units, outer, inner)) continue;
      for (const int64_t stride : {step.scale, step.zero_point}) {
        if (stride < 0 || stride > kMostThreads) return false;
      }
      f_.scale_step = static_cast<uint32_t>(step.scale);
      f_.zero_point_step = static_cast<uint32_t>(step.zero_point);
      f_.units = static_cast<int32_t>(units);
      f_.unit_words = static_cast<uint32_t>(step.x / p_.x.row * p_.x.row_step);
      f_.unit_y = step.y;
      step = outer;
      return true;
    }
    return false;
  }

  /// Threads count rows first, whose words are neighbours. Of FastMode::rows the vectors of 32
  /// threads fill whole lines of 128 bytes of y; with a group index they would need the parameters
  /// of twice as many groups.
  void interleave_rows() {
    for (size_t rows = 0; rows + 1 < steps_.size(); ++rows) {
      const int64_t x = steps_[rows].x;
      if (x != p_.x.row && x != p_.x.row * f_.units) continue;
      const size_t vectors = steps_.size() - 1;
      const bool fills = f_.has_rows && f_.groups == 0 &&
                         count_first(steps_, rows, vectors, kTileVectors, kTileRows);
      if (!fills) (void)count_first(steps_, rows, vectors, kTileRows, kTileVectors);
      return;
    }
  }
};

}  // namespace

bool lay_out_rows(const Codes& codes, FastLayout& l) noexcept {
  switch (codes.order) {
    case CodeOrder::words:
      l.order = 32 % codes.bits == 0 ? FastOrder::stream : FastOrder::words;
      break;
    case CodeOrder::stream: l.order = FastOrder::stream; break;
    case CodeOrder::interleaved: l.order = FastOrder::interleaved; break;
    case CodeOrder::planes: l.order = FastOrder::planes; break;
    default: return false;
  }
  if (!is_aligned(codes.data, 4) || codes.row > kMostThreads / 8) return false;
  const int64_t words = codes.row / codes.in_word + 1;
  if (codes.row_step > kMostThreads || codes.word_step > kMostThreads / words) return false;
  set_codes(codes, l);
  set_row(codes.row, l);
  l.row_step = static_cast<uint32_t>(codes.row_step);
  l.word_step = static_cast<uint32_t>(codes.word_step);
  l.in_word = static_cast<uint32_t>(codes.in_word);
  l.by_word = SmallDivisor(l.in_word);
  l.word_bits = l.in_word * l.bits;
  return true;
}

std::optional<FastPlan> unpacked(const DevicePlan& p) noexcept { return Layouts(p).build(); }

std::optional<FastPlan> rows_at_once(const DevicePlan& p) noexcept {
  return Layouts(p).build_rows();
}

}  // namespace dequant::cuda

// Conditions and steps of squares.
#include "cuda/plan/squares.h"

#include <algorithm>
#include <cstddef>

#include "cuda/plan/aligned.h"
#include "cuda/plan/fast.h"
#include "cuda/plan/fast_draft.h"
#include "cuda/plan/thread_tiles.h"

namespace dequant::cuda {
namespace {

class Squares : FastDraft {
 public:
  explicit Squares(const DevicePlan& p) : FastDraft(p) {}

  std::optional<FastPlan> build() {
    if (!set_kind() || !set_order() || !find_rows() || !set_any_strides()) return std::nullopt;
    if (!set_steps() || !set_addresses()) return std::nullopt;
    set_zero_words();
    if (!f_.plain || !set_params()) return std::nullopt;
    if (f_.zero_point == FastParam::none && !f_.zero_words) return std::nullopt;
    if (!kernel_reads_params()) return std::nullopt;
    order_threads();
    return finish();
  }

 private:
  const DeviceDimension& columns() const { return p_.dimensions[p_.rank - 1]; }
  const DeviceDimension& rows() const { return p_.dimensions[rows_]; }
  int64_t of_square() const { return square_rows(p_.x.bits); }
  bool by_row() const { return f_.by_row; }

  /// Neighbours in x are in one word, the first of them in its lowest bits or interleaved.
  bool set_order() {
    if (f_.kind == FastKind::codebook) return false;
    const bool is_16 = f_.kind == FastKind::integer && p_.x.bits == 16;
    if (p_.x.bits != 4 && p_.x.bits != 8 && !is_16) return false;
    switch (p_.x.order) {
      case CodeOrder::of_element: return true;
      case CodeOrder::interleaved: f_.interleaved = true; break;
      case CodeOrder::words:
      case CodeOrder::stream: break;
      default: return false;
    }
    return p_.x.word_step == 1 && p_.x.row % of_square() == 0;
  }

  /// The dimension of which neighbours are a word.
  bool find_rows() {
    if (p_.rank < 2 || columns().y != 1 || columns().size % count_ != 0) return false;
    if (columns().x % of_square() != 0) return false;
    for (int d = 0; d < p_.rank - 1; ++d) {
      if (p_.dimensions[d].x == 1 && p_.dimensions[d].size % of_square() == 0) rows_ = d;
    }
    return rows_ >= 0;
  }

  int64_t zero_point_of(const DeviceDimension& d) const {
    return p_.loads_zero_point ? d.zero_point : 0;
  }
  bool has_params(const DeviceDimension& d) const { return d.scale != 0 || zero_point_of(d) != 0; }

  /// True if the plan is for the kernel of squares with simple parameters, of rows or of columns.
  bool is_simple() const { return p_.x.bits != 4 || (f_.kind == FastKind::integer && !by_row()); }

  /// Zero points are stored as codes of x are, and scales as floats of 16 or 32 bits.
  bool has_simple_params() const {
    if (f_.scale == FastParam::bits8 || f_.changes_scale || f_.wraps) return false;
    if (f_.interleaved || p_.zero_point_offset != 0) return false;
    if (f_.zero_point == FastParam::constant) return true;
    switch (p_.x.bits) {
      case 4: return f_.zero_point == FastParam::bits4;
      case 8: return f_.zero_point == FastParam::bits8;
      default: return f_.zero_point == FastParam::bits16;
    }
  }

  bool kernel_reads_params() const {
    if (is_simple()) return has_simple_params();
    return !by_row() || f_.scale != FastParam::bits8;
  }

  /// Of floats of 4 bits there is no kernel with parameters of rows.
  bool set_any_strides() {
    f_.by_row = f_.kind == FastKind::integer || p_.x.bits != 4;
    if (f_.by_row && set_strides()) return true;
    f_.by_row = false;
    return set_strides();
  }

  /// The strides within a square.
  bool set_strides() {
    const DeviceDimension& each = by_row() ? rows() : columns();
    const DeviceDimension& shared = by_row() ? columns() : rows();
    const int64_t neighbours = by_row() ? count_ : of_square();
    if (has_params(each) && each.block != 1) return false;
    if (has_params(shared) && shared.block % neighbours != 0) return false;
    for (const int64_t stride : {each.scale, zero_point_of(each)}) {
      if (stride < 0 || stride > kMostThreads) return false;
    }
    f_.square = true;
    f_.scale_step = static_cast<uint32_t>(each.scale);
    f_.zero_point_step = static_cast<uint32_t>(zero_point_of(each));
    f_.column_x = columns().x * p_.x.bits / 8;
    f_.row_y = rows().y * y_bytes_;
    return true;
  }

  /// A dimension with `size` neighbours as one index.
  bool add_step(const DeviceDimension& d, int64_t size, bool shared) {
    const int64_t x = d.x * size;
    if (x % of_square() != 0 || d.size % size != 0) return false;
    if (!is_modest(x) || !is_modest(d.y)) return false;
    Step step{d.size / size,         0,       d.block,         x * p_.x.bits / 8,
              d.y * size * y_bytes_, d.scale, zero_point_of(d)};
    if (shared && has_params(d)) {
      step.block = d.block / size;
    } else {
      step.scale *= size;
      step.zero_point *= size;
    }
    steps_.push_back(step);
    return true;
  }

  bool set_steps() {
    int64_t unit = 1;
    for (int d = 0; d < p_.rank; ++d) {
      const DeviceDimension& of = p_.dimensions[d];
      if (d > 0) unit *= of.size;
      const int64_t size = d == rows_ ? of_square() : d == p_.rank - 1 ? count_ : 1;
      const bool shared = d == rows_ ? !by_row() : d == p_.rank - 1 ? by_row() : true;
      if (!add_step(of, size, shared)) return false;
    }
    const Range e = fast_elements(p_);
    if (rows_ == 0) unit *= of_square();
    if (e.begin >= e.end || e.begin % unit != 0 || e.end % unit != 0) return false;
    steps_.front().first = e.begin / unit;
    steps_.front().size = (e.end - e.begin) / unit;
    return true;
  }

  bool set_addresses() {
    if (p_.origin.x % of_square() != 0) return false;
    f_.x = p_.x.data + p_.origin.x * p_.x.bits / 8;
    f_.y = p_.y + p_.origin.y * y_bytes_;
    f_.bits = p_.x.bits;
    return is_aligned(f_.x, 4) && is_aligned(f_.y, 16) && f_.column_x % 4 == 0 &&
           f_.row_y % 16 == 0 && std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
             return step.x % 4 == 0 && step.y % 16 == 0;
           });
  }

  /// The zero points of eight rows are a word of the same order.
  void set_zero_words() {
    const Codes& z = p_.zero_point;
    f_.zero_words = by_row() && p_.loads_zero_point && z.order == p_.x.order && z.bits == 4 &&
                    z.order == CodeOrder::interleaved && z.word_step == 1 &&
                    z.row % of_square() == 0 && p_.zero_point_overflow == ZeroPointOverflow::keep &&
                    rows().zero_point == 1 && p_.origin.zero_point % of_square() == 0 &&
                    is_aligned(z.data, 4);
    for (int d = 0; d < p_.rank; ++d) {
      const bool whole = d == rows_ || p_.dimensions[d].zero_point % of_square() == 0;
      f_.zero_words = f_.zero_words && whole;
    }
  }

  /// Threads next to each other read bytes that are, and write as much of a row as that allows.
  void order_threads() {
    const auto rows = static_cast<size_t>(rows_);
    const size_t vectors = steps_.size() - 1;
    // Threads with two squares read as many bytes side by side if they are half as many: the others
    // write whole lines of 128 bytes.
    if (take_two() && count_first(steps_, rows, vectors, kTileVectors, kTileRows)) return;
    const Step all = steps_[rows];
    if (!count_first(steps_, rows, vectors, kTileRows, kTileVectors)) return;
    if (all.size < kTileRows) continue_rows(all.size * all.x, vectors + 1);
  }

  /// Rows that are fewer than a tile's go on in another dimension, `x` bytes further: a block of
  /// gpt-oss has 16 bytes, and its neighbour the other half of a sector. Scales are neighbours too.
  void continue_rows(int64_t x, size_t before) {
    Step outer, inner;
    for (size_t i = 0; i < before; ++i) {
      if (steps_[i].x != x) continue;
      for (const int64_t size : {10, 8, 6, 4, 2}) {
        if (!divide(steps_[i], size, outer, inner)) continue;
        steps_[i] = outer;
        steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(before), inner);
        return;
      }
    }
  }

  /// A thread takes two squares whose columns are 8 bytes, and have the same parameters if columns
  /// have any. Floats of 4 bits have too few rows side by side (gpt-oss).
  bool take_two() {
    Step& step = steps_[static_cast<size_t>(rows_)];
    Step outer, inner;
    if (step.has_blocks() || step.x != 4 || (!by_row() && step.has_params())) return false;
    if (f_.kind == FastKind::floating && p_.x.bits == 4) return false;
    const auto is_whole = [](int64_t bytes) { return bytes % 8 == 0; };
    if (!is_aligned(f_.x, 8) || !is_whole(f_.column_x)) return false;
    for (const Step& other : steps_) {
      if (&other != &step && !is_whole(other.x)) return false;
    }
    // Fewer rows would leave threads that are side by side without bytes that are.
    if (step.size % (2 * kTileVectors) != 0 || !divide(step, 2, outer, inner)) return false;
    f_.units = 2;
    step = outer;
    return true;
  }

  int rows_ = -1;
};

}  // namespace

std::optional<FastPlan> squares(const DevicePlan& p) noexcept { return Squares(p).build(); }

}  // namespace dequant::cuda

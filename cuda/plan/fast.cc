// Dimensions in vectors and bytes, and the conditions of a FastPlan.
#include "cuda/plan/fast.h"

#include <algorithm>

#include "cuda/plan/fast_draft.h"
#include "cuda/plan/layouts.h"
#include "cuda/plan/squares.h"
#include "cuda/plan/thread_tiles.h"

namespace dequant::cuda {
namespace {

/// Divisible by 16, or by the bytes of a vector of codes if these are fewer.
struct Alignment {
  int64_t x;
  bool of_x(int64_t bytes) const { return bytes % x == 0; }
  static bool of_y(int64_t bytes) { return bytes % 16 == 0; }
};

class Vectors : FastDraft {
 public:
  explicit Vectors(const DevicePlan& p) : FastDraft(p) {}

  std::optional<FastPlan> build() {
    if (!set_kind() || !set_steps() || !set_addresses()) return std::nullopt;
    if (!set_params() || f_.zero_point == FastParam::none) return std::nullopt;
    if (f_.each && !has_params_of_each()) return std::nullopt;
    if (f_.column_x != 0 && f_.mode() == FastMode::ranges) return std::nullopt;
    if (down_columns_ || f_.column_x != 0) interleave(steps_);
    return finish();
  }

 private:
  /// The bytes from a code to the one `codes` further on; none if no bytes are.
  std::optional<int64_t> x_bytes(int64_t codes) const {
    const int64_t in_word = 32 / p_.x.bits;
    if (!is_modest(codes)) return std::nullopt;
    if (!down_columns_) {
      if (codes * p_.x.bits % 8 != 0) return std::nullopt;
      return codes * p_.x.bits / 8;
    }
    if (codes % p_.x.row == 0) return codes / p_.x.row * 4;
    if (codes % in_word == 0) return codes / in_word * p_.x.word_step * 4;
    return std::nullopt;
  }

  /// Of rows that run down columns: all but whole rows of a code's index stays within a row.
  bool stays_in_rows() const {
    int64_t within = 0;
    for (int d = 0; d < p_.rank; ++d) {
      const DeviceDimension& of = p_.dimensions[d];
      if (of.x < 0) return false;
      if (of.x % p_.x.row != 0) within += (of.size - 1) * of.x;
    }
    // A vector of rows of one code would be in several rows.
    return p_.origin.x == 0 && within < p_.x.row && p_.x.row > 1;
  }

  bool set_steps() {
    switch (p_.x.order) {
      case CodeOrder::of_element: break;
      case CodeOrder::high_first: f_.high_first = true; break;
      case CodeOrder::words:
      case CodeOrder::stream:
        if (32 % p_.x.bits != 0) return false;
        down_columns_ = p_.x.word_step != 1;
        if (down_columns_ ? !stays_in_rows() : p_.x.row * p_.x.bits % 32 != 0) return false;
        break;
      default: return false;
    }
    return set_inner() && add_outer_steps([&](int64_t codes) { return x_bytes(codes); });
  }

  /// Codes of 32 bits may be apart: as neighbours of a transposed matrix.
  bool set_columns() {
    const int64_t columns = p_.dimensions[p_.rank - 1].x;
    if (columns == 1) return true;
    if (columns < 1 || !is_modest(columns) || !is_modest(columns * count_ * 4)) return false;
    if (p_.x.bits != 32 || p_.x.order != CodeOrder::of_element) return false;
    f_.column_x = columns * 4;
    return true;
  }

  /// The innermost dimension, in vectors.
  bool set_inner() {
    const auto inner = inner_step();
    if (!inner || !set_columns()) return false;
    Step step = *inner;
    const int64_t in_word = 32 / p_.x.bits;
    if (!down_columns_) {
      step.x = f_.column_x != 0 ? count_ * f_.column_x : count_ * p_.x.bits / 8;
      steps_ = {step};
    } else if (count_ == in_word) {
      step.x = p_.x.word_step * 4;
      steps_ = {step};
    } else {  // two vectors of a word
      Step words, within;
      if (count_ * 2 != in_word || !divide(step, 2, words, within)) return false;
      words.x = p_.x.word_step * 4;
      within.x = 2;
      steps_ = {words, within};
    }
    return true;
  }

  bool set_addresses() {
    const int64_t bytes = count_ * p_.x.bits / 8;
    const bool by_words = down_columns_ || f_.column_x != 0;
    const Alignment alignment{std::min<int64_t>(bytes, by_words ? 4 : 16)};
    const auto x = x_bytes(p_.origin.x);
    if (!x) return false;
    f_.x = p_.x.data + *x;
    f_.y = p_.y + p_.origin.y * y_bytes_;
    f_.bits = p_.x.bits;
    const auto address = [](const uint8_t* data) {
      return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % 16);
    };
    return alignment.of_x(address(f_.x)) && Alignment::of_y(address(f_.y)) &&
           std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
             return alignment.of_x(step.x) && Alignment::of_y(step.y);
           });
  }

  bool down_columns_ = false;
};

}  // namespace

Range fast_elements(const DevicePlan& p) noexcept {
  int64_t unit = p.rank == 1 ? vector_elements(p.output) : 1;
  for (int d = 1; d < p.rank; ++d) unit *= p.dimensions[d].size;
  const int64_t begin = (p.elements.begin + unit - 1) / unit * unit;
  const int64_t end = p.elements.end / unit * unit;
  return {begin, std::max(begin, end)};
}

std::optional<FastPlan> fast_plan(const DevicePlan& p) noexcept {
  if (p.threads == 0 || p.has_blocks) return std::nullopt;
  if (auto rows = rows_at_once(p)) return rows;
  if (auto vectors = Vectors(p).build()) return vectors;
  if (auto of_squares = squares(p)) return of_squares;
  return unpacked(p);
}

DevicePlan with_elements(DevicePlan p, Range elements) noexcept {
  const auto ceil_div = [](int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); };
  const int64_t vector = vector_elements(p.output);
  p.elements = elements;
  if (!p.tiles) {
    p.threads = ceil_div(elements.end, vector) - elements.begin / vector;
    return p;
  }
  const int64_t inner = p.dimensions[p.rank - 1].size;
  p.first_row = elements.begin / inner;
  const int64_t tile_rows = ceil_div(ceil_div(elements.end, inner) - p.first_row, kTileRows);
  p.threads = tile_rows * p.tiles_of_row * kTileThreads;
  return p;
}

}  // namespace dequant::cuda

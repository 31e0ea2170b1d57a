// Explaining a wrong float tensor: every known mistake is made, and its floats are compared.
#include "format/diff/mistakes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "format/diff/bands.h"
#include "format/diff/steps.h"
#include "format/diff/variants.h"
#include "format/model/floats.h"

namespace dequant::format {
namespace {

constexpr int64_t kWindow = int64_t{1} << 22;
constexpr double kExplained = 0.999;
constexpr uint32_t kClose = 2;  ///< units in the last place
constexpr const char* kTransposed = "transposed";
constexpr const char* kRoundedTwice = "rounded_twice";
constexpr const char* kScaleRounded = "scale_rounded_first";
constexpr const char* kRounded = "rounded_otherwise";
constexpr const char* kZeroSign = "zero_sign";

constexpr std::array kMistakes{
    Mistake{kRoundedTwice, "results were rounded to float16 or bfloat16 first"},
    Mistake{kScaleRounded, "scales were rounded to float16 or bfloat16 first"},
    Mistake{"zero_point_off_by_one", "every zero point is one too large or one too small"},
    Mistake{"zero_point_overflow",
            "zero points that leave their bits by the added 1 were read the other way"},
    Mistake{"scale_not_applied", "the scale was not applied"},
    Mistake{"scale_inverted", "codes were divided by the scale, not multiplied"},
    Mistake{"scale_applied_twice", "the scale was applied twice"},
    Mistake{"second_scale_missing", "the scale of the whole tensor was not applied"},
    Mistake{
        "second_scale_inverted",
        "the scale of the whole tensor was multiplied where it divides, or the other way round"},
    Mistake{"nibbles_swapped", "the two codes of a byte were swapped"},
    Mistake{"order_not_undone", "the codes of a word were taken in the order in which they lie"},
    Mistake{"group_index_ignored", "the group index was ignored: groups were taken in order"},
    Mistake{"other_block_size", "blocks were spread evenly where the last block is short"},
    Mistake{kTransposed, "the tensor, or each of its matrices, is transposed"},
    Mistake{kRounded, "results are one or two units in the last place away"},
    Mistake{kZeroSign, "zeros have the other sign"},
};

/// A mistake, with the way to compute the floats that it gives: by the right recipe, by a changed
/// recipe, or by the right recipe and a rounding to another type before the last one.
struct Candidate {
  std::string_view key;
  const RecipeData* recipe = nullptr;
  std::optional<Element> through = {};

  bool is_rounding() const { return key == kRoundedTwice || key == kScaleRounded; }
};

/// How many elements the floats of a mistake explain. Zeros of any sign are equal: products of
/// negative scales and zero have a sign that hardly any program keeps.
struct Score {
  int64_t counted = 0;  ///< elements of which one of the two is not zero
  int64_t given = 0;    ///< of these, elements that the mistake gives
  int64_t equal = 0;    ///< of these, elements that it gives to the bit
  int64_t differing = 0;
  int64_t unexplained = 0;  ///< differing elements that it does not give

  double share_equal() const {
    return counted == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(counted);
  }
  bool explains() const {
    return differing > 0 && is_most(given, counted) && is_most(differing - unexplained, differing);
  }

 private:
  static bool is_most(int64_t part, int64_t whole) {
    return static_cast<double>(part) >= kExplained * static_cast<double>(whole);
  }
};

uint32_t steps(Element element, uint32_t a, uint32_t b) {
  if (element == Element::bfloat16) return steps_between<Element::bfloat16>(a, b);
  if (element == Element::float16) return steps_between<Element::float16>(a, b);
  return steps_between<Element::float32>(a, b);
}

bool is_equal(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;
}

bool is_close(Element element, float a, float b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return is_equal(a, b);
  return steps(element, std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)) <= kClose;
}

std::vector<float> widened(Element element, std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() * 8 / static_cast<size_t>(bits(element)));
  widen(element, bytes, out);
  return out;
}

/// Makes every mistake in a window of the tensor, and checks the one that gives most of it in all
/// other windows.
class Search {
 public:
  /// Where the shapes differ, all elements do.
  Search(const RecipeData& right, Shape shape, bool same_shape, Element element)
      : right_(right), shape_(shape), same_shape_(same_shape), element_(element) {}

  /// `wrong` are the elements of the window. `all`: the tensor has no others.
  Status find(Range window, std::vector<float> wrong, bool all) {
    DEQUANT_CHECK(enter(window, std::move(wrong)));
    keep_recipe_ = !all;
    if (same_shape_ && only_zeros_differ()) {
      take({kZeroSign}, {});
      return {};
    }
    if (shape_.size() >= 2 && all) try_transposed();
    if (!same_shape_) return {};
    consider({kRounded}, exact_);
    DEQUANT_CHECK(try_rounded_twice());
    return for_each_variant(right_, [this](std::string_view key, const RecipeData& data) {
      return try_recipe({key, &data});
    });
  }

  bool has_found() const { return best_.has_value(); }

  /// Adds another window to what the mistake that was found must explain.
  Status check(Range window, std::vector<float> wrong) {
    DEQUANT_CHECK(enter(window, std::move(wrong)));
    if (best_->key == kZeroSign) {
      if (!only_zeros_differ()) best_.reset();
      return {};
    }
    DEQUANT_TRY(const auto made, make(*best_));
    add(made, best_->is_rounding(), score_);
    return {};
  }

  /// The mistake, if it explains all windows.
  std::optional<Explanation> explanation() const {
    if (!best_ || (best_->key != kZeroSign && !score_.explains())) return {};
    const auto found = std::find_if(kMistakes.begin(), kMistakes.end(),
                                    [&](const Mistake& m) { return m.key == best_->key; });
    return Explanation{*found, score_.share_equal(), score_.unexplained};
  }

 private:
  Status enter(Range window, std::vector<float> wrong) {
    window_ = window;
    wrong_ = std::move(wrong);
    DEQUANT_TRY(exact_, compute(right_, element_));
    return {};
  }

  bool only_zeros_differ() const {
    return std::equal(exact_.begin(), exact_.end(), wrong_.begin(), wrong_.end(), is_equal);
  }

  /// Adds the elements of the window.
  void add(const std::vector<float>& made, bool is_rounding, Score& score) const {
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i] == 0 && wrong_[i] == 0 && exact_[i] == 0) continue;
      ++score.counted;
      const bool equal = is_equal(made[i], wrong_[i]);
      // Roundings in another order make a difference of one unit: only equal elements show these.
      const bool given = equal || (!is_rounding && is_close(element_, made[i], wrong_[i]));
      score.equal += equal ? 1 : 0;
      score.given += given ? 1 : 0;
      if (same_shape_ && is_equal(exact_[i], wrong_[i])) continue;
      ++score.differing;
      score.unexplained += given ? 0 : 1;
    }
  }

  Result<std::vector<float>> compute(const RecipeData& data, Element output) const {
    DEQUANT_TRY(const auto y, data.compute(window_, output));
    return widened(output, y);
  }

  Result<std::vector<float>> make(const Candidate& candidate) const {
    if (candidate.recipe != nullptr) return compute(*candidate.recipe, element_);
    if (!candidate.through) return exact_;
    DEQUANT_TRY(const auto wide, compute(right_, Element::float32));
    const auto once = widened(*candidate.through, rounded(wide, *candidate.through));
    return widened(element_, rounded(once, element_));
  }

  void consider(const Candidate& candidate, const std::vector<float>& made) {
    Score score;
    add(made, candidate.is_rounding(), score);
    if (!score.explains()) return;
    if (!best_ || score_.share_equal() < score.share_equal()) take(candidate, score);
  }

  /// Its recipe is copied where other windows need it.
  void take(Candidate candidate, const Score& score) {
    best_recipe_.reset();
    if (candidate.recipe != nullptr && keep_recipe_) {
      best_recipe_ = *candidate.recipe;
      candidate.recipe = &*best_recipe_;
    }
    best_ = candidate;
    score_ = score;
  }

  /// A changed recipe that cannot be computed explains nothing.
  Status try_recipe(const Candidate& candidate) {
    if (const auto made = make(candidate)) consider(candidate, *made);
    return {};
  }

  Status try_rounded_twice() {
    for (const Element through : {Element::bfloat16, Element::float16}) {
      if (through == element_) continue;
      const Candidate candidate{kRoundedTwice, nullptr, through};
      DEQUANT_TRY(const auto made, make(candidate));
      consider(candidate, made);
    }
    return {};
  }

  void try_transposed() {
    const auto rows = static_cast<size_t>(shape_[shape_.size() - 2]);
    const auto columns = static_cast<size_t>(shape_.back());
    std::vector<float> transposed(exact_.size());
    for (size_t matrix = 0; matrix < exact_.size(); matrix += rows * columns) {
      for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < columns; ++c)
          transposed[matrix + c * rows + r] = exact_[matrix + r * columns + c];
      }
    }
    consider({kTransposed}, transposed);
  }

  const RecipeData& right_;
  const Shape shape_;
  const bool same_shape_;
  const Element element_;
  Range window_;
  std::vector<float> wrong_;
  std::vector<float> exact_;
  bool keep_recipe_ = false;
  std::optional<Candidate> best_;
  std::optional<RecipeData> best_recipe_;  ///< of best_, where it is kept
  Score score_;                            ///< of best_
};

/// Reads the elements of a tensor from front to back, window by window.
class Windows {
 public:
  Windows(ModelFile& file, const DenseTensor& tensor, int64_t memory)
      : file_(file), tensor_(tensor), options_{.memory = memory} {}

  /// Starts over.
  Status open(int64_t most) {
    DEQUANT_TRY(bands_, Bands::open(file_, tensor_, options_, most));
    return {};
  }
  Status skip(int64_t elements) {
    for (int64_t at = 0; at < elements; at += kWindow) DEQUANT_CHECK(bands_->next(kWindow));
    return {};
  }
  Result<std::vector<float>> next(int64_t elements) {
    DEQUANT_TRY(const auto bytes, bands_->next(elements));
    return widened(tensor_.type().element, bytes);
  }

 private:
  ModelFile& file_;
  const DenseTensor& tensor_;
  const StreamOptions options_;
  std::unique_ptr<Bands> bands_;
};

}  // namespace

std::span<const Mistake> mistakes() { return kMistakes; }

Result<Explained> explain(ModelFile& a, const DenseTensor& right, ModelFile& b,
                          const DenseTensor& wrong, int64_t first, int64_t memory) {
  Explained out;
  if (!right.recipe) return out;
  DEQUANT_TRY(const int64_t count, element_count(right.shape));
  DEQUANT_TRY(const int64_t of_wrong, element_count(wrong.shape));
  if (count == 0 || of_wrong != count) return out;
  out.too_large = right.stored_bytes() > memory;
  if (out.too_large) return out;
  const bool all = count <= 4 * kWindow;
  const int64_t begin = all ? 0 : first / kWindow * kWindow;
  out.looked_at = {begin, all ? count : std::min(count, begin + kWindow)};
  const int64_t size = out.looked_at.end - begin;
  DEQUANT_TRY(const RecipeData data, RecipeData::read(a, right, memory));
  Windows windows(b, wrong, memory);
  DEQUANT_CHECK(windows.open(all ? size : kWindow));
  DEQUANT_CHECK(windows.skip(begin));
  const bool same_shape =
      std::equal(right.shape.begin(), right.shape.end(), wrong.shape.begin(), wrong.shape.end());
  Search search(data, right.shape, same_shape, wrong.type().element);
  DEQUANT_TRY(auto floats, windows.next(size));
  DEQUANT_CHECK(search.find(out.looked_at, std::move(floats), all));
  if (!all && search.has_found()) DEQUANT_CHECK(windows.open(kWindow));
  for (int64_t at = 0; at < count && !all && search.has_found(); at += kWindow) {
    const Range window{at, std::min(count, at + kWindow)};
    DEQUANT_TRY(auto others, windows.next(window.end - at));
    if (at != begin) DEQUANT_CHECK(search.check(window, std::move(others)));
  }
  out.explanation = search.explanation();
  return out;
}

}  // namespace dequant::format

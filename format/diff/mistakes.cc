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

constexpr int64_t kMostElements = int64_t{1} << 22;
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

/// How many elements the floats of a mistake explain. Zeros of any sign are equal: products of
/// negative scales and zero have a sign that hardly any program keeps.
struct Score {
  int64_t counted = 0;  ///< elements of which one of the two is not zero
  int64_t given = 0;    ///< of these, elements that the mistake gives
  int64_t equal = 0;    ///< of these, elements that it gives to the bit
  int64_t differing = 0;
  int64_t unexplained = 0;  ///< differing elements that it does not give

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

class Search {
 public:
  /// `wrong` are the elements of that range. Where the shapes differ, all elements do.
  Search(const RecipeData& right, Shape shape, bool same_shape, Range elements, Element element,
         std::vector<float> wrong)
      : right_(right),
        shape_(shape),
        same_shape_(same_shape),
        elements_(elements),
        element_(element),
        wrong_(std::move(wrong)) {}

  Result<std::optional<Explanation>> run() {
    DEQUANT_TRY(exact_, compute(right_, element_));
    if (same_shape_ && only_zeros_differ()) return std::optional(explanation(kZeroSign, 1, 0));
    if (shape_.size() >= 2) DEQUANT_CHECK(try_transposed());
    if (same_shape_) {
      consider(kRounded, exact_);
      DEQUANT_CHECK(try_rounded_twice());
      DEQUANT_CHECK(for_each_variant(right_, [this](std::string_view key, const RecipeData& data) {
        return try_recipe(key, data);
      }));
    }
    return std::move(best_);
  }

 private:
  Explanation explanation(std::string_view key, double equal, int64_t unexplained) const {
    const auto found = std::find_if(kMistakes.begin(), kMistakes.end(),
                                    [&](const Mistake& m) { return m.key == key; });
    return {*found, equal, unexplained, elements_};
  }

  bool only_zeros_differ() const {
    return std::equal(exact_.begin(), exact_.end(), wrong_.begin(), wrong_.end(), is_equal);
  }

  Score score_of(const std::vector<float>& made, bool is_rounding) const {
    Score score;
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
    return score;
  }

  Result<std::vector<float>> compute(RecipeData data, Element output) const {
    data.plan.output = output;
    DEQUANT_TRY(const auto y, data.compute(elements_));
    return widened(output, y);
  }

  void consider(std::string_view key, const std::vector<float>& made) {
    const Score score = score_of(made, key == kRoundedTwice || key == kScaleRounded);
    if (!score.explains()) return;
    const double equal = static_cast<double>(score.equal) / static_cast<double>(score.counted);
    if (!best_ || best_->equal < equal) best_ = explanation(key, equal, score.unexplained);
  }

  /// A changed recipe that cannot be computed explains nothing.
  Status try_recipe(std::string_view key, const RecipeData& data) {
    if (const auto made = compute(data, element_)) consider(key, *made);
    return {};
  }

  Status try_rounded_twice() {
    DEQUANT_TRY(const auto wide, compute(right_, Element::float32));
    for (const Element through : {Element::bfloat16, Element::float16}) {
      if (through == element_) continue;
      const auto twice = rounded(widened(through, rounded(wide, through)), element_);
      consider(kRoundedTwice, widened(element_, twice));
    }
    return {};
  }

  Status try_transposed() {
    const auto rows = static_cast<size_t>(shape_[shape_.size() - 2]);
    const auto columns = static_cast<size_t>(shape_.back());
    DEQUANT_TRY(const int64_t count, element_count(shape_));
    if (wrong_.size() != static_cast<size_t>(count)) return {};  // a part of the tensor
    std::vector<float> transposed(exact_.size());
    for (size_t matrix = 0; matrix < exact_.size(); matrix += rows * columns) {
      for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < columns; ++c)
          transposed[matrix + c * rows + r] = exact_[matrix + r * columns + c];
      }
    }
    consider(kTransposed, transposed);
    return {};
  }

  const RecipeData& right_;
  const Shape shape_;
  const bool same_shape_;
  const Range elements_;
  const Element element_;
  const std::vector<float> wrong_;
  std::vector<float> exact_;
  std::optional<Explanation> best_;
};

}  // namespace

std::span<const Mistake> mistakes() { return kMistakes; }

Result<std::optional<Explanation>> explain(ModelFile& a, const DenseTensor& right, ModelFile& b,
                                           const DenseTensor& wrong, int64_t first,
                                           int64_t memory) {
  if (!right.recipe || right.stored_bytes() > memory) return std::optional<Explanation>();
  DEQUANT_TRY(const int64_t count, element_count(right.shape));
  DEQUANT_TRY(const int64_t of_wrong, element_count(wrong.shape));
  if (count == 0 || of_wrong != count) return std::optional<Explanation>();
  const bool all = count <= 4 * kMostElements;
  const int64_t begin = all ? 0 : first / kMostElements * kMostElements;
  const Range looked_at{begin, all ? count : std::min(count, begin + kMostElements)};
  const int64_t size = looked_at.end - looked_at.begin;
  DEQUANT_TRY(const RecipeData data, RecipeData::read(a, right, memory));
  const StreamOptions options{.memory = memory};
  DEQUANT_TRY(const auto bands, Bands::open(b, wrong, options, all ? size : kMostElements));
  for (int64_t at = 0; at < looked_at.begin; at += kMostElements)
    DEQUANT_CHECK(bands->next(kMostElements));
  DEQUANT_TRY(const auto bytes, bands->next(size));
  const Element element = wrong.type().element;
  const bool same_shape =
      std::equal(right.shape.begin(), right.shape.end(), wrong.shape.begin(), wrong.shape.end());
  Search search(data, right.shape, same_shape, looked_at, element, widened(element, bytes));
  return search.run();
}

}  // namespace dequant::format

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
};

struct Score {
  int64_t counted = 0;  ///< elements of which one of the two is not zero
  int64_t equal = 0;
  int64_t close = 0;

  /// Roundings in another order make a difference of one unit: only equal elements show these.
  bool explains(bool is_rounding) const {
    return counted > 0 && static_cast<double>(is_rounding ? equal : close) >=
                              kExplained * static_cast<double>(counted);
  }
};

uint32_t steps(Element element, uint32_t a, uint32_t b) {
  if (element == Element::bfloat16) return steps_between<Element::bfloat16>(a, b);
  if (element == Element::float16) return steps_between<Element::float16>(a, b);
  return steps_between<Element::float32>(a, b);
}

Score score_of(Element element, const std::vector<float>& a, const std::vector<float>& b) {
  Score score;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0 && b[i] == 0) continue;
    ++score.counted;
    const auto left = std::bit_cast<uint32_t>(a[i]);
    const auto right = std::bit_cast<uint32_t>(b[i]);
    if (left == right) {
      ++score.equal;
      ++score.close;
    } else if (std::isfinite(a[i]) && std::isfinite(b[i]) &&
               steps(element, left, right) <= kClose) {
      ++score.close;
    }
  }
  return score;
}

std::vector<float> widened(Element element, std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() * 8 / static_cast<size_t>(bits(element)));
  widen(element, bytes, out);
  return out;
}

class Search {
 public:
  Search(const RecipeData& right, Shape shape, Element element, std::vector<float> wrong)
      : right_(right), shape_(shape), element_(element), wrong_(std::move(wrong)) {}

  Result<std::optional<Explanation>> run(bool same_shape) {
    if (shape_.size() >= 2) DEQUANT_CHECK(try_transposed());
    if (same_shape) {
      DEQUANT_CHECK(try_rounding());
      DEQUANT_CHECK(for_each_variant(right_, [this](std::string_view key, const RecipeData& data) {
        return try_recipe(key, data);
      }));
    }
    return std::move(best_);
  }

 private:
  Result<std::vector<float>> compute(RecipeData data, Element output) const {
    data.plan.output = output;
    DEQUANT_TRY(const auto y, data.compute(static_cast<int64_t>(wrong_.size())));
    return widened(output, y);
  }

  void consider(std::string_view key, const std::vector<float>& made) {
    const Score score = score_of(element_, made, wrong_);
    if (!score.explains(key == kRoundedTwice || key == kScaleRounded)) return;
    const double equal = static_cast<double>(score.equal) / static_cast<double>(score.counted);
    if (best_ && best_->equal >= equal) return;
    const auto found = std::find_if(kMistakes.begin(), kMistakes.end(),
                                    [&](const Mistake& m) { return m.key == key; });
    best_ = Explanation{*found, equal};
  }

  /// A changed recipe that cannot be computed explains nothing.
  Status try_recipe(std::string_view key, const RecipeData& data) {
    if (const auto made = compute(data, element_)) consider(key, *made);
    return {};
  }

  Status try_rounding() {
    DEQUANT_TRY(const auto exact, compute(right_, element_));
    consider(kRounded, exact);
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
    DEQUANT_TRY(const auto exact, compute(right_, element_));
    std::vector<float> transposed(exact.size());
    for (size_t matrix = 0; matrix < exact.size(); matrix += rows * columns) {
      for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < columns; ++c)
          transposed[matrix + c * rows + r] = exact[matrix + r * columns + c];
      }
    }
    consider(kTransposed, transposed);
    return {};
  }

  const RecipeData& right_;
  const Shape shape_;
  const Element element_;
  const std::vector<float> wrong_;
  std::optional<Explanation> best_;
};

}  // namespace

std::span<const Mistake> mistakes() { return kMistakes; }

Result<std::optional<Explanation>> explain(ModelFile& a, const DenseTensor& right, ModelFile& b,
                                           const DenseTensor& wrong, int64_t memory) {
  if (!right.recipe || right.stored_bytes() > memory) return std::optional<Explanation>();
  DEQUANT_TRY(const int64_t count, element_count(right.shape));
  DEQUANT_TRY(const int64_t of_wrong, element_count(wrong.shape));
  if (count == 0 || of_wrong != count) return std::optional<Explanation>();
  const int64_t looked_at = count <= 4 * kMostElements ? count : kMostElements;
  DEQUANT_TRY(const RecipeData data, RecipeData::read(a, right, memory));
  DEQUANT_TRY(const auto bands, Bands::open(b, wrong, {.memory = memory}, looked_at));
  DEQUANT_TRY(const auto bytes, bands->next(looked_at));
  const Element element = wrong.type().element;
  Search search(data, right.shape, element, widened(element, bytes));
  return search.run(
      std::equal(right.shape.begin(), right.shape.end(), wrong.shape.begin(), wrong.shape.end()));
}

}  // namespace dequant::format

// Tensors whose codes lie in another order than their floats, as in a transpose, and do not fit in
// memory: cut into bands, whose codes are collected from many places of the file.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "format/model/chunks.h"

namespace dequant::format {

/// Bytes of a stored tensor: runs of equal length, at equal distances in each of several
/// dimensions.
struct Runs {
  struct Step {
    int64_t count;
    int64_t stride;  ///< in bytes
  };

  int64_t begin = 0;             ///< the first byte
  int64_t length = 0;            ///< bytes of a run
  std::vector<Step> steps = {};  ///< outermost first

  int64_t bytes() const;
};

/// Some neighbours of one dimension of a strided plan, with one index of each dimension outside of
/// it and all indices of those inside: a range of the elements in the order of y.
struct CodeBand {
  Range elements;
  Plan plan;  ///< of the band alone, for codes and parameters that are one run after the other
  Runs codes = {};
  Runs scale = {};
  Runs zero_point = {};
  int64_t group_index = 0;  ///< the first entry
};

/// The bands of a plan.
class CodeBands {
 public:
  /// Bands of at most `most` bytes of codes. Nothing where the layout of codes or parameters
  /// cannot be cut: sizes that do not lie on whole words, slabs, and codes far apart in every
  /// dimension.
  static std::optional<CodeBands> of(const Plan& plan, int64_t most);

  /// The bands of a plan whose codes Chunks would have to hold in memory, where they do not fit in
  /// `parameter_bytes`; `output_bytes` as of Chunks. Nothing where no bands are needed, or where a
  /// stored tensor can only be read in order.
  static std::optional<CodeBands> needed(const Plan& plan, const RecipeReaders& readers,
                                         int64_t output_bytes, int64_t parameter_bytes);

  /// How many bands there are.
  int64_t count() const { return outer_ * bands_of_outer(); }

  /// A band, counted from front to back.
  Result<CodeBand> at(int64_t index) const;

  /// Calls each(const CodeBand&) for all bands, from front to back; ends at the first error.
  template <class Each>
  Status for_each(Each each) const {
    for (int64_t i = 0; i < count(); ++i) {
      DEQUANT_TRY(const CodeBand band, at(i));
      DEQUANT_CHECK(each(band));
    }
    return {};
  }

 private:
  explicit CodeBands(const Plan& plan) : plan_(plan) {}

  int64_t bands_of_outer() const {
    return (plan_.dimensions[dimension_].size + length_ - 1) / length_;
  }
  /// The band of these indices of the dimension, and of one combination of those outside of it.
  /// Nothing where it cannot be cut.
  std::optional<CodeBand> band(int64_t outer, Range indices) const;
  /// Says where codes or parameters are whose element for the first result is `first`, and how the
  /// band's plan finds them. False where they cannot be cut.
  bool place_codes(CodeBand& band, int64_t first) const;
  bool place_columns(CodeBand& band, int64_t first) const;
  bool place_scales(CodeBand& band, int64_t first) const;
  bool place_zero_points(CodeBand& band, int64_t first) const;
  /// The band with that index from front to back; nothing where it cannot be cut.
  std::optional<CodeBand> band(int64_t index) const {
    const int64_t begin = index % bands_of_outer() * length_;
    const int64_t end = std::min(plan_.dimensions[dimension_].size, begin + length_);
    return band(index / bands_of_outer(), {begin, end});
  }
  /// True where all indices of the dimension are whole words away from index 0.
  bool keeps_alignment(const Dimension& d) const;
  /// Bands whose indices are a multiple of so many begin with a word of codes, a block, and a word
  /// of zero points.
  int64_t step_of(const Dimension& d) const;

  Plan plan_;
  size_t dimension_ = 0;  ///< the one that is cut
  int64_t length_ = 0;    ///< its indices in a band
  int64_t outer_ = 1;     ///< combinations of the dimensions outside of it
};

/// The readers of the stored tensors of a band. `whole` must outlive them.
RecipeReaders readers_of(const CodeBand& band, const RecipeReaders& whole);

/// Must be called after the last band. Fails as StoredReader::finish() does.
Status finish(const RecipeReaders& whole);

}  // namespace dequant::format

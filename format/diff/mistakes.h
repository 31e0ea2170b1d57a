// Known mistakes of programs that dequantize, and which of these explains a float tensor that
// differs from what its quantized tensor is worth.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "format/model/model_file.h"

namespace dequant::format {

/// One way to dequantize wrongly, as a key and as a sentence: "scale_not_applied".
struct Mistake {
  std::string_view key;
  std::string_view what;
};

/// All mistakes that explain() knows.
std::span<const Mistake> mistakes();

/// The mistake that explains most of a tensor.
struct Explanation {
  Mistake mistake;
  double equal = 0;         ///< the share of the elements that the mistake gives to the bit
  int64_t unexplained = 0;  ///< elements that differ, and that the mistake does not give
};

/// What explain() returns.
struct Explained {
  std::optional<Explanation> explanation = {};  ///< none: no mistake explains all of the tensor
  Range looked_at = {};    ///< the elements in which every mistake was made; empty: none was
  bool too_large = false;  ///< none was made, as the stored tensors need more memory than there is
};

/// Finds the mistake by which `right`, a tensor with a recipe, became the floats `wrong`: makes
/// every mistake and compares. Looks at all of up to 2^24 elements; of longer tensors at 2^22
/// elements that begin at or before `first`, the first element that differs, and then makes the
/// mistake that gives most of these in all of the tensor. A mistake explains a tensor if it gives
/// 99.9 % of the elements that differ, and of all that are not zero, to within two units in the
/// last place, or to the bit if it is a mistake of roundings. Makes none where the stored tensors
/// need more than `memory` bytes. Fails as ModelFile::open() does.
Result<Explained> explain(ModelFile& a, const DenseTensor& right, ModelFile& b,
                          const DenseTensor& wrong, int64_t first, int64_t memory);

}  // namespace dequant::format

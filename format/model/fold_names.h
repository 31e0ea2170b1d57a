// Names that differ in numbers only, as one pattern: a checkpoint of 46,000 tensors on one screen.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dequant::format {

/// Some names as a pattern: "layers.{3..60}.experts.{0..255}.w{1,3}" stands for exactly the names
/// with one number of each list. A name without others like it is a pattern of its own.
struct FoldedNames {
  std::string pattern;
  std::vector<size_t> names;  ///< indices of the names, in the order given
};

/// Patterns for all names, each name in one of these, in the order of their first names. Decimal
/// numbers without leading zeros count as numbers, of a name the first eight. Takes time about
/// proportional to the length of all names.
std::vector<FoldedNames> fold_names(std::span<const std::string_view> names);

}  // namespace dequant::format

// How far a tensor is from another one of its shape, the reference: what dequant.diff() of Python
// tells.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/element.h"

namespace dequant::format {

/// Steps of a type (ULP), counted in bins: 0, 1, 2, 3-4, 5-8, ... A float32 is at most 2^32 steps
/// from another.
constexpr size_t kStepBins = 34;

/// "0", "1", "2", "3-4", ...
std::string step_label(size_t bin);

/// A pair of elements, and where they are.
struct ElementPair {
  std::vector<int64_t> index;
  double a = 0;
  double b = 0;
};

/// The slice at one index of an axis.
struct ChannelDifference {
  int64_t index = 0;
  double max_abs = 0;
  double sqnr_db = 0;
  int64_t mismatches = 0;
};

/// Of each element the error is b - a, in float64; a is the reference. A mismatch is a NaN or an
/// infinity that the other side lacks. Its error is infinite, unless mismatches are skipped: then
/// they are counted and otherwise left out. Infinities and NaN on both sides have no error.
struct Difference {
  std::vector<int64_t> shape;
  Element a_type = Element::float32;
  Element b_type = Element::float32;
  int64_t size = 0;       ///< elements of each side
  int64_t identical = 0;  ///< the same value, zeros of the same sign, NaN with any NaN
  int64_t nan_mismatches = 0;
  int64_t inf_mismatches = 0;  ///< infinite on one side alone, or of opposite signs
  double max_abs = 0;          ///< the largest |error|
  double mean_abs = 0;
  double rmse = 0;                       ///< the root of the mean squared error
  double sqnr_db = 0;                    ///< 10 log10(sum of a^2 / sum of squared errors)
  Element ulp_type = Element::float32;   ///< whose steps are counted: the coarser one of both
  std::array<int64_t, kStepBins> ulp{};  ///< elements by their steps; no mismatches
  double max_ulp = 0;                    ///< the most steps, a whole number, or infinity
  std::optional<ElementPair> worst;      ///< of the largest error, the first; none where none is
  std::optional<int64_t> axis;           ///< of worst_channels, from the front
  std::vector<ChannelDifference> worst_channels;  ///< that have errors, the worst first

  int64_t mismatches() const { return nan_mismatches + inf_mismatches; }
  bool exact() const { return identical == size; }
};

/// True where the first is worse: more mismatches, then a lower SQNR, then a larger error, then
/// more elements that differ.
bool is_worse(const Difference& one, const Difference& other);

}  // namespace dequant::format

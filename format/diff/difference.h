// The difference of two tensors of one shape, with the numbers of dequant.diff() of Python.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/element.h"

namespace dequant::format {

/// The number of bins for distances in steps of a type (ULP): 0, 1, 2, 3-4, 5-8, ... Two float32
/// are at most 2^32 steps apart.
constexpr size_t kStepBins = 34;

/// The steps of a bin: "0", "1", "2", "3-4", ...
std::string step_label(size_t bin);

/// A pair of elements, and their index.
struct ElementPair {
  std::vector<int64_t> index;
  double a = 0;
  double b = 0;
};

/// The difference of the elements at one index of an axis.
struct ChannelDifference {
  int64_t index = 0;
  double max_abs = 0;
  double sqnr_db = 0;
  int64_t mismatches = 0;
};

/// The error of an element is b - a in float64; a is the reference. A mismatch is a pair in which
/// one number is a NaN or an infinity and the other is not the same. The error of a mismatch is
/// infinite. If mismatches are skipped, they are counted but change no other number. Equal
/// infinities, and NaN in both tensors, have no error.
struct Difference {
  std::vector<int64_t> shape;
  Element a_type = Element::float32;
  Element b_type = Element::float32;
  int64_t size = 0;       ///< elements of each tensor
  int64_t identical = 0;  ///< the same value, zeros of the same sign, NaN with any NaN
  int64_t nan_mismatches = 0;
  int64_t inf_mismatches = 0;  ///< only one is infinite, or their signs differ
  double max_abs = 0;          ///< the largest |error|
  double mean_abs = 0;
  double rmse = 0;                       ///< the root of the mean squared error
  double sqnr_db = 0;                    ///< 10 log10(sum of a^2 / sum of squared errors)
  Element ulp_type = Element::float32;   ///< the type of the steps: coarser(a_type, b_type)
  std::array<int64_t, kStepBins> ulp{};  ///< elements in each bin, without mismatches
  double max_ulp = 0;                    ///< the largest distance in steps, or infinity
  std::optional<ElementPair> worst;  ///< the first pair with the largest error; none without errors
  std::optional<int64_t> axis;       ///< of worst_channels, counted from the front
  std::vector<ChannelDifference> worst_channels;  ///< channels with errors, the worst first

  int64_t mismatches() const { return nan_mismatches + inf_mismatches; }
  bool exact() const { return identical == size; }
};

/// True where `one` is worse: it has more mismatches, else a lower SQNR, else a larger error, else
/// more elements that differ.
bool is_worse(const Difference& one, const Difference& other);

}  // namespace dequant::format

// Statistics of the codes and the values of one tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dequant/plan.h"
#include "format/profile/extent.h"
#include "format/profile/histogram.h"

namespace dequant::format {

/// The ordinal of a code: its position in the order of the values of its type. The ordinal of an
/// integer is its value. Of a float type zero has 0, the smallest positive number 1, and its
/// negative -1. Returns nothing for NaN and infinity.
std::optional<int64_t> ordinal_of(Element element, uint32_t code);

/// The value of the code with an ordinal.
double number_at(Element element, int64_t ordinal);

/// Statistics of codes, by their ordinals.
struct CodeProfile {
  int64_t least = 0;  ///< the least ordinal that occurs
  int64_t greatest = 0;
  int64_t at_least = 0;  ///< elements with the least ordinal
  int64_t at_greatest = 0;
  int64_t elements = 0;         ///< elements that have an ordinal
  std::optional<int64_t> used;  ///< different ordinals that occur; none where 2^32 are possible
  int64_t possible = 0;         ///< different ordinals of the type
  int64_t lowest = 0;           ///< the lowest ordinal of the type
  int64_t highest = 0;
  Histogram ordinals{256, 0};

  /// Counts `times` codes of one ordinal.
  void add(int64_t ordinal, int64_t times);
  /// Adds the counts of another profile of the same type.
  void add(const CodeProfile& other);

 private:
  void add_ends(int64_t low, int64_t at_low, int64_t high, int64_t at_high, int64_t count);
};

/// Statistics of dequantized values.
struct ValueProfile {
  Extent extent;
  int64_t zeros = 0;
  int64_t infinities = 0;
  Histogram finite;  ///< of finite values

  /// Adds the counts of another profile.
  void add(const ValueProfile& other);
};

/// Statistics of one tensor.
struct Profile {
  CodeProfile codes;
  ValueProfile values;
  /// The members below are set: there are 2 to Profiler::kMostGroups scales, which are not in
  /// blocks, and no group index chooses them.
  bool has_groups = false;
  int64_t groups = 0;                 ///< scales that elements have
  int64_t silent = 0;                 ///< of these, scales whose values are all 0
  std::vector<int64_t> first_silent;  ///< indices of the first Profiler::kListed of these
};

/// Computes the profile of a dequantized tensor from ranges of it, in any order.
class Profiler {
 public:
  /// With more scales than this there are no statistics for each scale.
  static constexpr int64_t kMostGroups = int64_t{1} << 20;
  static constexpr size_t kListed = 5;  ///< entries of Profile::first_silent at most

  /// With `all` false only the extent of the values and the counts of zeros and infinities, in less
  /// time. The plan must outlive this object.
  Profiler(const Plan& plan, bool all);
  ~Profiler();

  /// Adds the packed results of a range of elements. Any number of threads may call it at once.
  void add(Range elements, std::span<const std::byte> results);

  /// Adds `count` packed codes, which begin on a byte. Any number of threads may call it at once.
  void add_codes(std::span<const std::byte> codes, int64_t count);

  /// The profile of all ranges. Must be called after the last add().
  Profile finish();

  /// The largest magnitude of the values of a scale; nothing where no element has the scale. Only
  /// where the profile has_groups.
  std::optional<float> largest(int64_t scale) const;

 private:
  struct Counts;

  std::unique_ptr<Counts> idle_counts();
  void put_back(std::unique_ptr<Counts> counts);
  void raise_largest(Range elements, std::span<const float> values);

  const Plan& plan_;
  const bool all_;
  std::mutex mutex_;                           ///< guards idle_
  std::vector<std::unique_ptr<Counts>> idle_;  ///< counters that no thread uses at present
  /// Of each scale: 0 without elements, or the bits of the largest magnitude of its values, and 1.
  std::vector<uint32_t> largest_;
};

}  // namespace dequant::format

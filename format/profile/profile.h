// What the codes and the values of one tensor look like.
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

/// Codes are told by their ordinal in the order of the numbers they stand for: integers by
/// themselves, of floats 0 is zero, 1 the least number above it, -1 its negative. Codes of NaN and
/// infinity have none.
std::optional<int64_t> ordinal_of(Element element, uint32_t code);

/// The number that the code at a ordinal stands for.
double number_at(Element element, int64_t ordinal);

struct CodeProfile {
  int64_t least = 0;  ///< ordinals of those that occur
  int64_t greatest = 0;
  int64_t at_least = 0;  ///< how many elements have it
  int64_t at_greatest = 0;
  int64_t elements = 0;         ///< that have a ordinal
  std::optional<int64_t> used;  ///< different ones that occur; none where 2^32 are possible
  int64_t possible = 0;         ///< different ones of the type
  int64_t lowest = 0;           ///< ordinals of the type
  int64_t highest = 0;
  Histogram ordinals{256, 0};

  void add(int64_t ordinal, int64_t times);
  /// As if each of the other's codes had been added.
  void add(const CodeProfile& other);

 private:
  void add_ends(int64_t low, int64_t at_low, int64_t high, int64_t at_high, int64_t count);
};

struct ValueProfile {
  Extent extent;
  int64_t zeros = 0;
  int64_t infinities = 0;
  Histogram finite;

  void add(const ValueProfile& other);
};

struct Profile {
  CodeProfile codes;
  ValueProfile values;
  // What is told for each scale, where there are several and not too many:
  bool has_groups = false;
  int64_t silent = 0;                 ///< scales of which every value is 0
  std::vector<int64_t> first_silent;  ///< the first few of them
};

/// Counts a dequantized tensor, a part at a time in any order.
class Profiler {
 public:
  /// More scales than this are not told apart.
  static constexpr int64_t kMostGroups = int64_t{1} << 20;
  static constexpr size_t kListed = 5;

  /// With `all` false only the extent of the values, their zeros and infinities are found: in less
  /// time.
  Profiler(const Plan& plan, bool all);
  ~Profiler();

  /// Counts a range of elements: its packed codes, which begin on a byte, and its packed results.
  /// On any thread, several at a time.
  void add(Range elements, std::span<const std::byte> codes, std::span<const std::byte> results);

  /// After the last part.
  Profile finish();

  /// The largest of all values of a scale, without sign. If the profile has groups.
  float largest(int64_t scale) const;

 private:
  struct Part;

  void raise_largest(Range elements, std::span<const float> values);

  const Plan& plan_;
  const bool all_;
  std::mutex turn_;                           ///< guards parts_
  std::vector<std::unique_ptr<Part>> parts_;  ///< those that no thread adds to
  std::vector<uint32_t> largest_;             ///< of each scale, bits of a float
};

}  // namespace dequant::format

// Statistics of the codes and the values of one tensor.
#include "format/profile/profile.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "dequant/codes.h"
#include "format/profile/group_runs.h"

namespace dequant::format {
namespace {

constexpr uint32_t kMagnitude = 0x7FFFFFFF;
constexpr uint32_t kInfinity = 0x7F800000;

// Codes.

/// Adds how often each byte occurs. Four tables of counts are added up at the end: equal bytes
/// often follow one another, and in one table each addition would wait for the store of the one
/// before.
void count_bytes(std::span<const std::byte> bytes, std::span<int64_t, 256> counts) {
  std::array<std::array<uint32_t, 256>, 4> tables{};
  for (size_t i = 0; i < bytes.size(); ++i) ++tables[i % 4][std::to_integer<size_t>(bytes[i])];
  for (const auto& table : tables) {
    for (size_t code = 0; code < 256; ++code) counts[code] += table[code];
  }
}

/// Adds how often each code of less than a byte occurs.
void count_small(Element element, std::span<const std::byte> packed, int64_t count,
                 std::span<int64_t> counts) {
  const auto width = static_cast<size_t>(bits(element));
  std::array<int64_t, 256> bytes{};
  int64_t done = 0;
  if (8 % width == 0) {
    // Counts bytes first, then the codes in each of the 256 bytes: that is less work.
    const size_t whole = static_cast<size_t>(count) * width / 8;  // the last byte may have a gap
    count_bytes(packed.first(whole), bytes);
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      for (size_t shift = 0; shift < 8; shift += width) {
        counts[byte >> shift & (counts.size() - 1)] += bytes[byte];
      }
    }
    done = static_cast<int64_t>(whole * 8 / width);
    bytes.fill(0);
  }
  std::array<std::byte, 4096> codes;
  while (done < count) {
    const auto n = static_cast<size_t>(std::min<int64_t>(codes.size(), count - done));
    unpack_codes(bits(element), packed, done, std::span(codes).first(n)).value();
    count_bytes(std::span(codes).first(n), bytes);
    done += static_cast<int64_t>(n);
  }
  for (size_t code = 0; code < counts.size(); ++code) counts[code] += bytes[code];
}

/// Adds how often each code of at most 16 bits occurs.
void count_codes(Element element, std::span<const std::byte> packed, int64_t count,
                 std::span<int64_t> counts) {
  if (bits(element) < 8) return count_small(element, packed, count, counts);
  const auto n = static_cast<size_t>(count);
  if (bits(element) == 8) return count_bytes(packed.first(n), counts.first<256>());
  for (size_t i = 0; i < 2 * n; i += 2) {
    ++counts[std::to_integer<size_t>(packed[i]) | std::to_integer<size_t>(packed[i + 1]) << 8];
  }
}

/// Counts of codes as counts of ordinals; zeros of both signs have one ordinal.
CodeProfile profile_of(Element element, std::span<const int64_t> counts) {
  CodeProfile profile;
  std::vector<std::pair<int64_t, int64_t>> ordinals;
  for (size_t code = 0; code < counts.size(); ++code) {
    if (const auto ordinal = ordinal_of(element, static_cast<uint32_t>(code))) {
      ordinals.emplace_back(*ordinal, counts[code]);
    }
  }
  std::sort(ordinals.begin(), ordinals.end());
  profile.lowest = ordinals.front().first;
  profile.highest = ordinals.back().first;
  profile.possible = profile.highest - profile.lowest + 1;
  profile.used = 0;
  bool same = false;  // the ordinal is that of the entry before, and an entry of it occurs
  for (size_t i = 0; i < ordinals.size(); ++i) {
    const auto [ordinal, times] = ordinals[i];
    same = same && ordinals[i - 1].first == ordinal;
    if (times > 0) {
      profile.add(ordinal, times);
      if (!same) ++*profile.used;
      same = true;
    }
  }
  return profile;
}

// Values.

/// value_of() of a float16, faster.
float half(uint16_t code) {
  const uint32_t magnitude = code & 0x7FFFU;
  const float number = magnitude >= 0x7C00 ? std::bit_cast<float>(magnitude << 13 | 0x7F800000U)
                       : magnitude < 0x0400
                           ? static_cast<float>(magnitude) * 0x1p-24F
                           : std::bit_cast<float>((magnitude << 13) + (112U << 23));
  return code >> 15 ? -number : number;
}

/// Packed results as float32.
void widen(Element element, std::span<const std::byte> bytes, std::vector<float>& floats) {
  const size_t count = bytes.size() * 8 / static_cast<size_t>(bits(element));
  floats.resize(count);
  if (element == Element::float32) {
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t code = 0;
    std::memcpy(&code, bytes.data() + 2 * i, 2);
    floats[i] = element == Element::float16
                    ? half(code)
                    : std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
  }
}

/// Maps the bits of a float to an integer that has the same order, and back.
constexpr int32_t in_order(uint32_t bits) {
  const auto number = static_cast<int32_t>(bits);
  return number ^ (number >> 31 & 0x7FFFFFFF);
}
constexpr float out_of_order(int32_t key) {
  return std::bit_cast<float>(key ^ (key >> 31 & 0x7FFFFFFF));
}

void add_values(std::span<const float> floats, bool histogram, ValueProfile& profile) {
  // Integer minimum and maximum, which compilers vectorize.
  int32_t least = INT32_MAX;
  int32_t greatest = INT32_MIN;
  uint32_t zeros = 0;
  uint32_t odd = 0;
  for (const float value : floats) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const int32_t key = in_order(bits);
    least = std::min(least, key);
    greatest = std::max(greatest, key);
    zeros += (bits & kMagnitude) == 0 ? 1 : 0;
    odd += (bits & kMagnitude) >= kInfinity ? 1 : 0;
  }
  profile.zeros += zeros;
  if (odd == 0) {
    profile.extent.widen(out_of_order(least), out_of_order(greatest),
                         static_cast<int64_t>(floats.size()));
    if (histogram) profile.finite.add(floats, out_of_order(least), out_of_order(greatest));
    return;
  }
  for (const float value : floats) {
    profile.extent.add(value);
    if (std::isinf(value)) ++profile.infinities;
    if (histogram && std::isfinite(value)) profile.finite.add(value);
  }
}

/// Sets `number` to the maximum of itself and `to`. Other threads may do the same at once.
void raise(uint32_t& number, uint32_t to) {
  const std::atomic_ref shared(number);
  uint32_t now = shared.load(std::memory_order_relaxed);
  while (to > now && !shared.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::optional<int64_t> ordinal_of(Element element, uint32_t code) {
  if (kind(element) == Kind::floating) {
    if (!std::isfinite(value_of(element, code))) return {};
    const uint32_t sign = 1u << (bits(element) - 1);
    const int64_t magnitude = code & (sign - 1);
    return (code & sign) != 0 ? -magnitude : magnitude;
  }
  return static_cast<int64_t>(value_of(element, code));
}

double number_at(Element element, int64_t ordinal) {
  if (kind(element) != Kind::floating) return static_cast<double>(ordinal);
  const uint32_t sign = ordinal < 0 ? 1u << (bits(element) - 1) : 0;
  return value_of(element, sign | static_cast<uint32_t>(std::abs(ordinal)));
}

void CodeProfile::add(int64_t ordinal, int64_t times) {
  if (times == 0) return;
  ordinals.add(static_cast<double>(ordinal), times);
  add_ends(ordinal, times, ordinal, times, times);
}

void CodeProfile::add(const CodeProfile& other) {
  if (other.elements == 0) return;
  ordinals.add(other.ordinals);
  add_ends(other.least, other.at_least, other.greatest, other.at_greatest, other.elements);
}

void CodeProfile::add_ends(int64_t low, int64_t at_low, int64_t high, int64_t at_high,
                           int64_t count) {
  if (elements == 0 || low < least) {
    least = low;
    at_least = 0;
  }
  if (elements == 0 || high > greatest) {
    greatest = high;
    at_greatest = 0;
  }
  if (low == least) at_least += at_low;
  if (high == greatest) at_greatest += at_high;
  elements += count;
}

void ValueProfile::add(const ValueProfile& other) {
  extent.add(other.extent);
  zeros += other.zeros;
  infinities += other.infinities;
  finite.add(other.finite);
}

/// Counters that one thread uses at a time.
struct Profiler::Counts {
  std::vector<int64_t> codes_seen;  ///< how often each code of up to 16 bits occurs
  CodeProfile codes;                ///< of larger codes
  ValueProfile values;
  std::vector<float> floats;

  void add_codes(Element element, std::span<const std::byte> packed, int64_t count) {
    if (bits(element) <= 16) {
      codes_seen.resize(size_t{1} << bits(element));
      count_codes(element, packed, count, codes_seen);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      codes.add(*ordinal_of(element, load_code(element, packed, i)), 1);
    }
  }
};

Profiler::Profiler(const Plan& plan, bool all) : plan_(plan), all_(all) {
  const bool counted =
      !plan.parameters.x_blocks.has_value() && plan.parameters.group_index.groups == 0;
  const int64_t groups = counted ? scale_count(plan) : 0;
  if (all && groups > 1 && groups <= kMostGroups) largest_.resize(static_cast<size_t>(groups));
}

Profiler::~Profiler() = default;

std::unique_ptr<Profiler::Counts> Profiler::idle_counts() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Counts>();
  std::unique_ptr<Counts> counts = std::move(idle_.back());
  idle_.pop_back();
  return counts;
}

void Profiler::put_back(std::unique_ptr<Counts> counts) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(counts));
}

void Profiler::add(Range elements, std::span<const std::byte> results) {
  std::unique_ptr<Counts> counts = idle_counts();
  widen(plan_.output, results, counts->floats);
  add_values(counts->floats, all_, counts->values);
  if (!largest_.empty()) raise_largest(elements, counts->floats);
  put_back(std::move(counts));
}

void Profiler::add_codes(std::span<const std::byte> codes, int64_t count) {
  if (!all_) return;
  std::unique_ptr<Counts> counts = idle_counts();
  counts->add_codes(plan_.input, codes, count);
  put_back(std::move(counts));
}

void Profiler::raise_largest(Range elements, std::span<const float> values) {
  for_each_group_run(plan_, elements, [&](int64_t at, int64_t count, int64_t scale, int64_t step) {
    const auto group_values = values.subspan(static_cast<size_t>(at), static_cast<size_t>(count));
    uint32_t* largest = largest_.data() + scale;
    uint32_t most = 0;
    for (const float value : group_values) {
      const uint32_t magnitude = (std::bit_cast<uint32_t>(value) & kMagnitude) + 1;
      if (step != 0) {
        raise(*largest, magnitude);
        largest += step;
      } else {
        most = std::max(most, magnitude);
      }
    }
    if (step == 0) raise(*largest, most);
  });
}

Profile Profiler::finish() {
  Counts sum;
  const bool counted = all_ && bits(plan_.input) <= 16;
  if (counted) sum.codes_seen.resize(size_t{1} << bits(plan_.input));
  for (const auto& counts : idle_) {
    for (size_t code = 0; code < counts->codes_seen.size(); ++code)
      sum.codes_seen[code] += counts->codes_seen[code];
    sum.codes.add(counts->codes);
    sum.values.add(counts->values);
  }
  Profile profile;
  profile.values = std::move(sum.values);
  if (counted) {
    profile.codes = profile_of(plan_.input, sum.codes_seen);
  } else {
    profile.codes = std::move(sum.codes);
    const bool is_signed = kind(plan_.input) == Kind::signed_integer;
    profile.codes.lowest = is_signed ? INT32_MIN : 0;
    profile.codes.highest = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
    profile.codes.possible = int64_t{1} << 32;
  }
  profile.has_groups = !largest_.empty() && element_count(plan_) != 0;
  if (!profile.has_groups) return profile;  // without elements no scale counts as silent
  for (size_t scale = 0; scale < largest_.size(); ++scale) {
    profile.groups += largest_[scale] != 0 ? 1 : 0;
    if (largest_[scale] != 1) continue;
    if (profile.first_silent.size() < kListed) {
      profile.first_silent.push_back(static_cast<int64_t>(scale));
    }
    ++profile.silent;
  }
  return profile;
}

std::optional<float> Profiler::largest(int64_t scale) const {
  const uint32_t found = largest_[static_cast<size_t>(scale)];
  return found == 0 ? std::nullopt : std::optional(std::bit_cast<float>(found - 1));
}

}  // namespace dequant::format

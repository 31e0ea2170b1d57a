// Codes of at most four bits: the results of all codes of a group are computed once, as a table,
// and the result of each element is looked up.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "kernel/kernel.h"

namespace dequant {

/// Entries of a table: as many as there are codes.
inline constexpr auto kTableEntries = static_cast<int64_t>(kShortResultGroup);
/// Most tables that are made at once, and their bytes.
inline constexpr int64_t kTables = 64;
inline constexpr int64_t kTableBytes = kTables * kTableEntries * int64_t{sizeof(float)};

/// What the look-ups of a call share.
struct LookUps {
  LookUpFn look_up;
  int64_t width;  ///< bits of a code
  int64_t size;   ///< bytes of a result
  const Helpers& helpers;
  bool stream;
};

/// The helper for codes of `width` bits, four or eight, and results of an output; null: the target
/// has none.
LookUpFn look_up_of(const Helpers& helpers, int64_t width, Element output) noexcept;

/// All codes of `width` bits, one after the other, kTables times.
const uint8_t* all_codes(int64_t width) noexcept;

/// True if groups of so many elements can have tables.
constexpr bool can_have_tables(int64_t group, int64_t count) noexcept {
  return group == 32 || (group >= 64 && (group >= count || group % 64 == 0));
}

/// Looks up `count` results from the tables of their groups.
void look_up_results(const LookUps& look_ups, const uint8_t* codes, uint8_t* y, int64_t count,
                     int64_t group, const uint8_t* tables) noexcept;

}  // namespace dequant

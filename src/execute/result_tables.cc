// Tables of results: made by run_stages() from all codes, looked up by a helper.
#include "execute/result_tables.h"

#include <algorithm>

#include "checked.h"
#include "execute/tiles.h"

namespace dequant {
namespace {

/// Codes of a table.
constexpr auto kCodes = static_cast<int64_t>(kShortResultGroup);
/// Tables that are made at once.
constexpr int64_t kTables = 64;
/// Results that are looked up into a buffer at once, where y does not start with a cache line.
constexpr int64_t kBuffered = 2048;

/// All codes, as often as there are tables: of four bits, and of a byte.
struct AllCodes {
  alignas(64) uint8_t pairs[kTables * kCodes / 2];
  alignas(64) uint8_t bytes[kTables * kCodes];
};
constexpr AllCodes kAllCodes = [] {
  AllCodes all{};
  for (size_t i = 0; i < sizeof all.bytes; ++i) {
    all.bytes[i] = static_cast<uint8_t>(i % kCodes);
    all.pairs[i / 2] |= static_cast<uint8_t>(i % kCodes << i % 2 * 4);
  }
  return all;
}();

/// The helper for results of the output; null: the target has none.
LookUpFn look_up_of(const Stages& stages, const ProductKernel& kernel) {
  const Helpers& helpers = stages.table.helpers;
  const size_t in_bytes = kernel.width == 4 ? 0 : 1;
  return stages.plan.output == Element::float32 ? helpers.look_up_floats[in_bytes]
                                                : helpers.look_up_words[in_bytes];
}

/// Looks up `count` results of `size` bytes from the tables of their groups.
void store_looked_up(const Stages& stages, const LookUpArgs& all, LookUpFn look_up, int64_t width,
                     int64_t size) {
  const bool lines = reinterpret_cast<uintptr_t>(all.y) % kCacheLine == 0;
  LookUpArgs args = all;
  args.stream = stages.stream && lines;
  if (!stages.stream || lines) return look_up(args);
  alignas(64) uint8_t results[kBuffered * sizeof(float)];
  args.y = results;
  const auto count = static_cast<int64_t>(all.count);
  const auto group = static_cast<int64_t>(all.group);
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = tile_size(ScaleLayout::per_group, i, count, group, kBuffered);
    args.codes = all.codes + i * width / 8;
    args.tables = all.tables + i / group * kCodes * size;
    args.count = static_cast<size_t>(n);
    look_up(args);
    stages.table.helpers.stream(results, all.y + i * size, args.count * static_cast<size_t>(size));
  }
}

}  // namespace

bool looks_up(const Stages& stages, const ProductKernel& kernel, ScaleLayout scale_layout,
              int64_t group, int64_t count) noexcept {
  using enum Element;
  const Element x = stages.plan.input;
  const bool in_bytes = kernel.width == 8 && (x == uint8 || x == uint4 || x == uint2);
  const bool codes = kernel.width == 4 || in_bytes;
  // A table of float32 for 32 elements saves nothing: checkpoint/uint4/float32/rounded_of_32.
  const bool groups = (group == 32 && stages.plan.output != float32) ||
                      (group >= 64 && (group >= count || group % 64 == 0));
  return scale_layout == ScaleLayout::per_group && codes && groups && count >= 32 &&
         code_bits(stages.plan) <= 4 && look_up_of(stages, kernel) != nullptr;
}

void run_looked_up(const Stages& stages, const ProductKernel& kernel, const uint8_t* codes,
                   uint8_t* y, int64_t count, int64_t group, const Params& params) noexcept {
  const uint8_t* all_codes = kernel.width == 4 ? kAllCodes.pairs : kAllCodes.bytes;
  const LookUpFn look_up = look_up_of(stages, kernel);
  const int64_t size = bits(stages.plan.output) / 8;
  alignas(64) uint8_t tables[kTables * kCodes * sizeof(float)];
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = std::min(count - i, group >= count ? count : kTables * group);
    run_stages({stages.plan, stages.table, false}, kernel, ScaleLayout::per_group, all_codes,
               tables, ceil_div(n, group) * kCodes, kCodes, advanced(params, i / group));
    store_looked_up(stages,
                    {.codes = codes + i * kernel.width / 8,
                     .y = y + i * size,
                     .count = static_cast<size_t>(n),
                     .group = static_cast<size_t>(group),
                     .tables = tables},
                    look_up, kernel.width, size);
  }
}

}  // namespace dequant

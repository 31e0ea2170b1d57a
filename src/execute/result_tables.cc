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

/// Looks up `count` results from the tables of their groups.
void store_looked_up(const Stages& stages, const LookUpArgs& all, LookUpFn look_up, int64_t width) {
  const bool lines = reinterpret_cast<uintptr_t>(all.y) % kCacheLine == 0;
  LookUpArgs args = all;
  args.stream = stages.stream && lines;
  if (!stages.stream || lines) return look_up(args);
  alignas(64) uint8_t results[kBuffered * 2];
  args.y = results;
  const auto count = static_cast<int64_t>(all.count);
  const auto group = static_cast<int64_t>(all.group);
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = tile_size(ScaleLayout::per_group, i, count, group, kBuffered);
    args.codes = all.codes + i * width / 8;
    args.tables = all.tables + i / group * kCodes;
    args.count = static_cast<size_t>(n);
    look_up(args);
    stages.table.helpers.stream(results, all.y + 2 * i, 2 * args.count);
  }
}

}  // namespace

bool looks_up(const Plan& plan, const ProductKernel& kernel, ScaleLayout scale_layout,
              int64_t group, int64_t count) noexcept {
  using enum Element;
  const Element x = plan.input;
  const bool in_bytes = kernel.width == 8 && (x == uint8 || x == uint4 || x == uint2);
  const bool codes = kernel.width == 4 || in_bytes;
  const bool groups = group == 32 || (group >= 64 && (group >= count || group % 64 == 0));
  return scale_layout == ScaleLayout::per_group && bits(plan.output) == 16 && codes && groups &&
         code_bits(plan) <= 4 && count >= 32;
}

void run_looked_up(const Stages& stages, const ProductKernel& kernel, const uint8_t* codes,
                   uint8_t* y, int64_t count, int64_t group, const Params& params) noexcept {
  const bool pairs = kernel.width == 4;
  const Helpers& helpers = stages.table.helpers;
  alignas(64) uint16_t tables[kTables * kCodes];
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = std::min(count - i, group >= count ? count : kTables * group);
    const int64_t groups = ceil_div(n, group);
    run_stages({stages.plan, stages.table, false}, kernel, ScaleLayout::per_group,
               pairs ? kAllCodes.pairs : kAllCodes.bytes, reinterpret_cast<uint8_t*>(tables),
               groups * kCodes, kCodes, advanced(params, i / group));
    store_looked_up(stages,
                    {.codes = codes + i * kernel.width / 8,
                     .y = y + 2 * i,
                     .count = static_cast<size_t>(n),
                     .group = static_cast<size_t>(group),
                     .tables = tables},
                    pairs ? helpers.look_up_pairs : helpers.look_up_bytes, kernel.width);
  }
}

}  // namespace dequant

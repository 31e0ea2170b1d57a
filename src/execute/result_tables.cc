// Look-ups, also of results that are streamed from within a cache line on.
#include "execute/result_tables.h"

#include "execute/tiles.h"

namespace dequant {
namespace {

/// Results that are looked up into a buffer at once, where y does not start with a cache line.
constexpr int64_t kBuffered = 2048;

/// All codes, as often as there are tables: of four bits, and of a byte.
struct AllCodes {
  alignas(64) uint8_t pairs[kTables * kTableEntries / 2];
  alignas(64) uint8_t bytes[kTables * kTableEntries];
};
constexpr AllCodes kAllCodes = [] {
  AllCodes all{};
  for (size_t i = 0; i < sizeof all.bytes; ++i) {
    all.bytes[i] = static_cast<uint8_t>(i % kTableEntries);
    all.pairs[i / 2] |= static_cast<uint8_t>(i % kTableEntries << i % 2 * 4);
  }
  return all;
}();

}  // namespace

LookUpFn look_up_of(const Helpers& helpers, int64_t width, Element output) noexcept {
  const size_t in_bytes = width == 4 ? 0 : 1;
  return output == Element::float32 ? helpers.look_up_floats[in_bytes]
                                    : helpers.look_up_words[in_bytes];
}

const uint8_t* all_codes(int64_t width) noexcept {
  return width == 4 ? kAllCodes.pairs : kAllCodes.bytes;
}

void look_up_results(const LookUps& look_ups, const uint8_t* codes, uint8_t* y, int64_t count,
                     int64_t group, const uint8_t* tables) noexcept {
  const bool lines = reinterpret_cast<uintptr_t>(y) % kCacheLine == 0;
  LookUpArgs args{.codes = codes,
                  .y = y,
                  .count = static_cast<size_t>(count),
                  .group = static_cast<size_t>(group),
                  .tables = tables,
                  .stream = look_ups.stream && lines};
  if (!look_ups.stream || lines) return look_ups.look_up(args);
  alignas(64) uint8_t results[kBuffered * sizeof(float)];
  args.y = results;
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = tile_size(ScaleLayout::per_group, i, count, group, kBuffered);
    args.codes = codes + i * look_ups.width / 8;
    args.tables = tables + i / group * kTableEntries * look_ups.size;
    args.count = static_cast<size_t>(n);
    look_ups.look_up(args);
    look_ups.helpers.stream(results, y + i * look_ups.size, static_cast<size_t>(n * look_ups.size));
  }
}

}  // namespace dequant

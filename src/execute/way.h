// The way: how run() carries out a plan, decided once for a call, as plain data. Chunks follow the
// way. What a chunk decides itself depends on addresses alone: where cache lines of the output
// start, and where packed codes start within a byte.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "dequant/plan.h"
#include "kernel/kernel.h"
#include "plan/regions.h"

namespace dequant {

/// How the elements of a chunk get their scales and zero points. The comment names a cell of
/// `dequant bench` that is slower without the loop.
enum class Loop : uint8_t {
  one_scale,  ///< one kernel call for a chunk. */per_tensor
  formula,    ///< the same for the documented rules of ranges. ranges/*/documented_*
  groups,     ///< kernels take one scale for each group. */blocked_32_last, */per_axis_first
  rows,       ///< kernels take one scale for each element of a row. */per_axis_last
  repeated,   ///< short rows that share their scales: one call for many. cliff/*/axis_last_of_64
  expanded,   ///< short groups: scales copied, one for each element. cliff/*/axis_1e6_of_3, 256Ki
  columns,    ///< `expanded` for some columns of all rows. cliff/*/axis_1e6_of_3, 256Mi
  strided,    ///< tiles of a strided plan: StridedWay. strided/*
  row_tiles,  ///< codes unpacked for several rows of y. checkpoint/uint8/*/down_columns_*
  /// Codes unpacked for several rows of y, results transposed. checkpoint/uint8/*/*_indexed
  index_tiles,
  column_tiles,  ///< pairs of 4-bit codes transposed. checkpoint/float4e2m1/*/columns_of_32
  pair_tiles,    ///< bytes split to the codes of two rows. checkpoint/int4/*/row_pairs_of_128
  blocks,        ///< blocks unpacked to codes and scales, tile by tile
};

/// How one phase of a strided plan is carried out: src/execute/loop_order.h has the phases.
struct StridedWay {
  int64_t elements = 0;
  int64_t row = 0;          ///< elements of the innermost dimension
  bool transposes = false;  ///< the innermost two dimensions, through a tile of codes
  /// Rows that are contiguous in x and in y and have so many elements or more are dequantized where
  /// they lie, other rows through a tile; INT64_MAX: all through a tile.
  int64_t in_place = 0;
  int64_t most_in_place = 0;  ///< most elements of a row in place for one kernel call
  bool shares_rows = false;   ///< rows that have the same scales go to the kernel for many rows

  std::string_view name() const noexcept;

  friend bool operator==(const StridedWay&, const StridedWay&) = default;
};

struct Way {
  Loop loop = Loop::one_scale;
  bool stream = false;       ///< results are stored past the caches
  bool shares_rows = false;  ///< Loop::rows, columns: as in StridedWay
  bool unpacks = false;      ///< codes are unpacked to bytes before kernels read them
  bool stages = false;       ///< kernels write float32 products to a tile, which is then finished
  bool prefetches = false;   ///< stored scales and zero points are prefetched
  int64_t chunk = 0;         ///< elements of a task; Loop::columns: columns of all rows
  int64_t chunks = 1;
  /// Loop::groups, rows: scales converted at once. Loop::repeated, expanded: elements of one kernel
  /// call.
  int64_t tile = 0;
  int64_t tile_of_one_row = 0;  ///< Loop::rows: `tile` where no other row has the same scales
  std::array<StridedWay, 2> strided{};  ///< Loop::strided: whole blocks, then the rest

  /// A name for people and tests: "groups", "rows, shared", "strided: transpose".
  std::string name() const;

  friend bool operator==(const Way&, const Way&) = default;
};

/// What a way depends on besides the plan and the target.
struct Call {
  Range elements;   ///< of the plan
  int64_t y_bytes;  ///< from the first to the last byte of y in the whole call, gaps included
  Stores stores;
  uint64_t y_address;              ///< of y; only the offset within a cache line matters
  const Region* region = nullptr;  ///< of a strided plan: what `elements` count; null: all of it
};

/// Without elements the way has no chunks.
Way way_of(const Plan& plan, const Table& table, const Call& call) noexcept;

/// Groups of so many elements or more may have a kernel call each.
inline constexpr int64_t kLongGroup = 2048;

/// The kernel for rows that share scales pays from so many rows on.
inline constexpr int64_t kSharedRows = 4;

/// Columns of a chunk of Loop::columns.
inline constexpr int64_t kColumns = 2048;

}  // namespace dequant

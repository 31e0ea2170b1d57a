// Plans of blocks: tiles of blocks are unpacked to codes and scales, which a kernel turns into
// results.
#pragma once

#include <cstdint>

#include "execute/chunk.h"

namespace dequant {

/// Elements of a tile: whole blocks of every type.
inline constexpr int64_t kBlockTile = 4096;

/// Dequantizes way.chunk elements of whole blocks, of those in job.elements. `first` is the first
/// of them, counted from the start of the block with job.elements.begin.
void run_blocks(const Job& job, int64_t first) noexcept;

}  // namespace dequant

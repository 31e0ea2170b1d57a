// The scalar definition of every block type. A block is unpacked to codes of int8, and a scale for
// each group of codes, some with an offset: the element is fl32(fl32(code * scale) + offset). Every
// vector function must give the same codes, and the same bits of scales and offsets, but for those
// of NaN.
#pragma once

#include <cstddef>
#include <cstdint>

#include "block/traits.h"
#include "dequant/block.h"

namespace dequant {

/// Where the parts of unpacked blocks go.
struct UnpackedBlocks {
  int8_t* codes;          ///< one for each element
  float* scales;          ///< one for each group
  float* offsets;         ///< one for each group; not written by types that have none
  bool in_place = false;  ///< codes that the blocks have as bytes need not be copied
};

/// Unpacks `count` blocks, which follow one another.
using UnpackBlocksFn = void (*)(const uint8_t* blocks, size_t count, const UnpackedBlocks& to);

/// The scalar function of a type, one of blocks.def. `blocks` may have any alignment and any bytes.
UnpackBlocksFn reference_unpack_blocks(BlockType type) noexcept;

}  // namespace dequant

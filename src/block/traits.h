// The rows of the list of block types, for use inside the library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dequant/block.h"

namespace dequant {

struct BlockTraits {
  std::string_view name;
  int gguf_id;
  int64_t elements;
  int64_t bytes;
  int64_t group;  ///< elements that share a scale, and an offset if there are any
  bool has_offsets;
};

inline constexpr std::array kBlockTraits{
#define DEQUANT_BLOCK(name, id, elements, bytes, group, offsets) \
  BlockTraits{#name, id, elements, bytes, group, offsets != 0},
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

inline constexpr size_t kBlockTypes = kBlockTraits.size();

/// The traits of a number that is no enumerator of BlockType.
inline constexpr BlockTraits kUnknownBlock{"unknown", -1, 1, 1, 1, false};

constexpr const BlockTraits& traits(BlockType type) noexcept {
  const auto i = static_cast<size_t>(type);
  return i < kBlockTypes ? kBlockTraits[i] : kUnknownBlock;
}

/// The first of the codes that lie in a block as bytes, one group in a block; 0 for other types.
constexpr int64_t codes_in_place(BlockType type) noexcept {
  switch (type) {
    case BlockType::Q8_0: return 2;
    case BlockType::Q8_1:
    case BlockType::Q8_K: return 4;
    default: return 0;
  }
}

/// The most elements of a block, and the fewest that share a scale.
inline constexpr int64_t kMostBlockElements = 256;
inline constexpr int64_t kLeastBlockGroup = 16;

}  // namespace dequant

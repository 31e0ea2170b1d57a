// Whole blocks by the definitions of their codes, scales and offsets.
#include "block/unpack.h"

#include <array>

#include "block/codecs.h"

namespace dequant {
namespace {

template <BlockType kType>
void unpack_one(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  using Codec = block::Codec<kType>;
  constexpr BlockTraits kTraits = traits(kType);
  constexpr auto kGroups = static_cast<int>(kTraits.elements / kTraits.group);
  for (int g = 0; g < kGroups; ++g) {
    to.scales[g] = Codec::scale(block, g);
    if constexpr (kTraits.has_offsets) to.offsets[g] = Codec::offset(block, g);
  }
  for (int i = 0; i < static_cast<int>(kTraits.elements); ++i) {
    to.codes[i] = static_cast<int8_t>(Codec::code(block, i));
  }
}

template <BlockType kType>
void unpack_all(const uint8_t* blocks, size_t count, const UnpackedBlocks& to) {
  constexpr BlockTraits kTraits = traits(kType);
  constexpr auto kGroups = static_cast<size_t>(kTraits.elements / kTraits.group);
  for (size_t i = 0; i < count; ++i) {
    float* offsets = kTraits.has_offsets ? to.offsets + i * kGroups : nullptr;
    unpack_one<kType>(
        blocks + i * static_cast<size_t>(kTraits.bytes),
        {to.codes + i * static_cast<size_t>(kTraits.elements), to.scales + i * kGroups, offsets});
  }
}

constexpr std::array<UnpackBlocksFn, kBlockTypes> kUnpack{
#define DEQUANT_BLOCK(name, ...) unpack_all<BlockType::name>,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

}  // namespace

UnpackBlocksFn reference_unpack_blocks(BlockType type) noexcept {
  return kUnpack[static_cast<size_t>(type)];
}

}  // namespace dequant

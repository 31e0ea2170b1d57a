// The declaration of the definitions in codecs.h.
#pragma once

#include "block/fields.h"
#include "dequant/block.h"

namespace dequant::block {

template <BlockType kType>
struct Codec;

/// One scale for all elements, a float16 at a position in bytes.
template <int kAt>
struct OneScale {
  DEQUANT_HD static float scale(const uint8_t* block, int) noexcept { return half(block + kAt); }
};

}  // namespace dequant::block

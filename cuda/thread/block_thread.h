// What one thread of a kernel of blocks does: some whole vectors of a BlockPlan, or one element.
#pragma once

#include <cstdint>

#include "block/codecs.h"
#include "block/traits.h"
#include "cuda/plan/block_plan.h"
#include "cuda/thread/block_iq.h"
#include "cuda/thread/block_k.h"
#include "cuda/thread/block_legacy.h"
#include "cuda/thread/block_tables.h"
#include "cuda/thread/block_ternary.h"
#include "cuda/thread/fast_store.h"

namespace dequant::cuda {

/// The elements from i of a block on, before a tensor scale. `sum` grows by the magnitudes of scale
/// and offset.
template <BlockType kType, int kCount>
DEQUANT_HD inline Vector<float, kCount> block_vector(const uint8_t* block, int i,
                                                     float& sum) noexcept {
  using Vectors = BlockVectors<kType>;
  const float scale = Vectors::scale(block, i);
  Vector<float, kCount> y = Vectors::template codes<kCount>(block, i);
  sum = sum + magnitude_of(scale);
  for (int j = 0; j < kCount; ++j) y[j] = y[j] * scale;
  if constexpr (traits(kType).has_offsets) {
    const float offset = Vectors::offset(block, i);
    sum = sum + magnitude_of(offset);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] + offset;
  }
  return y;
}

/// The tensor scale of a block by its number.
DEQUANT_HD inline float block_factor(const BlockPlan& p, uint32_t number) noexcept {
  const uint32_t row = p.by_row.quotient(p.in_row + number);
  return std::bit_cast<float>(uint32_t{reinterpret_cast<const Word*>(p.factors)[row]});
}

template <Element kOutput>
using BlockVectorsOfThread = Vector<Vector<float, kVector<kOutput>>, kBlockVectorsOfThread>;

/// Stores the vectors of a thread, none of whose values is NaN unless `careful`.
template <Element kOutput>
DEQUANT_HD inline void store_block_vectors(uint8_t* to, const BlockVectorsOfThread<kOutput>& y,
                                           bool careful) noexcept {
  const auto store = [&](bool any_is_careful) {
    for (int j = 0; j < kBlockVectorsOfThread; ++j) {
      store_fast<kOutput>(to + static_cast<uint32_t>(j) * kThreadsOfBlock * 16, y[j],
                          any_is_careful);
    }
  };
  // One branch for all of them.
  if (careful) return store(true);
  store(false);
}

/// The body of the kernel of vectors of kCount elements. All of a thread are computed before the
/// first store, so that loads need not wait for stores, which might change x for all that compilers
/// know.
///
/// No result is NaN if the magnitudes of scales, offsets and tensor scales have a sum below 2^120:
/// codes are at most 2^7, so that products and their sums with offsets are numbers, and their
/// products with tensor scales are numbers or infinite.
template <BlockType kType, int kCount>
DEQUANT_HD inline void run_block_vectors(const BlockPlan& p, uint32_t thread) noexcept {
  constexpr auto kInBlock = static_cast<uint32_t>(traits(kType).elements / kCount);
  constexpr auto kBytes = static_cast<uint32_t>(traits(kType).bytes);
  constexpr uint32_t kBlocksApart = kThreadsOfBlock / kInBlock;
  static_assert(kThreadsOfBlock % kInBlock == 0 && kLeastBlockGroup % kCount == 0);
  const uint32_t before = thread / kThreadsOfBlock * kThreadsOfBlock;
  const uint32_t vector = thread + before * (kBlockVectorsOfThread - 1);
  const uint32_t number = (p.first + vector) / kInBlock;
  const int i = static_cast<int>((p.first + vector) % kInBlock) * kCount;
  const uint8_t* block = p.x + uint64_t{number} * kBytes;
  float sum = 0;
  Vector<Vector<float, kCount>, kBlockVectorsOfThread> y;
  for (int j = 0; j < kBlockVectorsOfThread; ++j) {
    const uint32_t apart = static_cast<uint32_t>(j) * kBlocksApart;
    y[j] = block_vector<kType, kCount>(block + apart * kBytes, i, sum);
  }
  if (p.factors != nullptr) {
    for (int j = 0; j < kBlockVectorsOfThread; ++j) {
      const float factor = block_factor(p, number + static_cast<uint32_t>(j) * kBlocksApart);
      sum = sum + magnitude_of(factor);
      for (int k = 0; k < kCount; ++k) y[j][k] = y[j][k] * factor;
    }
  }
  uint8_t* to = p.y + uint64_t{vector} * 16;
  const bool careful = !(sum < kTwoTo120);
  if constexpr (kCount == kVector<Element::float32>) {
    store_block_vectors<Element::float32>(to, y, careful);
  } else if (p.output == Element::float16) {
    store_block_vectors<Element::float16>(to, y, careful);
  } else {
    store_block_vectors<Element::bfloat16>(to, y, careful);
  }
}

/// One element by the definition of its type.
template <BlockType kType>
DEQUANT_HD inline float block_element(const uint8_t* x, int64_t element) noexcept {
  using Codec = block::Codec<kType>;
  constexpr BlockTraits kTraits = traits(kType);
  const auto number = static_cast<int64_t>(static_cast<uint64_t>(element) /
                                           static_cast<uint64_t>(kTraits.elements));
  const auto i = static_cast<int>(element - number * kTraits.elements);
  const int g = i / static_cast<int>(kTraits.group);
  const uint8_t* block = x + number * kTraits.bytes;
  const float product = static_cast<float>(Codec::code(block, i)) * Codec::scale(block, g);
  if constexpr (kTraits.has_offsets) return product + Codec::offset(block, g);
  return product;
}

DEQUANT_HD inline float block_element_of(BlockType type, const uint8_t* x,
                                         int64_t element) noexcept {
  switch (type) {
#define DEQUANT_BLOCK(name, ...) \
  case BlockType::name:          \
    return block_element<BlockType::name>(x, element);
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
  }
  return 0;  // no type
}

/// The body of the kernel of elements at any address.
DEQUANT_HD inline void run_block_element(const Computation& p, int64_t thread) noexcept {
  const int64_t element = p.elements.begin + thread;
  float y = block_element_of(p.block_type, p.x.data, element);
  if (p.tensor_scale_use != TensorScale::none) {
    y = y * load_float32(p.tensor_scale, p.by_block_row.quotient(element));
  }
  const uint32_t code = narrow(p.output, y);
  if (p.output == Element::float32) return store_one<4>(p.y + element * 4, code);
  store_one<2>(p.y + element * 2, code);
}

}  // namespace dequant::cuda

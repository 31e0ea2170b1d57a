// Most vectors of a plan of blocks, as their kernels take them: aligned, as many for each thread,
// and counted with 32 bits.
#pragma once

#include <cstdint>

#include "cuda/plan/device_plan.h"
#include "cuda/plan/vector_size.h"

namespace dequant::cuda {

/// Vectors that a thread computes: loads of all of them are under way at once, and what they have
/// in common is computed once. They are kThreadsOfBlock vectors apart: whole blocks of every type
/// have fewer elements, so that the vectors of a thread lie at one place of their blocks.
inline constexpr int kBlockVectorsOfThread = 4;

/// Elements that the threads of a block of threads compute together.
constexpr int64_t block_elements_at_once(Element output) noexcept {
  return int64_t{kThreadsOfBlock} * kBlockVectorsOfThread * vector_elements(output);
}

struct BlockPlan {
  BlockType type = BlockType::Q4_0;
  Element output = Element::float32;
  const uint8_t* x = nullptr;        ///< the block of the first vector
  uint8_t* y = nullptr;              ///< the first vector, aligned to 16 bytes
  const uint8_t* factors = nullptr;  ///< tensor scales from the row of that block on, or null
  SmallDivisor by_row = {};          ///< blocks of a row with one tensor scale
  uint32_t in_row = 0;               ///< the block of the first vector, in its row
  uint32_t first = 0;                ///< the first vector, in its block
  uint32_t threads = 0;
};

}  // namespace dequant::cuda

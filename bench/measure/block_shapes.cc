// The shapes of block types: rows of 4096 elements.
#include <algorithm>
#include <array>

#include "bench/measure/shapes.h"
#include "dequant/block.h"

namespace dequant::bench {
namespace {

template <BlockType kType>
void in_blocks(Plan& plan, int64_t elements) {
  constexpr int64_t kRow = 4096;
  plan.scale = Element::float32;
  plan.has_zero_point = false;
  plan.granularity = Granularity::blocked;
  plan.outer = std::max<int64_t>(elements / kRow, 1);
  plan.axis = kRow;
  plan.block = block_elements(kType);
  plan.parameters.x_blocks = kType;
}

constexpr std::array kShapesOfBlocks{
#define DEQUANT_BLOCK(name, ...) Shape{#name, in_blocks<BlockType::name>},
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

}  // namespace

std::span<const Shape> block_shapes() noexcept { return kShapesOfBlocks; }

}  // namespace dequant::bench

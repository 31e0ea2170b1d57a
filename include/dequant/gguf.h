// The GGUF dialect: the tensors of llama.cpp's model files, whose rows are blocks of codes that
// hold their own scales.
#pragma once

#include "dequant/block.h"
#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::gguf {

/// The largest rank of a tensor that is accepted; ggml itself has 4.
inline constexpr int kMaxRank = 8;

/// A tensor of blocks. The shape is borrowed: it must live until dequantize() returns.
struct Dequantize {
  BlockType type = BlockType::Q4_0;
  /// Of the dense tensor, outermost first, as numpy has it: GGUF's own dimensions in reverse. Rows,
  /// the last dimension, are whole blocks.
  Shape shape;
  Element output = Element::float32;
  /// One float32 multiplies every element: of NVFP4, the tensor "<name>.scale" beside it.
  bool has_scale = false;
  /// With has_scale: one float32 for each index of the first dimension instead, as where this
  /// counts experts.
  bool scale_per_expert = false;
};

/// Checks the tensor and returns the plan of its values in float32, rounded once to the output.
/// The buffers of the plan are x, the blocks, and perhaps tensor_scale. Fails with
/// invalid_argument; the message names the type, the rule that it breaks and the value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

/// The block type of a number in GGUF files. Fails with unsupported for numbers of plain types,
/// which are no blocks, of types that were removed from GGUF, and of unknown types; the message has
/// GGUF's name of the type.
DEQUANT_EXPORT Result<BlockType> block_type(int64_t id);

/// The same for the name of a type.
DEQUANT_EXPORT Result<BlockType> block_type(std::string_view name);

}  // namespace dequant::gguf

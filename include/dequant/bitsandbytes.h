// The bitsandbytes dialect: weights of 4 bits whose values a table has (nf4, fp4), scales of these
// that are quantized themselves, and weights of 8 bits (LLM.int8).
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::bitsandbytes {

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// A weight of 4 bits. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize4Bit {
  /// Any type: its bytes have two codes each, the first one in the high bits. The order is that of
  /// the dense weight, row-major; an odd count leaves the last low bits unused.
  TensorType weight;
  TensorType absmax;     ///< float32 [blocks]
  TensorType quant_map;  ///< float32 [16]: the values of the codes
  Shape shape = {};      ///< of the dense weight
  int64_t blocksize =
      64;  ///< elements of the flattened weight that share a scale; the last may be short
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan of quant_map[code] * absmax, computed in float32 and
/// rounded once to the output: the arithmetic of dequantize_4bit() on a CPU. Fails with
/// invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize4Bit& node);

/// The scales of a weight of 4 bits with double quantization.
struct DequantizeAbsmax {
  TensorType absmax;            ///< uint8 [blocks]
  TensorType nested_absmax;     ///< float32 [ceil(blocks / nested_blocksize)]
  TensorType nested_quant_map;  ///< float32 [256]: the values of the codes
  TensorType nested_offset;     ///< float32, one element
  int64_t nested_blocksize = 256;
  Element output = Element::float32;
};

/// Checks the tensors and returns the plan of nested_quant_map[code] * nested_absmax +
/// nested_offset, each operation rounded to float32. Fails as dequantize() above does.
DEQUANT_EXPORT Result<Plan> dequantize(const DequantizeAbsmax& node);

/// A weight of LLM.int8.
struct DequantizeInt8 {
  TensorType weight;  ///< int8 [out, in]
  TensorType SCB;     ///< float32 [out]
  Element output = Element::float16;
};

/// What each product is multiplied by: the float32 that bitsandbytes uses for 1 / 127.
inline constexpr float kInt8Factor = 0.007874015718698502F;

/// Checks the tensors and returns the plan of weight * SCB * kInt8Factor, each operation rounded to
/// float32, and the result to the output. Fails as dequantize() above does.
DEQUANT_EXPORT Result<Plan> dequantize(const DequantizeInt8& node);

}  // namespace dequant::bitsandbytes

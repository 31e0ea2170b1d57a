// The compressed-tensors dialect: weights that compressed-tensors stores, as LLM Compressor writes
// and vLLM reads these.
#pragma once

#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::compressed_tensors {

/// The member `format` of a group of the configuration.
enum class Format : uint8_t {
  int_quantized,    ///< weight int8
  float_quantized,  ///< weight float8e4m3fn
  naive_quantized,  ///< weight int8 or float8e4m3fn
  pack_quantized,   ///< weight_packed int32, codes of 1 to 8 bits
  nvfp4_pack_quantized,
  mxfp4_pack_quantized,
  mxfp6_pack_quantized,
  mxfp8_quantized,
};

/// The member `strategy` of the weights of a group: which elements share a scale. The formats from
/// nvfp4_pack_quantized on have groups of their own, whatever the strategy.
enum class Strategy : uint8_t { tensor, channel, group, block };

/// How codes of 3, 5, 6 and 7 bits fill words of 32 bits. Codes of 2, 4 and 8 bits have one way.
enum class Words : uint8_t {
  padded,  ///< floor(32 / bits) codes in each word: versions up to 0.17.1
  dense,   ///< one stream of bits over the words of a row: versions from 0.18.0 on
};

/// The largest rank of a weight with strategy `tensor`; other weights are matrices.
inline constexpr int kMaxRank = 8;

/// The tensors and the configuration of one weight [out, in]. Shapes are borrowed: they must live
/// until dequantize() returns.
struct Dequantize {
  Format format = Format::pack_quantized;
  /// `weight`, or `weight_packed`: int32 [out, words], or uint8 [out, bytes].
  TensorType weight;
  /// float32, float16 or bfloat16: one; channel [out, 1]; group [out, ceil(in / group_size)]; block
  /// [ceil(out / block[0]), ceil(in / block[1])]. Of nvfp4 float8e4m3fn [out, in / 16], of mx
  /// formats uint8 or float8e8m0 [out, in / 32].
  TensorType weight_scale;
  /// int8 of the shape of weight_scale. Of pack_quantized also int32 [words, groups]: the zero
  /// points of a group fill words as codes of a row do.
  std::optional<TensorType> weight_zero_point = {};
  std::optional<TensorType> weight_global_scale = {};  ///< of nvfp4: one float32
  /// int32 [in]: the group of each column.
  std::optional<TensorType> weight_g_idx = {};
  Shape weight_shape = {};  ///< the numbers that the tensor weight_shape of pack_quantized has
  int64_t num_bits = 4;     ///< of pack_quantized
  Strategy strategy = Strategy::group;
  int64_t group_size = 0;      ///< of groups
  Shape block_structure = {};  ///< of blocks: two lengths
  /// Of 3, 5, 6 and 7 bits; needed only where the numbers of words allow both.
  std::optional<Words> words = {};
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan. The results are those of compressed-tensors'
/// decompress(): the product is rounded to the type of weight_scale, of nvfp4 and mx formats to
/// bfloat16, and then converted to the output. Code 255 of float8e8m0 is infinity. Fails with
/// invalid_argument; the message names the tensor, the rule that it breaks and its value. Fails
/// with unsupported where both ways to fill words are possible and `words` is not given.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::compressed_tensors

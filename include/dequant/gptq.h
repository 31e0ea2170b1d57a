// The GPTQ dialect: weights of GPTQModel, AutoGPTQ and AutoRound, whose codes fill words of 32 bits
// down the columns of a transposed matrix.
#pragma once

#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::gptq {

/// How codes and zero points are stored: the checkpoint_format of a configuration.
enum class Format : uint8_t {
  v1,      ///< "gptq": one stream of bits; the zero point minus 1
  v2,      ///< "gptq_v2": one stream of bits; the zero point
  planar,  ///< "gptq_p": planes of 4, 2 and 1 bit of 32 codes each; the zero point
};

/// How 1 is added to a stored zero point of Format::v1 whose bits are all ones.
enum class Carry : uint8_t {
  field,  ///< the zero point is 0
  word,   ///< the zero point is 0, and the next one in the word is 1 more: as GPTQModel stores it
};

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// int32 or uint32 [words, out]: the words of an output follow one another down its column.
  TensorType qweight;
  /// int32 or uint32 [groups, words]: the words of a group follow one another.
  TensorType qzeros;
  TensorType scales;  ///< float16, bfloat16 or float32 [groups, out]
  /// int32 [in]: the group of each input; without it `group_size` inputs share a group.
  std::optional<TensorType> g_idx = {};
  int64_t bits = 4;         ///< 2, 3, 4 or 8; of Format::planar 3, 5, 6 or 7
  int64_t group_size = -1;  ///< -1: there is one group; without effect if g_idx is given
  /// The inputs; 0: as many as g_idx has, or as the words of qweight hold.
  int64_t in_features = 0;
  Format format = Format::v1;
  Carry carry = Carry::field;  ///< without effect on 3 bits, whose fields cross words
  Element output = Element::float16;
};

/// The outputs and inputs of the dense weight [out, in]. Fails as dequantize() does.
DEQUANT_EXPORT Result<std::array<int64_t, 2>> dense_shape(const Dequantize& node);

/// Checks the tensors and returns the plan of (code - zero point) * scale, computed in float32 and
/// rounded once to the output: the arithmetic of GPTQModel's model_dequant. Fails with
/// invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::gptq

// The parts of the compressed-tensors dialect.
#pragma once

#include "dequant/compressed_tensors.h"
#include "dialect/scheme.h"

namespace dequant::compressed_tensors {

/// The plan of any weight; see dequantize().
Result<Dense> dense_of(const Dequantize& node);
/// The plan of pack_quantized.
Result<Dense> dense_of_words(const Dequantize& node);

/// Demands that scales are float32, float16 or bfloat16.
Status check_float_scale(const Dequantize& node);

/// Demands that weight_g_idx is the group of each of `columns` columns, and that the strategy has
/// groups.
Status check_index(const Dequantize& node, int64_t columns);

/// How many columns share a scale: all, or those of a group. Fails with invalid_argument where
/// the strategy is `block`, and where the scale does not have the shape that the strategy demands.
Result<int64_t> group_length(const Dequantize& node, Shape weight);

/// The type that compressed-tensors computes in, where that is not float32.
std::optional<Element> computing_type(Element scale);

}  // namespace dequant::compressed_tensors

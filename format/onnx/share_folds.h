// One constant for all operators that read the same quantized weight, as layers with shared weights
// do.
#pragma once

#include <cstdint>
#include <deque>
#include <tuple>

#include "format/onnx/rewire.h"
#include "format/onnx/save.h"

namespace dequant::format::onnx {

/// Distinguishes nearly all dequantizations; equal keys need gives_same().
using DequantizationKey = std::tuple<const Graph*, const void*, const void*, const void*,
                                     const void*, int64_t, int64_t, int64_t>;
DequantizationKey key_of(const Dequantization& d);

/// True for dequantizations that give the same numbers of the same constants. False for those with
/// a codebook, which has no identity.
bool gives_same(const Dequantization& a, const Dequantization& b);

/// Removes folds of made nodes that give the numbers of an earlier fold of a made node in the same
/// graph; the readers of a removed fold then read the earlier one. Folds of nodes of the file stay.
/// `folds` are in the order of their graphs' nodes. Fails with limit.
Status share_folds(Model& model, Rewire& rewire, std::deque<Fold>& folds);

}  // namespace dequant::format::onnx

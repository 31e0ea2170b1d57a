// One constant for all operators that read the same quantized weight, as layers with shared weights
// do.
#pragma once

#include <deque>

#include "format/onnx/rewire.h"
#include "format/onnx/save.h"

namespace dequant::format::onnx {

/// Removes folds of made nodes that give the numbers of an earlier fold of a made node in the same
/// graph; the readers of a removed fold then read the earlier one. Folds of nodes of the file stay.
/// `folds` are in the order of their graphs' nodes. Fails with limit.
Status share_folds(Model& model, Rewire& rewire, std::deque<Fold>& folds);

}  // namespace dequant::format::onnx

// The functions of a model, as far as dequant must understand them.
#pragma once

#include <vector>

#include "dequant/status.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Fails with malformed when two functions have the same name or one calls itself, directly or
/// through others; with unsupported when one redefines an operator that dequant evaluates. `graphs`
/// are all graphs of the model.
Status check_functions(const Model& model, const std::vector<Graph*>& graphs);

}  // namespace dequant::format::onnx

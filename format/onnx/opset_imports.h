// Operator sets that a model imports, but no longer uses.
#pragma once

#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// Takes out the imports of domains whose last node is gone, of the model and of its functions.
/// What was not used before stays, and ai.onnx always. Call after all other changes.
Status drop_imports(Model& model, Rewire& rewire);

}  // namespace dequant::format::onnx

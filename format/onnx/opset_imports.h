// Removing imports of operator sets that a model does not use after a conversion.
#pragma once

#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// Removes the imports of domains whose last node was removed, from the model and its functions.
/// Imports of ai.onnx stay, and imports that had no nodes before. Must be called after all other
/// changes. Fails with malformed or io.
Status drop_imports(Model& model, Rewire& rewire);

}  // namespace dequant::format::onnx

// What the entries of external data say besides where the data is.
#pragma once

#include <functional>

#include "format/onnx/external.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Fails with malformed where a tensor of the model has a wrong checksum. Warns of checksums that
/// are skipped, and of keys that ONNX does not know. `tick` is asked now and then; its error ends
/// the work.
Status check_external_entries(Model& model, const Scopes& scopes, ExternalFiles& files,
                              const std::function<Status()>& tick);

}  // namespace dequant::format::onnx

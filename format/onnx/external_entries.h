// Checking checksums and unknown keys of external data.
#pragma once

#include <functional>

#include "format/onnx/external.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Fails with malformed where the checksum of a tensor's file is wrong. Adds warnings to the model
/// about checksums that are skipped, and about keys that ONNX does not define. `tick` is called
/// repeatedly; its first error is returned.
Status check_external_entries(Model& model, const Scopes& scopes, ExternalFiles& files,
                              const std::function<Status()>& tick);

}  // namespace dequant::format::onnx

// The part of verify() for bounds of Clip nodes that a float model has in place of quantizations.
#pragma once

#include "format/diff/pairs.h"
#include "format/diff/verify.h"

namespace dequant::format {

/// Compares the bounds of Clip nodes among the tensors of out.unexpected with the ranges that
/// quantization leaves the same values in a. A bound that was compared is removed from
/// out.unexpected. `in_b` has the dense tensors of b. Fails as ModelFile::bound_of(),
/// visit_bounds() and read() do.
Status verify_bounds(ModelFile& a, ModelFile& b, const NamedTensors& in_b,
                     const StreamOptions& options, Verification& out);

}  // namespace dequant::format

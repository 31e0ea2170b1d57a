// The data of a constant, a part at a time, whether it is a tensor, an attribute or computed.
#pragma once

#include <memory>

#include "format/model/chunks.h"
#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

/// A reader of a constant, which must outlive it. Scales and zero points that a computed constant
/// needs take `memory` bytes at most. Fails as TensorReader::open() does.
Result<std::unique_ptr<StoredReader>> open_constant(const Model& model, ExternalFiles& files,
                                                    const Constant& constant, int64_t memory);

/// Those of the inputs of a dequantization, with that memory for each.
Result<RecipeReaders> open_inputs(const Model& model, ExternalFiles& files, const Dequantization& d,
                                  int64_t memory);

/// Scales or zero points, which take `memory` bytes at most.
Result<ParameterReader> open_parameters(const Model& model, ExternalFiles& files,
                                        const Constant& constant, int64_t memory);

/// All of a constant. Fails with limit when it takes more than `most` bytes.
Result<TensorData> read_constant(const Model& model, ExternalFiles& files, const Constant& constant,
                                 int64_t most);

}  // namespace dequant::format::onnx

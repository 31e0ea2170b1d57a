// Reading the data of a constant: of a tensor, of an attribute, or computed.
#pragma once

#include <memory>

#include "format/model/chunks.h"
#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

/// A reader of a constant; the constant must outlive the reader. Scales and zero points of a
/// computed constant may take `memory` bytes each. Fails as TensorReader::open() does, and with
/// limit.
Result<std::unique_ptr<StoredReader>> open_constant(const Model& model, ExternalFiles& files,
                                                    const Constant& constant, int64_t memory);

/// Readers of x and all parameters of a dequantization, each with `memory` as above.
Result<RecipeReaders> open_inputs(const Model& model, ExternalFiles& files, const Dequantization& d,
                                  int64_t memory);

/// A ParameterReader of scales or zero points, with at most `memory` bytes of them in memory.
Result<ParameterReader> open_parameters(const Model& model, ExternalFiles& files,
                                        const Constant& constant, int64_t memory);

/// All elements of a constant. Fails with limit when they take more than `most` bytes, and as
/// open_constant() does.
Result<TensorData> read_constant(const Model& model, ExternalFiles& files, const Constant& constant,
                                 int64_t most);

}  // namespace dequant::format::onnx

// The inputs of all dialects but TensorFlow's: x, scale and an optional zero point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/op.h"

namespace dequant::tools {

/// The options of these inputs.
struct OpInputOptions : OpOptions {
  std::string scale;
  std::string scale_type;
  std::string zero_point;

  /// Adds the options of scale and zero point; `scale_types` is the help of --scale-type.
  void add_param_options(const Command& command, const char* scale_types);
};

/// These inputs, opened.
struct OpInputs {
  OpTensor x;
  OpTensor scale;
  std::optional<OpTensor> zero_point;

  /// The inputs as Operation::inputs.
  std::vector<OpTensor> list() &&;
};

/// Opens the files of the options; a zero point has the type of x. Fails as open_tensor() does, and
/// where the folder of the output cannot be written to.
Result<OpInputs> open_inputs(const OpInputOptions& options);

}  // namespace dequant::tools

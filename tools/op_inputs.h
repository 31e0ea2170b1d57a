// The tensors that all dialects but TensorFlow's take: x, scale and an optional zero point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/op.h"

namespace dequant::tools {

struct OpInputOptions : OpOptions {
  std::string scale;
  std::string scale_type;
  std::string zero_point;

  void add_param_options(const Command& command, const char* scale_types);
};

struct OpInputs {
  OpTensor x;
  OpTensor scale;
  std::optional<OpTensor> zero_point;

  /// As an Operation takes them.
  std::vector<OpTensor> list() &&;
};

/// Opens the files of the options. A zero point is read in the type that x has.
Result<OpInputs> open_inputs(const OpInputOptions& options);

}  // namespace dequant::tools

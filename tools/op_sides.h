// The tensors that all dialects but TensorFlow's take: x, scale and an optional zero point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/op.h"

namespace dequant::tools {

struct SideOptions : OpOptions {
  std::string scale;
  std::string scale_type;
  std::string zero_point;

  void add_sides(const Command& command, const char* scale_types);
};

struct Sides {
  OpTensor x;
  OpTensor scale;
  std::optional<OpTensor> zero_point;

  /// As an Operation takes them.
  std::vector<OpTensor> list() &&;
};

/// Opens the files of the options. A zero point is read in the type that x has.
Result<Sides> open_sides(const SideOptions& options);

}  // namespace dequant::tools

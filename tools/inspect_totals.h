// Sums over the DequantizeLinear of constants.
#pragma once

#include "format/onnx/inspect.h"

namespace dequant::tools {

struct Totals {
  int64_t constant = 0;
  int64_t elements = 0;
  int64_t bytes = 0;  ///< of each tensor once
  int64_t float_bytes = 0;
};

inline Totals totals_of(const format::onnx::InspectReport& report) {
  Totals t;
  for (const format::onnx::DequantizeInfo& n : report.nodes) {
    if (!n.reason.empty()) continue;
    ++t.constant;
    t.elements += element_count(n.plan);
    t.bytes += n.bytes_first;
    t.float_bytes += n.float_bytes;
  }
  return t;
}

}  // namespace dequant::tools

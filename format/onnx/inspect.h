// What the quantized tensors of a model hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/stream.h"

namespace dequant::format::onnx {

/// The least and the greatest of some numbers, NaN apart.
struct Extent {
  double least = 0;
  double greatest = 0;
  int64_t numbers = 0;  ///< how many were neither NaN nor missing
  int64_t nans = 0;

  void add(double value);
};

/// One DequantizeLinear.
struct DequantizeInfo {
  std::string node;
  std::string domain;
  std::string graph;  ///< empty for the main graph
  std::string output;
  std::string x;
  std::string reason;  ///< why it is not constant; empty if it is
  // Of a constant one:
  Plan plan;
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  Extent scale;
  Extent zero_point;
  Extent value;
  int64_t bytes = 0;  ///< x, scale and zero point
  int64_t float_bytes = 0;
};

/// A constant of a quantized type that no DequantizeLinear takes as x, nor anyone as a zero point.
struct OtherConstant {
  std::string name;
  Element element = Element::uint8;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};

struct InspectReport {
  int64_t ir_version = 0;
  Opsets opsets;
  std::vector<DequantizeInfo> nodes;
  std::vector<OtherConstant> others;
};

/// Reads a model and every quantized constant in it.
Result<InspectReport> inspect(const std::string& path, const StreamOptions& options);

}  // namespace dequant::format::onnx

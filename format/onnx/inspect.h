// What the quantized tensors of a model hold.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/extent.h"
#include "format/onnx/parameters.h"
#include "format/onnx/profile.h"
#include "format/onnx/readers.h"
#include "format/onnx/scale_profile.h"
#include "format/onnx/stream.h"

namespace dequant::format::onnx {

/// One DequantizeLinear.
struct DequantizeInfo {
  std::string node;
  std::string domain;
  std::optional<int64_t> opset;  ///< of the domain
  std::string graph;             ///< empty for the main graph
  std::string output;
  std::string x;
  std::string reason;  ///< why it is not constant; empty if it is
  /// Of one whose x is not constant, but scales and zero points are.
  std::optional<Parameters> parameters;
  // Of a constant one:
  Plan plan;
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  std::vector<int64_t> scale_shape;
  ScaleProfile scale;
  Extent zero_point;
  Profile profile;
  int64_t bytes = 0;        ///< x, scale and zero point
  int64_t bytes_first = 0;  ///< of those that no node before it takes
  int64_t float_bytes = 0;
};

/// A constant of a quantized type that no DequantizeLinear takes as x, nor anyone as a zero point.
struct OtherConstant {
  std::string name;
  std::string graph;  ///< empty for the main graph
  Element element = Element::uint8;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};

/// What holds for the whole model.
struct InspectHead {
  int64_t ir_version = 0;
  Opsets opsets;
};

/// Sums: of all DequantizeLinear, and of those of constants.
struct InspectTotals {
  int64_t nodes = 0;
  int64_t constant = 0;
  int64_t elements = 0;
  int64_t bytes = 0;  ///< of each tensor once
  int64_t float_bytes = 0;
};

/// Takes what inspect() finds, in this order; nothing of it is kept. The first error of a call ends the
/// inspection.
class InspectSink {
 public:
  InspectSink() = default;
  InspectSink(const InspectSink&) = delete;
  InspectSink& operator=(const InspectSink&) = delete;
  virtual ~InspectSink() = default;

  virtual Status begin(const InspectHead& head) = 0;
  virtual Status node(const DequantizeInfo& node) = 0;
  virtual Status other(const OtherConstant& constant, const Readers& readers) = 0;
};

struct InspectOptions {
  StreamOptions stream;
  Checksums checksums = Checksums::verify;
  size_t profiles = 0;      ///< of so many constant nodes all is found, not just extents
  std::string output = {};  ///< a file that will be written: refused if it is one of the model's
  /// Told how many bytes of values are done; one call at a time, on any thread.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Reads a model and every quantized constant in it. The sink is called for the first time when all is
/// proved but what only the tensor data itself can show: errors of reading it.
Result<InspectTotals> inspect(const std::string& path, const InspectOptions& options,
                              InspectSink& sink);

}  // namespace dequant::format::onnx

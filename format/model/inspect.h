// Statistics of the quantized tensors of a model file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/model/model_file.h"
#include "format/profile/profile.h"
#include "format/profile/scale_profile.h"

namespace dequant::format {

/// One tensor that becomes floats, or that stays quantized. Valid during the call that passes it.
struct TensorInfo : TensorFacts {
  std::string reason;  ///< why it stays quantized; empty: it becomes floats
  /// Of a tensor that stays quantized, where the file has its scales and zero points.
  std::optional<Parameters> parameters;
  // Of a tensor that becomes floats:
  Plan plan;
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  std::vector<int64_t> scale_shape;
  bool codes_are_values = false;  ///< as of Recipe: no scale
  ScaleProfile scale;             ///< empty without one
  ScaleProfile tensor_scale;      ///< as it is stored; empty without one
  Extent zero_point;
  Profile profile;
  int64_t bytes = 0;        ///< of all its stored tensors
  int64_t bytes_first = 0;  ///< of its stored tensors that no earlier tensor has
  int64_t float_bytes = 0;

  /// Which elements share a scale, in words.
  std::string granularity() const;
};

/// How many tensors there are, and the sums over those that become floats.
struct InspectTotals {
  int64_t all = 0;
  int64_t dense = 0;
  int64_t elements = 0;
  int64_t bytes = 0;  ///< of stored tensors, each counted once
  int64_t float_bytes = 0;
};

/// Receives what inspect() finds: begin() once, then tensor() for each tensor, then other() for
/// each other tensor. inspect() keeps nothing of these. It ends at the first error of a call, and
/// returns that error.
class InspectSink {
 public:
  InspectSink() = default;
  InspectSink(const InspectSink&) = delete;
  InspectSink& operator=(const InspectSink&) = delete;
  virtual ~InspectSink() = default;

  virtual Status begin() = 0;
  virtual Status tensor(const TensorInfo& tensor) = 0;
  virtual Status other(const OtherTensor& tensor) = 0;
};

struct InspectOptions {
  StreamOptions stream;
  size_t profiles = 0;  ///< dense tensors with full statistics, the first ones; others get extents
  /// Called with the bytes of values that are done, on any thread, one call at a time.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Reads every quantized tensor of a file and passes its statistics to the sink. All checks that do
/// not need tensor data come before the first call of the sink. Fails as ModelFile::visit() and
/// stream() do.
Result<InspectTotals> inspect(ModelFile& file, const InspectOptions& options, InspectSink& sink);

}  // namespace dequant::format

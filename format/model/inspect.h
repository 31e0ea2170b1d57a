// What the quantized tensors of a model file hold.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/model/model_file.h"
#include "format/profile/profile.h"
#include "format/profile/scale_profile.h"

namespace dequant::format {

/// One tensor that is dequantized, or that stays quantized. Valid during the call that it comes
/// with.
struct TensorInfo : TensorFacts {
  std::string reason;  ///< why it stays quantized; empty: it becomes floats
  /// Of one that stays quantized, but whose scales and zero points are known.
  std::optional<Parameters> parameters;
  // Of one that becomes floats:
  Plan plan;
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  std::vector<int64_t> scale_shape;
  ScaleProfile scale;
  Extent zero_point;
  Profile profile;
  int64_t bytes = 0;        ///< of all stored tensors that it takes
  int64_t bytes_first = 0;  ///< of those that no tensor before it takes
  int64_t float_bytes = 0;
};

/// How many tensors there are, and the sums over those that become floats.
struct InspectTotals {
  int64_t all = 0;
  int64_t dense = 0;
  int64_t elements = 0;
  int64_t bytes = 0;  ///< of each stored tensor once
  int64_t float_bytes = 0;
};

/// Takes what inspect() finds, in this order; nothing of it is kept. The first error of a call ends
/// the inspection.
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
  size_t profiles = 0;  ///< of so many dense tensors all is found, not just extents
  /// Told how many bytes of values are done; one call at a time, on any thread.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Reads every quantized tensor of a file. The sink is called for the first time when all is proved
/// but what only the tensor data itself can show: errors of reading it.
Result<InspectTotals> inspect(ModelFile& file, const InspectOptions& options, InspectSink& sink);

}  // namespace dequant::format

// Statistics of the data of one dense tensor.
#pragma once

#include <map>
#include <vector>

#include "format/model/model_file.h"
#include "format/profile/profile.h"
#include "format/profile/scale_profile.h"

namespace dequant::format {

/// Statistics of the scales, the zero points, and the codes and values of a tensor.
struct Measured {
  ScaleProfile scale;
  ScaleProfile tensor_scale;  ///< the second scale, of the whole tensor or of its rows
  Extent zero_point;
  Profile profile;
};

/// Reads and dequantizes tensors to compute their statistics.
class Measurer {
 public:
  /// Called with the number of bytes of values that were just done, on any thread.
  using Advance = std::function<void(int64_t bytes)>;

  /// The file and the options must outlive this object.
  Measurer(ModelFile& file, const StreamOptions& options, Advance advance)
      : file_(file), options_(options), advance_(std::move(advance)), scatter_(options) {}

  /// The statistics of a tensor. With `all` false only extents and counts of zeros and infinities,
  /// in less time. Fails as stream() does.
  Result<Measured> measure(const DenseTensor& tensor, bool all);

 private:
  Status read_codes(const Plan& plan, const StoredTensor& codes, Profiler& profiler);
  Status read_zero_points(const Plan& plan, const StoredTensor& zero_point, Measured& found);
  template <class Add>
  Status read(const StoredTensor& tensor, Add add);

  ModelFile& file_;
  const StreamOptions& options_;
  const Advance advance_;
  Scatter scatter_;
};

/// Statistics of earlier tensors, for tensors that the same plan computes from the same stored
/// tensors. Tensors of fewer than kLeastElements are not kept: to measure them again is as fast. At
/// most kMost entries of about 1 KiB are kept, of these kMostProfiles with histograms, of about 5
/// KiB.
class Remembered {
 public:
  /// The statistics of a tensor of the same plan and stored tensors; null where none are kept.
  const Measured* find(const DenseTensor& tensor) const;

  /// Keeps the statistics of a tensor that shares stored tensors with others, if there is room.
  /// `all` as in Measurer::measure().
  void add(const DenseTensor& tensor, const Measured& measured, bool all);

 private:
  static constexpr int64_t kLeastElements = 4096;
  static constexpr size_t kMost = size_t{1} << 13;
  static constexpr size_t kMostProfiles = size_t{1} << 10;

  /// The identities of the codes and the parameters.
  using Inputs = std::vector<const void*>;
  struct Entry {
    Plan plan;
    Measured measured;
  };

  static Inputs inputs_of(const DenseTensor& tensor);

  std::multimap<Inputs, Entry> found_;
};

}  // namespace dequant::format

// What is found in the data of one dense tensor.
#pragma once

#include <map>
#include <tuple>

#include "format/model/model_file.h"
#include "format/profile/profile.h"
#include "format/profile/scale_profile.h"

namespace dequant::format {

struct Measured {
  ScaleProfile scale;
  Extent zero_point;
  Profile profile;
};

/// Reads and dequantizes tensors to measure them.
class Measurer {
 public:
  /// Hears of bytes of values that are done, on any thread.
  using Advance = std::function<void(int64_t bytes)>;

  /// The options must outlive it.
  Measurer(ModelFile& file, const StreamOptions& options, Advance advance)
      : file_(file), options_(options), advance_(std::move(advance)), scatter_(options) {}

  /// With `all` false only extents, zeros and infinities are found: in less time. Fails as stream()
  /// does.
  Result<Measured> measure(const DenseTensor& tensor, bool all);

 private:
  Status read_zero_points(const StoredTensor& zero_point, Measured& found);
  template <class Add>
  Status read(const StoredTensor& tensor, Add add);

  ModelFile& file_;
  const StreamOptions& options_;
  const Advance advance_;
  Scatter scatter_;
};

/// What has been found, for tensors that are computed in the same way from the same stored tensors.
/// Measuring small ones again is as fast; at most kMost measurements of about 1 KiB are kept, and
/// kMostProfiles with histograms, of about 5 KiB.
class Remembered {
 public:
  /// Null where nothing is known.
  const Measured* find(const DenseTensor& tensor) const;

  void add(const DenseTensor& tensor, const Measured& measured, bool all);

 private:
  static constexpr int64_t kLeastElements = 4096;
  static constexpr size_t kMost = size_t{1} << 13;
  static constexpr size_t kMostProfiles = size_t{1} << 10;

  using Inputs = std::tuple<const void*, const void*, const void*>;
  struct Entry {
    Plan plan;
    Measured measured;
  };

  static Inputs inputs_of(const DenseTensor& tensor);

  std::multimap<Inputs, Entry> found_;
};

}  // namespace dequant::format

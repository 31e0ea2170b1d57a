// A dequantization cut into stretches that fit memory, which any threads may compute.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dequant/executor.h"
#include "format/io/phases.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/side_input.h"

namespace dequant::format::onnx {

/// One stretch, and the memory of whoever computes it.
struct Stretch {
  Range elements;
  std::vector<std::byte> codes;
  std::vector<std::byte> scale;       ///< a slice, unless they are held whole
  std::vector<std::byte> zero_point;  ///< the same
  std::vector<std::byte> output;
};

/// What a stretch holds: its output may go elsewhere.
enum class Holds { codes, codes_and_output };

/// The stretches of one dequantization, from front to back. Threads take them in turns with next() and
/// compute them side by side.
class Stretches {
 public:
  /// A stretch has `output_bytes` at most, and `side_bytes` of scales and as many of zero points.
  Stretches(const Dequantization& d, int64_t output_bytes, int64_t side_bytes, Phases* phases);

  Status open(const Model& model, ExternalFiles& files);

  /// How many stretches there are, about; 1 if the memory is enough for one at a time only.
  int64_t side_by_side() const;

  /// Takes the memory that any stretch needs for these; throws std::bad_alloc where there is none.
  void make_room(Stretch& stretch, Holds what) const;

  /// Sets the next stretch, or none: false. Reads its codes where storage yields them only in order.
  Result<bool> next(Stretch& stretch);

  /// Fills stretch.output.
  Status compute(Stretch& stretch, const Executor& executor);
  /// Fills `y` instead, which holds just the elements of the stretch.
  Status compute(Stretch& stretch, std::span<std::byte> y, const RunOptions& options);

  /// Call after the last stretch: that the inputs hold no more, and that their files are as they were.
  Status finish();

 private:
  Status read_sides(Stretch& stretch, Buffers& buffers);

  const Dequantization& d_;
  const int64_t most_;  ///< elements of a stretch
  const int64_t side_bytes_;
  Phases* phases_;
  std::optional<ConstantReader> x_;
  std::optional<SideInput> scale_;
  std::optional<SideInput> zero_;
  std::mutex turn_;  ///< guards what follows, and x_ unless it is seekable
  int64_t begin_ = 0;
};

}  // namespace dequant::format::onnx

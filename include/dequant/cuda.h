// Plans on a CUDA device: dequant::cuda, a library of its own that -DDEQUANT_CUDA=ON builds. The
// results have the bits of dequant::run() on every device. This header needs no header of CUDA.
#pragma once

#include <cstdint>

#include "dequant/export.h"
#include "dequant/plan.h"
#include "dequant/status.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace dequant::cuda {

/// What only the device can see of its tensors: bits of RunOptions::faults. A fault is about a
/// value that an element of y uses; dequant::run() checks values that strides leave out as well.
enum class Fault : uint32_t {
  /// An entry of the group index is none of the plan's groups. The elements that read it are NaN.
  group_index = 1,
  /// A zero point of a floating-point x is not zero. The results are those of a zero point of zero.
  zero_point = 2,
};

/// True for plans whose tensors may have a Fault: run() demands RunOptions::faults for them.
DEQUANT_EXPORT bool needs_faults(const Plan& plan) noexcept;

struct RunOptions {
  CUstream_st* stream = nullptr;  ///< cudaStream_t; null is the default stream
  /// A uint32 in memory that the device writes, aligned to 4 bytes. Kernels set the bits of the
  /// faults that they see, and clear none: set it to zero before, and read it after the stream has
  /// been synchronized. May be null for plans without needs_faults().
  uint32_t* faults = nullptr;
};

/// Dequantizes the whole tensor as dequant::run() does, asynchronously on a stream. `buffers` are
/// memory that the current device can access, at any alignment, as large as run() demands, and
/// stay valid until the kernels have ended; y overlaps no input. Allocates nothing and waits for
/// nothing, so that a graph may capture the call. Fails before the launch: with invalid_argument
/// where run() does, but for what Fault lists, and where `faults` is null but needed; with
/// unsupported where the device or the driver cannot run the kernels.
DEQUANT_EXPORT Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options = {});

/// Dequantizes a range of the elements, as dequant::run_range() does: the buffers have just
/// slices_of(plan, elements). A whole group index is checked only for the elements of the range.
/// Ranges that begin and end with multiples of row_elements(plan) have one kernel; what is left of
/// rows at both ends of others has kernels of its own, which are slower.
DEQUANT_EXPORT Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                                const RunOptions& options = {});

/// The elements of a row, as run_range() means it; at least 1.
DEQUANT_EXPORT int64_t row_elements(const Plan& plan) noexcept;

}  // namespace dequant::cuda

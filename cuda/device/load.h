// Tensors of model files in memory of a device: stored bytes are read on several threads into the
// pinned memory of a ring, copied, and dequantized on the device, all at once.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/device/ring.h"
#include "dequant/executor.h"
#include "format/io/file.h"
#include "format/model/model_file.h"

namespace dequant::cuda {

/// Computes a dense tensor into `y`, memory of the ring's device that has the packed size of the
/// tensor. That device is the calling thread's. A tensor without a recipe is copied. The results
/// are there for what is put on `stream` later, and `y` may be in use by what is on `stream` now.
/// Returns before the device is done, unless the plan needs_faults(). Besides `y` and the ring, the
/// device holds the parameters of the tensor, and its codes where neighbours among the results have
/// codes that are far apart. Fails as format::read() does, as cuda::run() does, and as Device does;
/// `y` is then incomplete.
Status load(Ring& ring, format::ModelFile& file, const format::DenseTensor& tensor,
            std::span<std::byte> y, Stream stream, const Executor& executor);

/// The same by the plan and the stored tensors of a recipe. The plan must outlive the call.
Status load(Ring& ring, const Plan& plan, format::RecipeReaders readers, std::span<std::byte> y,
            Stream stream, const Executor& executor);

/// Copies bytes of a file from `offset` on to `y`, as load() does. Fails with malformed where the
/// file changed since it was opened.
Status load_bytes(Ring& ring, const format::InputFile& file, int64_t offset, std::span<std::byte> y,
                  Stream stream, const Executor& executor);

}  // namespace dequant::cuda

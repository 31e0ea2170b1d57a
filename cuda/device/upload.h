// Moving the bytes of stored tensors through a ring to a device.
#pragma once

#include <functional>
#include <span>

#include "cuda/device/ring.h"
#include "dequant/executor.h"
#include "format/model/stored_reader.h"

namespace dequant::cuda {

/// What a thread does with a slot for part i of a tensor: `fill` writes its pinned memory, on any
/// number of threads at once; then `submit` puts copies and kernels on its stream, one thread at a
/// time. They may throw std::bad_alloc, which is the failure out_of_memory.
struct SlotWork {
  std::function<Status(int64_t i, Slot& slot)> fill;
  std::function<Status(int64_t i, Slot& slot)> submit;
};

/// Does the work of each i in [0, count), with a slot that is given back afterwards, on as many
/// threads as the executor and the slots allow, until one fails. Returns the first failure.
Status for_each_slot(Batch& batch, int64_t count, const Executor& executor, const SlotWork& work);

/// Puts copies of all bytes of a stored tensor to `device` on the streams of the slots. Nothing may
/// have been read before. A reader that is not seekable is read from front to back. Fails as
/// StoredReader does, and as Device does.
Status upload(Batch& batch, format::StoredReader& reader, std::span<std::byte> device,
              const Executor& executor);

}  // namespace dequant::cuda

// Moving the bytes of stored tensors through a ring to a device.
#pragma once

#include <functional>
#include <span>

#include "cuda/device/ring.h"
#include "dequant/executor.h"
#include "format/model/stored_reader.h"

namespace dequant::cuda {

/// Calls work(i, slot) for each i in [0, count), with a slot of the batch whose pinned memory may
/// be written and which is given back afterwards, on as many threads as the executor and the slots
/// allow, until one fails. Returns the first failure. `work` may throw std::bad_alloc, which is the
/// failure out_of_memory.
Status for_each_slot(Batch& batch, int64_t count, const Executor& executor,
                     const std::function<Status(int64_t i, Slot& slot)>& work);

/// Puts copies of all bytes of a stored tensor to `device` on the streams of the slots. Nothing may
/// have been read before. A reader that is not seekable is read from front to back. Fails as
/// StoredReader does, and as Device does.
Status upload(Batch& batch, format::StoredReader& reader, std::span<std::byte> device,
              const Executor& executor);

}  // namespace dequant::cuda

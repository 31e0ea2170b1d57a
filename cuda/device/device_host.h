// What tests see of the devices in host memory.
#pragma once

#include <cstdint>

#include "cuda/device/device.h"

namespace dequant::cuda {

/// What is there now, and the most that was pinned.
struct HostCounts {
  int64_t device_bytes = 0;
  int64_t pinned_bytes = 0;
  int64_t most_pinned_bytes = 0;
  int64_t streams = 0;
  int64_t events = 0;
  int64_t waiting = 0;  ///< operations that no one has waited for yet
};

HostCounts host_counts();

/// Does all that is on any stream.
void host_settle();

/// A graph captures a stream, from now on or no longer.
void host_capture(Stream stream, bool captured);

/// From the `calls`th allocation, copy or launch from now on, every one fails, until set again; 0:
/// none fails.
void host_fail_after(int64_t calls);

}  // namespace dequant::cuda

// The ceiling of a device: a kernel that reads and writes as many bytes as a plan, and computes
// nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dequant::bench {

/// Writes `written` bytes and reads `read` bytes between them, evenly, in loads and stores of 16
/// bytes; a thread has `writes` of the stores, 1 or 4. Both addresses are aligned to 16 bytes;
/// bytes that fill no 16 are left out.
cudaError_t copy(int writes, const std::byte* from, size_t read, std::byte* to, size_t written,
                 cudaStream_t stream);

}  // namespace dequant::bench

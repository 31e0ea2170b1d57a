// The kernel of copy(): one thread for each 16 bytes that are written.
#include "copy.h"

#include <cstdint>

namespace dequant::bench {
namespace {

constexpr unsigned kThreads = 256;

/// Vector j is read by the thread in whose share of the reads it begins.
__global__ void __launch_bounds__(kThreads)
    copy_kernel(const uint4* from, uint64_t read, uint4* to, uint64_t written, double reads_each) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= written) return;
  const auto begin = static_cast<uint64_t>(static_cast<double>(i) * reads_each);
  const auto end =
      i + 1 == written ? read : static_cast<uint64_t>(static_cast<double>(i + 1) * reads_each);
  uint4 value{1, 2, 3, 4};
  for (uint64_t j = begin; j < end; ++j) {
    const uint4 loaded = from[j];
    value.x ^= loaded.x;
    value.y ^= loaded.y;
    value.z ^= loaded.z;
    value.w ^= loaded.w;
  }
  to[i] = value;
}

}  // namespace

cudaError_t copy(const std::byte* from, size_t read, std::byte* to, size_t written,
                 cudaStream_t stream) {
  const uint64_t reads = read / 16;
  const uint64_t writes = written / 16;
  const auto blocks = static_cast<unsigned>((writes + kThreads - 1) / kThreads);
  copy_kernel<<<blocks, kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(from), reads, reinterpret_cast<uint4*>(to), writes,
      static_cast<double>(reads) / static_cast<double>(writes));
  return cudaGetLastError();
}

}  // namespace dequant::bench

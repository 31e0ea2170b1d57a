// The kernels of copy(): a thread writes one or four times 16 bytes.
#include "copy.h"

#include <cstdint>

namespace dequant::bench {
namespace {

constexpr unsigned kThreads = 256;

/// Vector j is read by the thread in whose share of the reads it begins.
template <int kWrites>
__global__ void __launch_bounds__(kThreads)
    copy_kernel(const uint4* from, uint64_t read, uint4* to, uint64_t written, double reads_each) {
  const uint64_t first = uint64_t{blockIdx.x} * (kThreads * kWrites) + threadIdx.x;
  uint4 values[kWrites];
#pragma unroll
  for (int k = 0; k < kWrites; ++k) {
    const uint64_t i = first + uint64_t{k} * kThreads;
    const auto begin = static_cast<uint64_t>(static_cast<double>(i) * reads_each);
    const auto end =
        i + 1 < written ? static_cast<uint64_t>(static_cast<double>(i + 1) * reads_each) : read;
    values[k] = {1, 2, 3, 4};
    for (uint64_t j = begin; j < end; ++j) {
      const uint4 loaded = from[j];
      values[k].x ^= loaded.x;
      values[k].y ^= loaded.y;
      values[k].z ^= loaded.z;
      values[k].w ^= loaded.w;
    }
  }
#pragma unroll
  for (int k = 0; k < kWrites; ++k) {
    const uint64_t i = first + uint64_t{k} * kThreads;
    if (i < written) to[i] = values[k];
  }
}

template <int kWrites>
cudaError_t launch(const std::byte* from, uint64_t reads, std::byte* to, uint64_t writes,
                   cudaStream_t stream) {
  constexpr unsigned kInBlock = kThreads * kWrites;
  const auto blocks = static_cast<unsigned>((writes + kInBlock - 1) / kInBlock);
  copy_kernel<kWrites><<<blocks, kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(from), reads, reinterpret_cast<uint4*>(to), writes,
      static_cast<double>(reads) / static_cast<double>(writes));
  return cudaGetLastError();
}

}  // namespace

cudaError_t copy(int writes, const std::byte* from, size_t read, std::byte* to, size_t written,
                 cudaStream_t stream) {
  return writes == 1 ? launch<1>(from, read / 16, to, written / 16, stream)
                     : launch<4>(from, read / 16, to, written / 16, stream);
}

}  // namespace dequant::bench

// DEQUANT_HD marks functions that CUDA kernels share with the scalar reference. Functions that are
// constexpr need no mark.
#pragma once

#if defined(__CUDACC__)
#define DEQUANT_HD __host__ __device__
/// A function that kernels call rather than repeat.
#define DEQUANT_HD_CALL __host__ __device__ __noinline__
#else
#define DEQUANT_HD
#define DEQUANT_HD_CALL
#endif

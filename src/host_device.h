// DEQUANT_HD marks functions that CUDA kernels share with the scalar reference. Functions that are
// constexpr need no mark.
#pragma once

#if defined(__CUDACC__)
#define DEQUANT_HD __host__ __device__
#else
#define DEQUANT_HD
#endif

/* Plans of dequant.h on a CUDA device: the library dequant::cuda, which -DDEQUANT_CUDA=ON builds.
 * C99 and C++11, or later; needs no header of CUDA. Structs and errors are as in dequant.h. The
 * results have the bits of dequant_run on every device. */
#ifndef DEQUANT_CUDA_H_
#define DEQUANT_CUDA_H_

#include "dequant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What only the device can see of its tensors: bits of *faults. */
typedef enum dequant_cuda_fault {
  DEQUANT_CUDA_GROUP_INDEX = 1, /* an entry is no group; the elements that read it are NaN */
  DEQUANT_CUDA_ZERO_POINT = 2   /* that of a float is not zero; the results are those of zero */
} dequant_cuda_fault;

/* How to run. A NULL pointer in place of it means all zero. */
typedef struct dequant_cuda_options {
  size_t struct_size;
  void* stream; /* a cudaStream_t; NULL is the default stream */
  /* A number in memory that the device writes, aligned to 4 bytes. Kernels set bits of it, and
   * clear none: set it to zero before, and read it after the stream has been synchronized. May be
   * NULL for plans without dequant_cuda_needs_faults. */
  uint32_t* faults;
  /* A copy of dequant_cuda_codebook on the device, of plans that have one. */
  const void* codebook;
  uint64_t codebook_bytes;
} dequant_cuda_options;

/* 1 for plans whose tensors may have a dequant_cuda_fault, else 0; 0 for NULL. */
DEQUANT_EXPORT int dequant_cuda_needs_faults(const dequant_plan* plan);

/* The codebook that the scheme of a plan fixes, in memory of the host, valid until the plan is
 * freed, and its bytes. NULL and 0 for all other plans. */
DEQUANT_EXPORT const void* dequant_cuda_codebook(const dequant_plan* plan, uint64_t* bytes);

/* dequant_run and dequant_run_scheme on memory that the current device can access, which stays
 * valid until the kernels have ended. Asynchronous on the stream; allocates nothing, and waits for
 * nothing, so that a graph may capture the call. Fails before the launch, as dequant_run does but
 * for faults, with DEQUANT_INVALID_ARGUMENT where `faults` or `codebook` is missing, and with
 * DEQUANT_UNSUPPORTED where the device or the driver cannot run the kernels. */
DEQUANT_EXPORT dequant_code dequant_cuda_run(const dequant_plan* plan,
                                             const dequant_buffers* buffers,
                                             const dequant_cuda_options* options,
                                             dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_cuda_run_scheme(const dequant_plan* plan,
                                                    const dequant_scheme_buffers* buffers,
                                                    const dequant_cuda_options* options,
                                                    dequant_error* error);

/* The bytes [begin, end) of a tensor. */
typedef struct dequant_cuda_slice {
  uint64_t begin;
  uint64_t end;
} dequant_cuda_slice;

/* The bytes of each tensor that a range of elements needs; empty for tensors that the plan does not
 * take. */
typedef struct dequant_cuda_slices {
  size_t struct_size;
  dequant_cuda_slice x;
  dequant_cuda_slice scale;
  dequant_cuda_slice zero_point;
  dequant_cuda_slice min_range;
  dequant_cuda_slice max_range;
  dequant_cuda_slice y;
} dequant_cuda_slices;

/* Fills *slices, whose struct_size the caller has set, for the elements [begin, end), which are
 * counted row-major in y. Fails with DEQUANT_INVALID_ARGUMENT for a range that is not within the
 * tensor, for operators of DirectML, and for plans of schemes: of these dequant_cuda_scheme_slices
 * has the tensors. */
DEQUANT_EXPORT dequant_code dequant_cuda_slices_of(const dequant_plan* plan, int64_t begin,
                                                   int64_t end, dequant_cuda_slices* slices,
                                                   dequant_error* error);
/* The same of a scheme: tensors[i] for the tensor i of the node, of tensor_count, and *y. */
DEQUANT_EXPORT dequant_code dequant_cuda_scheme_slices(const dequant_plan* plan, int64_t begin,
                                                       int64_t end, dequant_cuda_slice* tensors,
                                                       size_t tensor_count, dequant_cuda_slice* y,
                                                       dequant_error* error);

/* The elements of a row, at least 1; 0 for NULL. Ranges that begin and end with multiples of it
 * have one kernel; what is left of rows at both ends of others has kernels of its own, which are
 * slower. */
DEQUANT_EXPORT int64_t dequant_cuda_row_elements(const dequant_plan* plan);

/* Dequantizes the elements [begin, end): the buffers have just their slices. Fails as above. A
 * whole group index is checked only for these elements. */
DEQUANT_EXPORT dequant_code dequant_cuda_run_range(const dequant_plan* plan, int64_t begin,
                                                   int64_t end, const dequant_buffers* buffers,
                                                   const dequant_cuda_options* options,
                                                   dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_cuda_run_scheme_range(const dequant_plan* plan, int64_t begin,
                                                          int64_t end,
                                                          const dequant_scheme_buffers* buffers,
                                                          const dequant_cuda_options* options,
                                                          dequant_error* error);

#ifdef __cplusplus
}
#endif

#endif

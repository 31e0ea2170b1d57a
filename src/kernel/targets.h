// The instruction sets that the kernels are compiled for, and the choice of one at run time. Every
// kernel file includes this header before Highway.
#pragma once

#include <string_view>

#include "kernel/kernel.h"

// A build without AVX-512: the CMake option DEQUANT_AVX512.
#ifdef DEQUANT_WITHOUT_AVX512
#define DEQUANT_LEFT_OUT (HWY_AVX3 | HWY_AVX3_DL)
#else
#define DEQUANT_LEFT_OUT 0
#endif

// SSSE3 is not compiled: processors without SSE4.1 run the reference kernels. SVE is not compiled:
// on Arm only NEON has been measured.
#define DEQUANT_NOT_COMPILED \
  (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | DEQUANT_LEFT_OUT)
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS DEQUANT_NOT_COMPILED
#endif
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif

// False in the pass without vectors that Highway always compiles. Processors without SSE4.1 (x86)
// or NEON (Arm) run the reference kernels instead, which give the same bits.
#define DEQUANT_VECTOR_PASS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

namespace dequant {

/// The kernels of the active target.
const Table& active_table() noexcept;

/// The kernels of a target by its name, for tests; null if the name is not in dequant::targets().
const Table* table_of(std::string_view target) noexcept;

/// Makes the non-temporal stores of this thread visible to other threads. Must be called once after
/// kernels that stream.
void flush_streams() noexcept;

// Each function puts the kernels or helpers of its file into `table`, as compiled for one Highway
// target; it does nothing if the file was not compiled for the target.
void fill_int_kernels(int64_t target, Table& table);
void fill_subbyte_kernels(int64_t target, Table& table);
void fill_float_kernels(int64_t target, Table& table);
void fill_range_kernels(int64_t target, Table& table);
void fill_helpers(int64_t target, Table& table);
void fill_unpacking(int64_t target, Table& table);
void fill_results(int64_t target, Table& table);
void fill_lookups(int64_t target, Table& table);
void fill_codebook_kernels(int64_t target, Table& table);
void fill_block_kernels(int64_t target, Table& table);
void fill_transposes(int64_t target, Table& table);

/// Replaces kernels with the output bfloat16 in the table of processors with AVX512-BF16.
void fill_bfloat16_kernels(Table& table);

/// True if this processor has AVX512-FP16 and the compiler supports it.
bool computes_float16() noexcept;

/// Replaces kernels with the output float16 by kernels that compute in float16.
void fill_float16_kernels(Table& table);

}  // namespace dequant

/// Calls FUNC(table) as compiled for a Highway target, which this processor must be able to run.
#define DEQUANT_FILL(target, FUNC, table) \
  do {                                    \
    void (*fill)(Table&) = nullptr;       \
    if ((target) == HWY_AVX3_DL)          \
      fill = HWY_CHOOSE_AVX3_DL(FUNC);    \
    else if ((target) == HWY_AVX3)        \
      fill = HWY_CHOOSE_AVX3(FUNC);       \
    else if ((target) == HWY_AVX2)        \
      fill = HWY_CHOOSE_AVX2(FUNC);       \
    else if ((target) == HWY_SSE4)        \
      fill = HWY_CHOOSE_SSE4(FUNC);       \
    else if ((target) == HWY_NEON)        \
      fill = HWY_CHOOSE_NEON(FUNC);       \
    else                                  \
      fill = HWY_CHOOSE_FALLBACK(FUNC);   \
    if (fill != nullptr) fill(table);     \
  } while (false)

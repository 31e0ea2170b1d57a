// Which instruction sets the kernels are compiled for, and the choice of one at run time. Included
// before Highway in every kernel file.
#pragma once

#include <string_view>

#include "kernel/kernel.h"

// SSSE3 adds nothing these kernels use; on Arm NEON is the one measured.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif

// Highway always compiles a pass without vectors. There the reference kernels serve: the same bits,
// and only processors older than SSE4.1 (x86) or NEON (Arm) meet them.
#define DEQUANT_VECTOR_PASS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

namespace dequant {

/// The kernels of the active target.
const Table& active_table() noexcept;

/// The kernels of one of dequant::targets(), for tests; null for any other name.
const Table* table_of(std::string_view target) noexcept;

/// Makes streamed stores of this thread visible to others; call once after the kernels that
/// streamed.
void flush_streams() noexcept;

// Each fills its elements' kernels for one Highway target, if it was compiled for it.
void fill_int_kernels(int64_t target, Table& table);
void fill_subbyte_kernels(int64_t target, Table& table);
void fill_float_kernels(int64_t target, Table& table);
void fill_range_kernels(int64_t target, Table& table);
void fill_helpers(int64_t target, Table& table);
void fill_transposes(int64_t target, Table& table);

/// Puts kernels to bfloat16 over those of a table for processors with AVX512-BF16.
void fill_bfloat16_kernels(Table& table);

/// True if this processor has AVX512-FP16 and this compiler knows it.
bool computes_float16() noexcept;

/// Puts kernels that compute in float16 over those of a table.
void fill_float16_kernels(Table& table);

}  // namespace dequant

/// Calls FUNC(table) as compiled for a Highway target that the caller has found to run here.
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

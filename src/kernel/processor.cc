#include "kernel/processor.h"

#include "hwy/detect_targets.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#elif HWY_ARCH_ARM_A64
#include <sys/auxv.h>
#endif

namespace dequant {

#if HWY_ARCH_X86

namespace {

/// Extensions whose names not every compiler's __builtin_cpu_supports() knows. Their instructions
/// need no state beyond that of AVX, which it checks.
struct OtherExtensions {
  bool f16c = false;
  bool vaes = false;

  OtherExtensions() noexcept {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) != 0) f16c = (c >> 29 & 1) != 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) vaes = (c >> 9 & 1) != 0;
  }
};

}  // namespace

// Each target is compiled for these extensions and those of the targets before it: HWY_TARGET_STR
// in Highway's ops/set_macros-inl.h.
int64_t processor_targets() noexcept {
  __builtin_cpu_init();
  const OtherExtensions other;
  int64_t targets = 0;
  if (!__builtin_cpu_supports("ssse3") || !__builtin_cpu_supports("sse4.1") ||
      !__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("aes")) {
    return targets;
  }
  targets |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma") || !other.f16c) {
    return targets;
  }
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw")) {
    return targets;
  }
  targets |= HWY_AVX3;
  // The kernels of AVX3_DL also use AVX512-BF16: src/kernel/decode-inl.h.
  if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
      __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq") &&
      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("vpclmulqdq") && other.vaes &&
      __builtin_cpu_supports("avx512bf16")) {
    targets |= HWY_AVX3_DL;
  }
  return targets;
}

#elif HWY_ARCH_ARM_A64

// Highway compiles NEON with the extension for AES, which a few processors of 64 bits lack.
int64_t processor_targets() noexcept {
  return (getauxval(AT_HWCAP) & HWCAP_AES) != 0 ? HWY_NEON : 0;
}

#else

int64_t processor_targets() noexcept { return 0; }

#endif

}  // namespace dequant

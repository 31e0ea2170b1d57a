// The floating-point state the promises of docs/numerics.md need: round to nearest, subnormals
// kept, no traps. Set for the length of a scope, then given back as it was, exception flags
// included.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dequant {

class FloatEnvironment {
 public:
  FloatEnvironment() noexcept : saved_(read()) {
    if ((saved_ & ~kFlags) != kDefault) write(kDefault);
  }
  // Writing is cheap. Asking first whether a flag was raised is not: processors take a detour of
  // hundreds of cycles to answer.
  ~FloatEnvironment() { write(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__SSE__)
  // MXCSR: all exceptions masked, nearest even, no FTZ, no DAZ. The flags change no result.
  static constexpr uint64_t kDefault = 0x1F80;
  static constexpr uint64_t kFlags = 0x003F;
  static uint64_t read() noexcept { return _mm_getcsr(); }
  static void write(uint64_t state) noexcept { _mm_setcsr(static_cast<uint32_t>(state)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kDefault = 0;
  static constexpr uint64_t kFlags = 0;  // FPSR has them
  static uint64_t read() noexcept {
    uint64_t fpcr = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
  }
  static void write(uint64_t state) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
  static constexpr uint64_t kDefault = 0;
  static constexpr uint64_t kFlags = 0;
  static uint64_t read() noexcept { return 0; }
  static void write(uint64_t) noexcept {}
#endif
  uint64_t saved_;
};

}  // namespace dequant

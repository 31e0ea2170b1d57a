// Loops that a program could write instead of a call: uint8 to float32, one scale, one zero point.
#pragma once

#include <cstdint>

namespace small_bench {

struct Loop {
  const uint8_t* x;
  float scale;
  uint8_t zero_point;
  int64_t count;
  float* y;
};

// Functions that run the same loop `times` times. The compiler knows no value of the loop.
void scalar_loop(const Loop& loop, int64_t times);  ///< not vectorized
void vector_loop(const Loop& loop, int64_t times);  ///< vectorized by the compiler

/// A compiler barrier: memory may have been read and changed here.
inline void forget() { asm volatile("" : : : "memory"); }

}  // namespace small_bench

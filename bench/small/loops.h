// What a program would write in place of a call: uint8 to float32, one scale, one zero point.
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

// The same loop, inlined into a function that makes it `times` times; nothing is known of the
// values.
void scalar_loop(const Loop& loop, int64_t times);  ///< one element after another
void vector_loop(const Loop& loop, int64_t times);  ///< as the compiler makes vectors of it

/// The compiler takes it that everything in memory was looked at and may have changed.
inline void forget() { asm volatile("" : : : "memory"); }

}  // namespace small_bench

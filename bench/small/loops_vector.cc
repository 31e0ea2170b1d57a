// Compiled with automatic vectorization: see CMakeLists.txt.
#include "loops.h"

namespace small_bench {

void vector_loop(const Loop& loop, int64_t times) {
  for (; times > 0; --times) {
    forget();
    const Loop l = loop;
    const int z = l.zero_point;
    const uint8_t* __restrict x = l.x;
    float* __restrict y = l.y;
    for (int64_t i = 0; i < l.count; ++i) y[i] = static_cast<float>(x[i] - z) * l.scale;
  }
}

}  // namespace small_bench

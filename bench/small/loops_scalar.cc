// Compiled without vectorization: see CMakeLists.txt.
#include "loops.h"

namespace small_bench {

void scalar_loop(const Loop& loop, int64_t times) {
  for (; times > 0; --times) {
    forget();
    const Loop l = loop;
    const int z = l.zero_point;
    for (int64_t i = 0; i < l.count; ++i) l.y[i] = static_cast<float>(l.x[i] - z) * l.scale;
  }
}

}  // namespace small_bench

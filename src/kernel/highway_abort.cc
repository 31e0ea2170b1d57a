// Highway's assertions, which builds without optimization and with sanitizers contain, end here
// instead of in Highway's library: src/kernel/processor.h says why that is not linked.
#include "hwy/base.h"

#if HWY_IS_DEBUG_BUILD

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace hwy {

// Weak: a program may also link Highway's library, which has the same function.
[[gnu::weak]] void Abort(const char* file, int line, const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::fprintf(stderr, "Abort at %s:%d: ", file, line);
  std::vfprintf(stderr, format, values);
  std::fputc('\n', stderr);
  va_end(values);
  std::abort();
}

}  // namespace hwy

#endif

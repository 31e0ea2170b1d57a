// The size of the last-level cache, asked of the system once.
#include "execute/cache.h"

#include <unistd.h>

namespace dequant {

int64_t last_level_cache_bytes() noexcept {
  static const int64_t bytes = [] {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    if (const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE); l3 > 0) return int64_t{l3};
#endif
    return int64_t{32} << 20;
  }();
  return bytes;
}

}  // namespace dequant

// How much output stays in the caches, asked of the system once.
#include "execute/cache.h"

#include <unistd.h>

#include <algorithm>

namespace dequant {
namespace {

/// A large last-level cache is shared by many cores and, under a hypervisor, by other machines; a
/// thread's part of it is about this.
constexpr int64_t kShare = 16 << 20;

}  // namespace

int64_t cached_output_bytes() noexcept {
  static const int64_t bytes = [] {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    if (const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE); l3 > 0)
      return std::min(int64_t{l3}, kShare);
#endif
    return kShare;
  }();
  return bytes;
}

}  // namespace dequant

// How much output stays in the caches, asked of the system once.
#include "execute/cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace dequant {
namespace {

/// A large last-level cache is shared by many cores and, under a hypervisor, by other machines; a
/// thread's part of it is about this.
constexpr int64_t kShare = 16 << 20;

int64_t ask() noexcept {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE); l3 > 0) return std::min(int64_t{l3}, kShare);
#endif
  return kShare;
}

}  // namespace

int64_t cached_output_bytes() noexcept {
  // Whoever comes first asks, and so may a second: to wait for the first would hang the child of a
  // fork.
  static std::atomic<int64_t> known = 0;
  int64_t bytes = known.load(std::memory_order_relaxed);
  if (bytes == 0) known.store(bytes = ask(), std::memory_order_relaxed);
  return bytes;
}

}  // namespace dequant

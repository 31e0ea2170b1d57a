// The size of the last-level cache, read from the system once.
#include "execute/cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace dequant {
namespace {

/// A large last-level cache is shared by many cores and, under a hypervisor, by other machines; a
/// thread's part of it is about this.
constexpr int64_t kShare = 16 << 20;

int64_t read_size() noexcept {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE); l3 > 0) return std::min(int64_t{l3}, kShare);
#endif
  return kShare;
}

}  // namespace

int64_t cached_output_bytes() noexcept {
  // Two threads may both read the size. A lock would hang the child of a fork that happens while
  // the lock is held.
  static std::atomic<int64_t> known = 0;
  int64_t bytes = known.load(std::memory_order_relaxed);
  if (bytes == 0) known.store(bytes = read_size(), std::memory_order_relaxed);
  return bytes;
}

}  // namespace dequant

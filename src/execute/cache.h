// The size of the last-level cache.
#pragma once

#include <cstdint>

namespace dequant {

/// In bytes; a guess of 32 MiB where the system does not tell.
int64_t last_level_cache_bytes() noexcept;

}  // namespace dequant

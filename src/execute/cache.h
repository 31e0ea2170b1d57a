// The size of outputs that stay in the caches.
#pragma once

#include <cstdint>

namespace dequant {

/// Outputs of more bytes are streamed: their first bytes would be evicted from the caches before
/// anyone reads them.
int64_t cached_output_bytes() noexcept;

}  // namespace dequant

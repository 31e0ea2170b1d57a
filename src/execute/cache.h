// How much output stays in the caches.
#pragma once

#include <cstdint>

namespace dequant {

/// Larger outputs are streamed: they would push each other out of the caches before anyone reads
/// them.
int64_t cached_output_bytes() noexcept;

}  // namespace dequant

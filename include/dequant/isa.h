// Which instruction sets this library carries, which the processor has, and which one is in use.
// All give the same bits.
#pragma once

#include <span>
#include <string_view>

#include "dequant/export.h"
#include "dequant/status.h"

namespace dequant {

/// Names of the targets that run here, best first: some of "avx512_fp16", "avx512_bf16",
/// "avx512", "avx2", "sse4", "neon", and always "reference" (the scalar definition: slow on purpose).
DEQUANT_EXPORT std::span<const std::string_view> targets() noexcept;

/// The one in use: the best, unless the environment variable DEQUANT_FORCE_TARGET, read when
/// the library is loaded, or force_target() named another. An unknown name in the variable is ignored.
DEQUANT_EXPORT std::string_view active_target() noexcept;

/// Uses the named target from now on, for the whole process. Fails with invalid_argument if it is
/// not one of targets().
DEQUANT_EXPORT Status force_target(std::string_view name);

}  // namespace dequant

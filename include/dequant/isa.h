// Targets: the instruction sets that the library's kernels are compiled for. The library chooses
// the best one that the processor has; a program may choose another. All give the same bits.
#pragma once

#include <span>
#include <string_view>

#include "dequant/export.h"
#include "dequant/status.h"

namespace dequant {

/// Names of the targets that this processor can run, fastest first: some of "avx512_fp16",
/// "avx512_bf16", "avx512", "avx2", "sse4" and "neon", and always "reference", the scalar
/// definition, which is never optimized. The span and the names are valid until the process ends.
DEQUANT_EXPORT std::span<const std::string_view> targets() noexcept;

/// The name of the target that run() uses: the first of targets(), unless force_target() or the
/// environment variable DEQUANT_FORCE_TARGET named another. The variable is read once, when the
/// library is loaded; a name in it that is not one of targets() is ignored.
DEQUANT_EXPORT std::string_view active_target() noexcept;

/// Makes run() use the named target from now on, in all threads of the process. Call it while no
/// other thread is in run(). Fails with invalid_argument, and changes nothing, if `name` is not one
/// of targets().
DEQUANT_EXPORT Status force_target(std::string_view name);

}  // namespace dequant

// What the processor can run, asked without Highway's library.
#pragma once

#include <cstdint>

namespace dequant {

/// The Highway targets (HWY_AVX2 and others, joined by or) all of whose extensions this processor
/// has and its operating system saves; 0 on architectures without kernels.
///
/// hwy::SupportedTargets() tells the same. A program that calls it loads Highway's shared library,
/// which measures the resolution of the clock whenever it is loaded: 4.7 ms, as long as everything
/// else from the start of `dequant --version` to its end.
int64_t processor_targets() noexcept;

}  // namespace dequant

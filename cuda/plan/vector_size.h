// How many elements a thread computes: 16 bytes of output.
#pragma once

#include "dequant/element.h"

namespace dequant::cuda {

/// Threads of a block of threads, of all kernels.
inline constexpr uint32_t kThreadsOfBlock = 256;

constexpr int vector_elements(Element output) noexcept {
  return output == Element::float32 ? 4 : 8;
}

template <Element kOutput>
inline constexpr int kVector = vector_elements(kOutput);

}  // namespace dequant::cuda

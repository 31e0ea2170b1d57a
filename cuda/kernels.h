// The kernel of a DevicePlan: one for each output, and for blocks one for each type and output.
#pragma once

#include "cuda/thread.h"

namespace dequant::cuda {

/// The bodies of kernels, as types.
template <Element kOutput>
struct ElementsBody {
  DEQUANT_HD static void run(const DevicePlan& p, int64_t thread) noexcept {
    run_thread<kOutput>(p, thread);
  }
};

template <BlockType kType, Element kOutput>
struct BlocksBody {
  DEQUANT_HD static void run(const DevicePlan& p, int64_t thread) noexcept {
    run_block_thread<kType, kOutput>(p, thread);
  }
};

/// Calls launch.template operator()<Body>() for the output of a plan.
template <template <Element> class Body, class Launch>
auto with_output(Element output, const Launch& launch) {
  switch (output) {
    case Element::float16: return launch.template operator()<Body<Element::float16>>();
    case Element::bfloat16: return launch.template operator()<Body<Element::bfloat16>>();
    default: return launch.template operator()<Body<Element::float32>>();
  }
}

/// The same for the body of blocks of its type.
template <class Launch>
auto with_blocks_body(const DevicePlan& p, const Launch& launch) {
  switch (p.block_type) {
#define DEQUANT_BLOCK(name, ...)                                                              \
  case BlockType::name: {                                                                     \
    const auto of_type = [&]<Element kOutput>() {                                             \
      return launch.template operator()<BlocksBody<BlockType::name, kOutput>>();              \
    };                                                                                        \
    if (p.output == Element::float32) return of_type.template operator()<Element::float32>(); \
    if (p.output == Element::float16) return of_type.template operator()<Element::float16>(); \
    return of_type.template operator()<Element::bfloat16>();                                  \
  }
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
  }
  return launch.template operator()<BlocksBody<BlockType::Q4_0, Element::float32>>();  // no type
}

}  // namespace dequant::cuda

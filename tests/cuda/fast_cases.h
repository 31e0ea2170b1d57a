// Plans that should have fast kernels, on aligned copies of their tensors.
#pragma once

#include "cuda/on_device.h"
#include "cuda/plan/fast.h"
#include "cuda/plan/lower.h"
#include "support/random_plan.h"

namespace dequant::testing {

/// True if the plan has a fast kernel for these elements of the buffers.
inline bool is_fast(const Plan& plan, Range range, const Buffers& buffers) {
  uint32_t faults = 0;
  const auto lowered = cuda::lower(plan, range, buffers, {.faults = &faults});
  EXPECT_TRUE(lowered) << lowered.error().message;
  return lowered && cuda::fast_plan(*lowered).has_value();
}

/// Memory of the tests is not aligned by itself.
struct Aligned {
  explicit Aligned(Tensors& t) : x(t.x), scale(t.scale), y(t.y), codebook(t.codebook) {
    buffers = t.buffers();
    buffers.x = place(x);
    buffers.scale = place(scale);
    buffers.codebook = place(codebook);
    buffers.y = place(y);
  }
  static std::span<std::byte> place(Bytes& bytes) {
    const size_t size = bytes.size();
    bytes.resize(size + 64);
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    const size_t start = (64 - address % 64) % 64;
    std::move_backward(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size),
                       bytes.begin() + static_cast<ptrdiff_t>(size + start));
    return std::span(bytes).subspan(start, size);
  }
  Bytes x, scale, y, codebook;
  Buffers buffers;
};

/// A strided plan of tests.
struct FastShape {
  const char* name;
  Dimensions dimensions;  ///< {size, x, scale, zero point, y}
  Packing packing = {};
};

inline void expect_fast(Plan plan, const Dimensions& dimensions, Random& random) {
  plan.granularity = Granularity::strided;
  plan.dimensions = dimensions;
  Tensors t = random_tensors(random, plan, 0);
  Aligned aligned(t);
  const int64_t count = element_count(plan);
  EXPECT_TRUE(is_fast(plan, {0, count}, aligned.buffers)) << to_string(plan);
  ASSERT_TRUE(same_on_device(plan, {0, count}, t.buffers(), 0));
  ASSERT_TRUE(same_on_device(plan, {0, count}, t.buffers(), 1));
}

}  // namespace dequant::testing

// From a node to its output without the heap: what a runtime may do at every call.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "dequant/onnx.h"
#include "support/expect_error.h"
#include "support/packed.h"

namespace {

// Of this thread.
thread_local long allocations = 0;

}  // namespace

// All forms of operator new call this one. Not inlined: compilers that see malloc() and free()
// behind new and delete warn of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* block = std::malloc(size != 0 ? size : 1)) return block;
  throw std::bad_alloc();
}

[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size != 0 ? size : 1);
}

[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace dequant::allocation_test {
namespace {

using testing::Bytes;
using testing::succeeds;
using enum Element;

/// Allocations while a node becomes a plan and the plan is run.
long allocations_of(const onnx::DequantizeLinear& node, const Buffers& buffers,
                    const RunOptions& options) {
  const long before = allocations;
  bool good = false;
  {
    const auto plan = onnx::dequantize_linear(node);
    good = plan && static_cast<bool>(run(*plan, buffers, options));
  }
  const long made = allocations - before;
  EXPECT_TRUE(good);
  return made;
}

/// As a caller's threads would be, so that tasks are counted.
Executor in_order() {
  return {[](void*, size_t count, Executor::Task task, void* context) {
            for (size_t i = 0; i < count; ++i) task(context, i);
          },
          nullptr};
}

struct Case {
  std::vector<int64_t> x;
  std::vector<int64_t> scale;
  int64_t block = 0;
};

TEST(Allocation, IsNotNeededFromANodeToItsOutput) {
  for (const Case& c : {Case{{16}, {}}, Case{{4, 4}, {4}}, Case{{2, 64, 4}, {2, 2, 4}, 32},
                        Case{{2, 4}, {2, 1}, 4}, Case{{0}, {}}, Case{{3, 70'000}, {70'000}}}) {
    for (const Element x : {uint8, int4, float8e4m3fn}) {
      for (const Element y : {float32, bfloat16}) {
        onnx::DequantizeLinear node;
        node.x = {x, c.x};
        node.x_scale = {float32, c.scale};
        node.x_zero_point = TensorType{x, c.scale};
        if (c.block != 0) node.block_size = c.block;
        node.output_dtype = onnx_code(y);
        const auto count = static_cast<size_t>(*element_count(c.x));
        const Bytes codes(count), scales(300'000), zeros(70'000);
        Bytes out(count * 4);
        const Buffers buffers{codes, scales, zeros, out};
        EXPECT_EQ(allocations_of(node, buffers, {.executor = sequential_executor()}), 0);
        EXPECT_EQ(allocations_of(node, buffers, {.executor = in_order()}), 0);
        if (count < 100) {
          EXPECT_EQ(allocations_of(node, buffers, {}), 0);
        }
      }
    }
  }
}

TEST(Allocation, IsSeenByTheseTests) {
  const long before = allocations;
  onnx::DequantizeLinear node;
  node.opset = 9;
  EXPECT_FALSE(onnx::dequantize_linear(node)) << "a refusal has a sentence";
  EXPECT_GT(allocations, before);
}

}  // namespace
}  // namespace dequant::allocation_test

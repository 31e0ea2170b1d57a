// What cuda::run() refuses before a launch, in the words of run().
#include <gtest/gtest.h>

#include "dequant/cuda.h"
#include "support/expect_error.h"
#include "support/packed.h"

namespace dequant::cuda::calls_test {
namespace {

using dequant::testing::Bytes;
using dequant::testing::is_invalid;
using enum Element;

/// Eight codes, one scale.
struct Call {
  Plan plan{.input = uint8, .inner = 8};
  Bytes x = Bytes(8);
  Bytes scale = Bytes(4);
  Bytes zero_point = {};
  Bytes y = Bytes(32);

  Status run(const RunOptions& options = {}) const {
    auto& out = const_cast<Bytes&>(y);
    return cuda::run(plan, {x, scale, zero_point, out}, options);
  }
};

TEST(CudaCalls, OfABufferThatIsTooSmallNameIt) {
  Call call;
  call.x.pop_back();
  EXPECT_TRUE(is_invalid(call.run(), "x: 7 bytes given, 8 needed"));
}

TEST(CudaCalls, WhoseOutputOverlapsAnInputAreRefused) {
  Call call;
  const std::span y(call.y);
  EXPECT_TRUE(is_invalid(cuda::run(call.plan, {y.subspan(4, 8), call.scale, {}, y}), "overlaps x"));
}

TEST(CudaCalls, OfPlansThatBreakARuleSayWhich) {
  Call call;
  call.plan.inner = int64_t{1} << 62;
  call.plan.outer = 8;
  EXPECT_TRUE(is_invalid(call.run(), ""));
  call.plan = {.input = uint8, .output = uint8, .inner = 8};
  EXPECT_TRUE(is_invalid(call.run(), "plan.output"));
}

TEST(CudaCalls, OfARangeBeyondTheTensorAreRefused) {
  Call call;
  EXPECT_TRUE(is_invalid(cuda::run_range(call.plan, {4, 9}, {call.x, call.scale, {}, call.y}),
                         "[4, 9) is not within the 8"));
}

TEST(CudaCalls, NeedFaultsForValuesThatOnlyTheDeviceSees) {
  Call call;
  EXPECT_FALSE(needs_faults(call.plan));
  call.plan.input = float8e4m3fn;
  EXPECT_FALSE(needs_faults(call.plan));
  call.plan.has_zero_point = true;
  call.zero_point = Bytes(1);
  EXPECT_TRUE(needs_faults(call.plan));
  EXPECT_TRUE(is_invalid(call.run(), "faults: null, but the values of the plan's zero_point"));
  alignas(4) std::array<std::byte, 8> faults{};
  EXPECT_TRUE(call.run({.faults = reinterpret_cast<uint32_t*>(faults.data())}));
  EXPECT_TRUE(is_invalid(call.run({.faults = reinterpret_cast<uint32_t*>(faults.data() + 1)}),
                         "not aligned"));
}

TEST(CudaCalls, OfNoElementsWriteNothing) {
  Call call;
  call.plan.inner = 0;
  EXPECT_TRUE(call.run());
  EXPECT_TRUE(cuda::run(call.plan, {}));
  EXPECT_EQ(call.y, Bytes(32));
}

}  // namespace
}  // namespace dequant::cuda::calls_test

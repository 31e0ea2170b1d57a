// Hostile input: what is no plan, numbers of threads, and the state of the host.
#include <cfenv>
#include <climits>
#include <clocale>

#include "c_api/hostile.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dequant::testing::c::hostile_host_test {
namespace {

TEST(Hostile, FreeingNothingIsNothing) {
  dequant_plan_free(nullptr);
  dequant_plan_free(nullptr);
}

TEST(Hostile, MemoryThatIsNoPlanIsRefused) {
  for (const unsigned char fill : Memory{0x00, 0xFF, 0xA5}) {
    alignas(64) unsigned char memory[1024];
    std::memset(memory, fill, sizeof memory);
    auto* no_plan = reinterpret_cast<dequant_plan*>(memory);
    const auto buffers = sized<dequant_buffers>();
    auto sizes = sized<dequant_sizes>();
    EXPECT_TRUE(
        is_invalid(call([&](auto* e) { return dequant_run(no_plan, &buffers, nullptr, e); }),
                   "plan: no plan"));
    EXPECT_TRUE(is_invalid(call([&](auto* e) { return dequant_plan_sizes(no_plan, &sizes, e); }),
                           "plan: no plan"));
    EXPECT_STREQ(dequant_plan_text(no_plan), "");
    dequant_plan_free(no_plan);
    EXPECT_EQ(memory[0], fill);
  }
}

TEST(Hostile, AnyNumberOfThreadsRunsUnlessItIsNegative) {
  const auto planned = plan(OnnxNode{.x_dims = {300'000}});
  Buffers b{.x = Memory(300'000, 1),
            .scale = bytes_of<float>({2.0F}),
            .y = Memory(1'200'000, kUntouched)};
  auto options = sized<dequant_options>();
  for (const int threads : {-1, -1'000'000, INT_MIN}) {
    options.threads = threads;
    EXPECT_TRUE(is_invalid(run(planned, b.view(), &options), "threads: "));
    EXPECT_EQ(b.y, Memory(1'200'000, kUntouched));
  }
  for (const int threads : {0, 1, 1'000'000, INT_MAX}) {
    options.threads = threads;
    b.y.assign(1'200'000, kUntouched);
    EXPECT_TRUE(succeeds(run(planned, b.view(), &options)));
    EXPECT_EQ(numbers_of<float>(b.y), std::vector<float>(300'000, 2.0F)) << threads;
  }
}

/// Inexact and subnormal products in float16, and ranges in float32.
struct Sensitive {
  const Planned linear = plan(OnnxNode{.x_dims = {256}, .output_dtype = DEQUANT_FLOAT16});
  const Planned ranges = plan(TensorFlowNode{.input_dims = {256}, .mode = DEQUANT_MIN_FIRST});
  Buffers linear_buffers{
      .x = Memory(256), .scale = bytes_of<float>({0x1.5p-20F}), .y = Memory(512)};
  Buffers range_buffers{.x = Memory(256),
                        .min_range = bytes_of<float>({-0.3F}),
                        .max_range = bytes_of<float>({0x1.8p-130F}),
                        .y = Memory(1024)};

  Sensitive() {
    for (size_t i = 0; i < 256; ++i) {
      linear_buffers.x[i] = range_buffers.x[i] = static_cast<unsigned char>(i);
    }
  }
  Memory output() {
    Memory all = output_of(linear, linear_buffers);
    const Memory more = output_of(ranges, range_buffers);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST(Hostile, TheRoundingModeChangesNothingAndStays) {
  Sensitive sensitive;
  const Memory want = sensitive.output();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const Memory got = sensitive.output();
    const int left = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(got, want);
    EXPECT_EQ(left, mode);
  }
}

#if defined(__SSE__)

TEST(Hostile, FlushingAndTrapsChangeNothingAndStay) {
  Sensitive sensitive;
  const Memory want = sensitive.output();
  const unsigned before = _mm_getcsr();
  for (const unsigned state : {0x9FC0u, 0x0000u}) {  // flush both ways; every trap on
    _mm_setcsr(state);
    const Memory got = sensitive.output();
    const unsigned left = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(got, want);
    EXPECT_EQ(left, state);
  }
}

#endif

TEST(Hostile, ALocaleChangesNoNumberInAMessage) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const OnnxNode node{.scale_dims = {1234567}, .axis = 1};
  const std::string want = plan(node).outcome.message;
  EXPECT_NE(want.find("1234567"), std::string::npos);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8", ""}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;
    EXPECT_EQ(plan(node).outcome.message, want) << locale;
  }
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace dequant::testing::c::hostile_host_test

// The floating-point state of the host: it changes no bit, and run() leaves it as it was.
#include <gtest/gtest.h>

#include <cfenv>

#include "dequant/isa.h"
#include "support/example.h"
#include "support/forced_target.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dequant::host_state_test {
namespace {

using testing::Bytes;
using testing::Example;
using testing::expected;
using testing::Random;
using testing::random_example;
using testing::same_output;
using enum Element;

/// Restores the state of the floating-point unit, its flags included.
class Restore {
 public:
  Restore() { std::fegetenv(&environment_); }
  ~Restore() { std::fesetenv(&environment_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  std::fenv_t environment_;
};

struct Case {
  Example example;
  Bytes want;
};

/// Examples whose products are inexact, subnormal, overflow, or NaN, small and of several chunks.
std::vector<Case> make_cases() {
  Random random(1);
  std::vector<Example> list;
  for (const Element x : {int8, int32, uint32, int4, float8e5m2, float4e2m1}) {
    for (const Element scale : {float32, bfloat16, float8e8m0}) {
      for (const Element y : {float32, float16, bfloat16}) {
        list.push_back(random_example(random, {.x = {9, 70}, .scale = {70}}, {x, scale, y}));
      }
    }
    list.push_back(random_example(random,
                                  {.x = {200'000}, .scale = {12'500}, .axis = 0, .block = 16},
                                  {x, float32, float16}));
  }
  std::vector<Case> cases;
  for (Example& e : list) {
    Bytes want = expected(e);
    cases.push_back({std::move(e), std::move(want)});
  }
  return cases;
}

/// Runs every example on every target after set(), on the calling thread and on all processors.
/// Calls check(), which checks the state of the floating-point unit, after each run().
template <class Set, class Check>
void expect_same_bits_after(Set set, Check check) {
  static const std::vector<Case> cases = make_cases();
  for (const auto& [e, want] : cases) {
    for (const std::string_view target : targets()) {
      const testing::ForcedTarget forced(target);
      for (const Executor executor : {sequential_executor(), default_executor()}) {
        Bytes y(e.y_bytes());
        bool ran = false;
        {
          const Restore restore;
          set();
          ran = static_cast<bool>(
              run(e.plan, {e.x, e.scale, e.zero_point, y}, {.executor = executor}));
          check();
        }
        ASSERT_TRUE(ran);
        ASSERT_TRUE(same_output(e, y, want)) << target;
      }
    }
  }
}

TEST(HostState, RoundingModeChangesNoBitAndStays) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    expect_same_bits_after([&] { std::fesetround(mode); },
                           [&] { EXPECT_EQ(std::fegetround(), mode); });
  }
}

#if defined(__SSE__)

constexpr unsigned kFlags = 0x003F;  // sticky: what happened
constexpr unsigned kSubnormalsAreZero = 0x0040;
constexpr unsigned kMasks = 0x1F80;  // set: no trap
constexpr unsigned kFlushToZero = 0x8000;

TEST(HostState, FlushingSubnormalsChangesNoBitAndStays) {
  for (const unsigned mode :
       {kSubnormalsAreZero, kFlushToZero, kSubnormalsAreZero | kFlushToZero, 0x6000u}) {
    unsigned before = 0;
    expect_same_bits_after(
        [&] {
          _mm_setcsr(_mm_getcsr() | mode);
          before = _mm_getcsr() & ~kFlags;
        },
        [&] { EXPECT_EQ(_mm_getcsr() & ~kFlags, before); });
  }
}

TEST(HostState, EnabledTrapsDoNotTrapAndStay) {
  expect_same_bits_after([] { _mm_setcsr(0x1F80 & ~kMasks); },
                         [] { EXPECT_EQ(_mm_getcsr() & kMasks, 0u); });
}

// The checks of a plan compared the factor as a float, which trapped.
TEST(HostState, EnabledTrapsDoNotTrapForASubnormalFactor) {
  Plan plan{.input = int8, .inner = 16};
  plan.parameters.result_factor = 0x1p-140F;
  const Bytes x(16, std::byte{64}), scale = testing::pack(float32, {0x3F800000});
  Bytes y(64);
  bool ran = false;
  {
    const Restore restore;
    _mm_setcsr(0);
    ran = static_cast<bool>(run(plan, {x, scale, {}, y}, {.executor = sequential_executor()}));
  }
  EXPECT_TRUE(ran);
  EXPECT_EQ(testing::float_of(testing::code_at(float32, y, 15)), 0x1p-134F);
}

TEST(HostState, ExceptionFlagsStayAsTheyWere) {
  for (const int flags : {0, FE_DIVBYZERO, FE_INVALID | FE_INEXACT}) {
    for (const int mode : {FE_TONEAREST, FE_UPWARD}) {
      expect_same_bits_after(
          [&] {
            std::fesetround(mode);
            std::feclearexcept(FE_ALL_EXCEPT);
            std::feraiseexcept(flags);
          },
          [&] { EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), flags) << "rounding " << mode; });
    }
  }
}

#endif

}  // namespace
}  // namespace dequant::host_state_test

// The short answer for small tensors: it never says yes where the checks say no.
#include <gtest/gtest.h>

#include <limits>

#include "execute/check.h"
#include "support/packed.h"
#include "support/print.h"
#include "support/random.h"

namespace dequant::simple_test {
namespace {

using testing::Bytes;
using testing::Random;
using enum Element;

constexpr size_t kMemory = 1024;

/// uint8[16] per tensor with a zero point, in one allocation: x, scale, zero_point, y.
struct Call {
  Plan plan{.input = uint8, .has_zero_point = true, .inner = 16};
  Buffers buffers;

  explicit Call(Bytes& memory) {
    const auto at = [&](size_t offset, size_t size) {
      return std::span<std::byte>(memory).subspan(offset, size);
    };
    buffers = {.x = at(0, 16), .scale = at(64, 4), .zero_point = at(80, 1), .y = at(128, 64)};
  }

  bool is_checked() const {
    return check_plan(plan) && check_buffers(plan, {extents(plan)}, buffers);
  }
};

/// Any number, rarely a sensible one.
int64_t any_size(Random& random) {
  static constexpr int64_t kSizes[] = {-1,
                                       0,
                                       1,
                                       2,
                                       15,
                                       16,
                                       17,
                                       kSimpleElements,
                                       kSimpleElements + 1,
                                       std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min()};
  return kSizes[random.in(0, std::size(kSizes) - 1)];
}

template <class T>
std::span<T> any_span(Random& random, Bytes& memory) {
  if (random.in(0, 9) == 0) return {};
  const auto begin = static_cast<size_t>(random.in(0, 200));
  const int64_t sizes[] = {0, 1, 2, 3, 4, 15, 16, 31, 32, 63, 64, 65, random.in(0, 500)};
  return std::span<T>(memory).subspan(
      begin, static_cast<size_t>(sizes[random.in(0, std::size(sizes) - 1)]));
}

void change(Random& random, Call& call, Bytes& memory) {
  Plan& p = call.plan;
  Buffers& b = call.buffers;
  const auto element = [&] { return static_cast<Element>(random.in(0, 20)); };
  switch (random.in(0, 17)) {
    case 0: p.input = element(); break;
    case 1: p.scale = element(); break;
    case 2: p.output = element(); break;
    case 3: p.has_zero_point = !p.has_zero_point; break;
    case 4: p.implicit_zero_point = static_cast<int32_t>(random.in(-1, 300)); break;
    case 5: p.rule = static_cast<Rule>(random.in(0, 9)); break;
    case 6: p.granularity = static_cast<Granularity>(random.in(0, 4)); break;
    case 7: p.outer = any_size(random); break;
    case 8: p.axis = any_size(random); break;
    case 9: p.inner = any_size(random); break;
    case 10: p.block = any_size(random); break;
    case 11: p.dimensions.assign(static_cast<size_t>(random.in(0, 2)), {}); break;
    case 12: b.x = any_span<const std::byte>(random, memory); break;
    case 13: b.scale = any_span<const std::byte>(random, memory); break;
    case 14: b.zero_point = any_span<const std::byte>(random, memory); break;
    case 15: b.y = any_span<std::byte>(random, memory); break;
    case 16: b.min_range = any_span<const std::byte>(random, memory); break;
    case 17: b.max_range = any_span<const std::byte>(random, memory); break;
  }
}

TEST(Simple, IsNothingThatTheChecksRefuse) {
  Random random(1);
  Bytes memory(kMemory);
  int simple = 0;
  int refused = 0;
  for (int i = 0; i < 300'000; ++i) {
    Call call(memory);
    for (int64_t changes = random.in(1, 3); changes > 0; --changes) change(random, call, memory);
    const bool good = call.is_checked();
    refused += good ? 0 : 1;
    if (!is_simple(call.plan, call.buffers)) continue;
    ++simple;
    ASSERT_TRUE(good) << to_string(call.plan);
  }
  EXPECT_GT(simple, 10'000) << "too few to tell";
  EXPECT_GT(refused, 100'000) << "too few to tell";
}

TEST(Simple, AreIntegersOfOneScale) {
  Bytes memory(kMemory);
  for (const Element x : elements()) {
    Call call(memory);
    call.plan.input = x;
    call.plan.inner = 2;
    call.buffers.zero_point = call.buffers.zero_point.first(0);
    call.plan.has_zero_point = false;
    const bool integer = is_input(x) && kind(x) != Kind::floating;
    EXPECT_EQ(is_simple(call.plan, call.buffers), integer) << name(x);
  }
}

}  // namespace
}  // namespace dequant::simple_test

// Comparing band by band: the definitions element by element, and results that do not depend on how
// the work is cut.
#include "format/diff/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace dequant::format {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

Difference compare(const std::vector<float>& a, const std::vector<float>& b,
                   std::vector<int64_t> shape, std::optional<int64_t> axis = {},
                   int64_t band = Comparison::kBlock, Executor executor = sequential_executor(),
                   bool skip = false) {
  Comparison c(Element::float32, Element::float32, shape, axis);
  const auto step = static_cast<size_t>(band) * sizeof(float);
  const auto whole_a = bytes_of(a);
  const auto whole_b = bytes_of(b);
  for (size_t at = 0; at < whole_a.size(); at += step) {
    const size_t size = std::min(step, whole_a.size() - at);
    c.add(whole_a.subspan(at, size), whole_b.subspan(at, size), executor);
  }
  return c.result(3, skip);
}

Difference compare(const std::vector<float>& a, const std::vector<float>& b) {
  return compare(a, b, {static_cast<int64_t>(a.size())});
}

TEST(Comparison, CountsWhatIsIdentical) {
  const Difference d =
      compare({1, 0, -0.0f, kNan, kInf, -kInf}, {1, -0.0f, -0.0f, -kNan, kInf, -kInf});
  EXPECT_EQ(d.identical, 5);
  EXPECT_EQ(d.mismatches(), 0);
  EXPECT_EQ(d.max_abs, 0);
  EXPECT_EQ(d.sqnr_db, double{kInf});
  EXPECT_EQ(d.ulp[0], 6) << "both zeros are one number";
  EXPECT_FALSE(d.worst);
  EXPECT_FALSE(d.exact());
}

TEST(Comparison, MeasuresErrors) {
  const Difference d = compare({1, 2, 4, 0}, {1, 3, 4, -2});
  EXPECT_EQ(d.max_abs, 2);
  EXPECT_EQ(d.mean_abs, 0.75);
  EXPECT_EQ(d.rmse, std::sqrt(5.0 / 4));
  EXPECT_DOUBLE_EQ(d.sqnr_db, 10 * std::log10(21.0 / 5));
  ASSERT_TRUE(d.worst);
  EXPECT_THAT(d.worst->index, ElementsAre(3));
  EXPECT_EQ(d.worst->a, 0);
  EXPECT_EQ(d.worst->b, -2);
}

TEST(Comparison, ErrorsAreTakenInFloat64) {
  const Difference d = compare({-3e38f, 1}, {3e38f, 1 + 0x1p-23f});
  EXPECT_EQ(d.max_abs, 2 * double{3e38f});
}

TEST(Comparison, MismatchesMakeErrorsInfinite) {
  const std::vector<float> a{1, kNan, kInf, kInf, 5};
  const std::vector<float> b{2, 1, 7, -kInf, 5};
  const Difference d = compare(a, b);
  EXPECT_EQ(d.nan_mismatches, 1);
  EXPECT_EQ(d.inf_mismatches, 2);
  EXPECT_EQ(d.identical, 1);
  EXPECT_EQ(d.max_abs, double{kInf});
  EXPECT_EQ(d.mean_abs, double{kInf});
  EXPECT_EQ(d.rmse, double{kInf});
  EXPECT_EQ(d.sqnr_db, -double{kInf});
  EXPECT_EQ(d.max_ulp, double{kInf});
  ASSERT_TRUE(d.worst);
  EXPECT_THAT(d.worst->index, ElementsAre(1));
  const Difference skipped =
      compare(a, b, {5}, {}, Comparison::kBlock, sequential_executor(), true);
  EXPECT_EQ(skipped.mismatches(), 3);
  EXPECT_EQ(skipped.max_abs, 1);
  EXPECT_EQ(skipped.mean_abs, 0.5);
  EXPECT_DOUBLE_EQ(skipped.sqnr_db, 10 * std::log10(26.0));
}

TEST(Comparison, SilenceHasNoSignal) {
  EXPECT_EQ(compare({0, 0}, {0, 1}).sqnr_db, -double{kInf});
  EXPECT_EQ(compare({0, 0}, {0, 0}).sqnr_db, double{kInf});
}

TEST(Comparison, EmptyTensorsAreExact) {
  const Difference d = compare({}, {}, {4, 0}, 0);
  EXPECT_TRUE(d.exact());
  EXPECT_EQ(d.mean_abs, 0);
  EXPECT_TRUE(d.worst_channels.empty());
}

TEST(Comparison, ListsTheWorstChannels) {
  // Channels of axis 1: two elements next to each other, in two rows.
  const std::vector<float> a{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::vector<float> b = a;
  b[2] = 2;     // channel 1
  b[5] = 1.5f;  // channel 2
  b[10] = kNan;
  const Difference d = compare(a, b, {2, 3, 2}, 1);
  ASSERT_EQ(d.worst_channels.size(), 2u);
  EXPECT_EQ(d.worst_channels[0].index, 2);
  EXPECT_EQ(d.worst_channels[0].mismatches, 1);
  EXPECT_EQ(d.worst_channels[0].sqnr_db, -double{kInf});
  EXPECT_EQ(d.worst_channels[1].index, 1);
  EXPECT_EQ(d.worst_channels[1].max_abs, 1);
  EXPECT_DOUBLE_EQ(d.worst_channels[1].sqnr_db, 10 * std::log10(4.0));
}

/// Random numbers of any bits: all exponents, subnormal numbers, NaN, infinities.
std::vector<float> random_bits(size_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<float> values(count);
  for (float& v : values) {
    const auto code = static_cast<uint32_t>(rng());
    std::memcpy(&v, &code, sizeof v);
  }
  return values;
}

void expect_same(const Difference& x, const Difference& y) {
  EXPECT_EQ(x.identical, y.identical);
  EXPECT_EQ(x.nan_mismatches, y.nan_mismatches);
  EXPECT_EQ(x.inf_mismatches, y.inf_mismatches);
  EXPECT_EQ(x.max_abs, y.max_abs);
  EXPECT_EQ(x.mean_abs, y.mean_abs);
  EXPECT_EQ(x.rmse, y.rmse);
  EXPECT_EQ(x.sqnr_db, y.sqnr_db);
  EXPECT_EQ(x.ulp, y.ulp);
  EXPECT_EQ(x.max_ulp, y.max_ulp);
  ASSERT_EQ(x.worst.has_value(), y.worst.has_value());
  if (x.worst) {
    EXPECT_EQ(x.worst->index, y.worst->index);
  }
  ASSERT_EQ(x.worst_channels.size(), y.worst_channels.size());
  for (size_t i = 0; i < x.worst_channels.size(); ++i) {
    EXPECT_EQ(x.worst_channels[i].index, y.worst_channels[i].index);
    EXPECT_EQ(x.worst_channels[i].sqnr_db, y.worst_channels[i].sqnr_db);
  }
}

TEST(Comparison, BandsAndThreadsChangeNoBit) {
  constexpr int64_t kShape[] = {7, 300, 171};
  const std::vector<float> a = random_bits(7 * 300 * 171, 1);
  std::vector<float> b = a;
  std::mt19937 rng(2);
  for (float& v : b) {
    if (rng() % 3 == 0) v *= 1 + 0x1p-20f;
  }
  b[123456] = kNan;
  for (const bool skip : {false, true}) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      const std::vector<int64_t> shape(std::begin(kShape), std::end(kShape));
      const Difference whole =
          compare(a, b, shape, axis, 16 * Comparison::kBlock, sequential_executor(), skip);
      for (const int64_t blocks : {1, 3}) {
        for (const int threads : {1, 3}) {
          ThreadPool pool(threads);
          expect_same(
              compare(a, b, shape, axis, blocks * Comparison::kBlock, pool.executor(), skip),
              whole);
        }
      }
    }
  }
}

TEST(Comparison, TellsTheMemoryOfChannels) {
  const std::vector<int64_t> shape{3, INT64_MAX / 4};
  EXPECT_EQ(Comparison::memory_for_channels(shape, {}), 0);
  EXPECT_EQ(Comparison::memory_for_channels(shape, 1), INT64_MAX);
  EXPECT_GE(Comparison::memory_for_channels(shape, 0), 3 * 8);
  EXPECT_LE(Comparison::memory_for_channels(shape, 0), 3 * 64);
}

TEST(Comparison, WorseHasMoreMismatchesThenLessSignalThenLargerErrors) {
  Difference good;
  good.sqnr_db = 20;
  good.size = 4;
  Difference bad = good;
  bad.sqnr_db = 10;
  Difference broken = good;
  broken.nan_mismatches = 1;
  EXPECT_TRUE(is_worse(bad, good));
  EXPECT_TRUE(is_worse(broken, bad));
  EXPECT_FALSE(is_worse(good, good));
}

}  // namespace
}  // namespace dequant::format

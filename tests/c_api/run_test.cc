// Runs in every dialect, by every option.
#include <climits>

#include "c_api/call.h"
#include "c_api/directml_node.h"

namespace dequant::testing::c::run_test {
namespace {

using Floats = std::vector<float>;

TEST(CRun, OnnxSubtractsThenScales) {
  const auto planned = plan(OnnxNode{.x = DEQUANT_UINT8,
                                     .x_dims = {2, 3},
                                     .scale_dims = {2},
                                     .has_zero = true,
                                     .zero_dims = {2},
                                     .axis = 0});
  Buffers b{.x = {0, 1, 255, 7, 8, 9},
            .scale = bytes_of<float>({0.5F, -2.0F}),
            .zero_point = {1, 8},
            .y = Memory(24)};
  ASSERT_TRUE(succeeds(run(planned, b.view())));
  EXPECT_EQ(numbers_of<float>(b.y), (Floats{-0.5F, 0.0F, 127.0F, 2.0F, -0.0F, -2.0F}));
}

TEST(CRun, MicrosoftSubtractsThenScales) {
  const Dims x{2};
  auto node = sized<dequant_microsoft>();
  node.version = 1;
  node.x = tensor(DEQUANT_INT16, x);
  node.x_scale = tensor(DEQUANT_FLOAT32, {});
  node.x_zero_point = tensor(DEQUANT_INT16, {});
  Buffers b{.x = bytes_of<int16_t>({-32768, 32767}),
            .scale = bytes_of<float>({0.25F}),
            .zero_point = bytes_of<int16_t>({32767}),
            .y = Memory(8)};
  ASSERT_TRUE(succeeds(run(plan(node), b.view())));
  EXPECT_EQ(numbers_of<float>(b.y), (Floats{-16383.75F, 0.0F}));
}

TEST(CRun, TensorFlowTakesRanges) {
  // quint8, MIN_COMBINED: x * (max - min) / 255 + min.
  Buffers b{.x = {0, 51, 255},
            .min_range = bytes_of<float>({-1.0F}),
            .max_range = bytes_of<float>({254.0F}),
            .y = Memory(12)};
  ASSERT_TRUE(succeeds(run(plan(TensorFlowNode{.input_dims = {3}}), b.view())));
  EXPECT_EQ(numbers_of<float>(b.y), (Floats{-1.0F, 50.0F, 254.0F}));
}

TEST(CRun, WebnnBlocksBySizes) {
  const Dims input{2, 2};
  const Dims scale{1, 2};
  auto node = sized<dequant_webnn>();
  node.input = tensor(DEQUANT_INT8, input);
  node.scale = tensor(DEQUANT_FLOAT32, scale);
  node.zero_point = tensor(DEQUANT_INT8, scale);
  Buffers b{.x = {1, 2, 3, 4},
            .scale = bytes_of<float>({1.0F, 10.0F}),
            .zero_point = {0, 1},
            .y = Memory(16)};
  ASSERT_TRUE(succeeds(run(plan(node), b.view())));
  EXPECT_EQ(numbers_of<float>(b.y), (Floats{1.0F, 10.0F, 3.0F, 30.0F}));
}

/// uint8[2, 3] in rows of 4 bytes, one scale and one zero point.
struct PaddedRows {
  DirectMLNode node;
  Buffers b{.x = {1, 2, 3, 99, 4, 5, 6, 99},
            .scale = bytes_of<float>({0.5F}),
            .zero_point = {1, 99, 99, 99},
            .y = Memory(24, kUntouched)};
  PaddedRows() { node.input = {DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 3}, {8, 8, 4, 1}, 8}; }
};

TEST(CRun, DirectmlGoesByStrides) {
  PaddedRows rows;
  ASSERT_TRUE(succeeds(run(plan(rows.node), rows.b.view())));
  EXPECT_EQ(numbers_of<float>(rows.b.y), (Floats{0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 2.5F}));
}

TEST(CRun, DirectmlWantsBindingsOfTheSizesThatThePlanSays) {
  PaddedRows rows;
  const auto planned = plan(rows.node);
  const auto good = rows.b.view();
  uint64_t dequant_buffers::*const fields[] = {
      &dequant_buffers::x_bytes, &dequant_buffers::scale_bytes, &dequant_buffers::zero_point_bytes,
      &dequant_buffers::y_bytes};
  for (const auto field : fields) {
    auto short_by_one = good;
    short_by_one.*field -= 1;
    const auto outcome = run(planned, short_by_one);
    EXPECT_TRUE(is_invalid(outcome, std::to_string(short_by_one.*field)));
    EXPECT_EQ(rows.b.y, Memory(24, kUntouched));
  }
}

TEST(CRun, DirectmlRefusesInputsItHasNot) {
  PaddedRows rows;
  rows.b.min_range = Memory(4);
  EXPECT_TRUE(is_invalid(run(plan(rows.node), rows.b.view()), "min_range: given"));
  rows.b.min_range = {};
  rows.b.max_range = Memory(4);
  EXPECT_TRUE(is_invalid(run(plan(rows.node), rows.b.view()), "max_range: given"));
  rows.b.max_range = {};
  rows.node.has_zero_point = false;
  EXPECT_EQ(run(plan(rows.node), rows.b.view()).code, DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(rows.b.y, Memory(24, kUntouched));
  rows.b.zero_point = {};
  EXPECT_TRUE(succeeds(run(plan(rows.node), rows.b.view())));
}

TEST(CRun, PlansRefuseInputsTheyHaveNot) {
  const auto linear = plan(OnnxNode{.x_dims = {3}});
  const auto ranges = plan(TensorFlowNode{.input_dims = {3}});
  const Memory four(4);
  Buffers b{.x = Memory(3), .scale = four, .y = Memory(12, kUntouched)};
  for (Memory* extra : {&b.zero_point, &b.min_range, &b.max_range}) {
    *extra = four;
    EXPECT_TRUE(is_invalid(run(linear, b.view()), "4 bytes given for a plan without one"));
    *extra = {};
  }
  b.scale = {};
  b.min_range = b.max_range = four;
  for (Memory* extra : {&b.scale, &b.zero_point}) {
    *extra = four;
    EXPECT_TRUE(is_invalid(run(ranges, b.view()), "4 bytes given for a plan without one"));
    *extra = {};
  }
  EXPECT_EQ(b.y, Memory(12, kUntouched));
}

/// Of five chunks: int8[5 * 65536] times 1.
struct Large {
  static constexpr size_t kCount = 5 * 65536;
  const Planned planned = plan(OnnxNode{.x_dims = {int64_t{kCount}}});
  Buffers b{.x = Memory(kCount), .scale = bytes_of<float>({1.0F}), .y = Memory(kCount * 4)};
  Large() {
    for (size_t i = 0; i < kCount; ++i) b.x[i] = static_cast<unsigned char>(i % 251);
  }
  ::testing::AssertionResult is_right() const {
    const auto y = numbers_of<float>(b.y);
    for (size_t i = 0; i < kCount; ++i) {
      if (y[i] != static_cast<float>(static_cast<int8_t>(b.x[i]))) {
        return ::testing::AssertionFailure() << "element " << i << " is " << y[i];
      }
    }
    return ::testing::AssertionSuccess();
  }
};

TEST(CRun, GivesTheSameByEveryNumberOfThreads) {
  Large large;
  auto options = sized<dequant_options>();
  for (const int threads : {0, 1, 2, 3, 1000, INT_MAX}) {
    options.threads = threads;
    large.b.y.assign(Large::kCount * 4, kUntouched);
    EXPECT_TRUE(succeeds(run(large.planned, large.b.view(), &options))) << threads;
    EXPECT_TRUE(large.is_right()) << threads;
  }
}

TEST(CRun, GivesTheSameByEveryKindOfStores) {
  Large large;
  auto options = sized<dequant_options>();
  for (const auto stores :
       {DEQUANT_STORES_AUTOMATIC, DEQUANT_STORES_CACHED, DEQUANT_STORES_STREAMING}) {
    options.stores = stores;
    large.b.y.assign(Large::kCount * 4, kUntouched);
    EXPECT_TRUE(succeeds(run(large.planned, large.b.view(), &options)));
    EXPECT_TRUE(large.is_right()) << stores;
  }
}

TEST(CRun, RefusesWrongNumbersOfThreads) {
  Large large;
  auto options = sized<dequant_options>();
  for (const int threads : {-1, INT_MIN}) {
    options.threads = threads;
    EXPECT_TRUE(is_invalid(run(large.planned, large.b.view(), &options), "threads: "));
  }
  options.threads = 1;
  options.parallel_for = [](void*, size_t, dequant_task, void*) { return 0; };
  EXPECT_TRUE(is_invalid(run(large.planned, large.b.view(), &options), "parallel_for brings"));
  EXPECT_EQ(large.b.y, Memory(Large::kCount * 4)) << "something was written";
}

TEST(CRun, GivesTheSameOnEveryTarget) {
  const std::string before = dequant_active_target();
  Large large;
  for (size_t i = 0; i < dequant_target_count(); ++i) {
    ASSERT_EQ(dequant_force_target(dequant_target_name(i), nullptr), DEQUANT_OK);
    large.b.y.assign(Large::kCount * 4, kUntouched);
    EXPECT_TRUE(succeeds(run(large.planned, large.b.view())));
    EXPECT_TRUE(large.is_right()) << dequant_target_name(i);
  }
  ASSERT_EQ(dequant_force_target(before.c_str(), nullptr), DEQUANT_OK);
}

}  // namespace
}  // namespace dequant::testing::c::run_test

// Hostile input: ranks and dimensions.
#include <climits>

#include "c_api/hostile.h"
#include "support/guarded_buffer.h"

namespace dequant::testing::c::hostile_shape_test {
namespace {

constexpr int64_t k40 = int64_t{1} << 40;
constexpr int64_t k32 = int64_t{1} << 32;

/// Plans that have x (or input) of those dimensions and all else right, in every dialect.
std::vector<Planned> plans_of(dequant_tensor x) {
  const Dims ones(64, 1);
  const dequant_tensor one{DEQUANT_FLOAT32, x.rank <= 64 ? x.rank : 0, ones.data()};
  const dequant_tensor zero{DEQUANT_INT8, one.rank, ones.data()};
  x.element = DEQUANT_INT8;
  const OnnxNode onnx_owner;
  auto onnx = onnx_owner.view();
  onnx.x = x;
  auto microsoft = sized<dequant_microsoft>();
  microsoft.version = 1;
  microsoft.x = x;
  microsoft.x_scale = tensor(DEQUANT_FLOAT32, {});
  const TensorFlowNode tensorflow_owner;
  auto tensorflow = tensorflow_owner.view();
  tensorflow.input = x;
  auto webnn = sized<dequant_webnn>();
  webnn.input = x;
  webnn.scale = one;
  webnn.zero_point = zero;
  std::vector<Planned> list;
  list.push_back(plan(onnx));
  list.push_back(plan(microsoft));
  list.push_back(plan(tensorflow));
  list.push_back(plan(webnn));
  return list;
}

void expect_all_refuse(const Dims& dims) {
  for (const Planned& planned : plans_of(tensor(DEQUANT_INT8, dims))) {
    EXPECT_TRUE(is_invalid(planned, "")) << ::testing::PrintToString(dims);
  }
}

TEST(Hostile, RanksAboveTheLimitAreRefusedBeforeAnyDimensionIsRead) {
  const GuardedBuffer nothing(1);
  const auto* unreadable = reinterpret_cast<const int64_t*>(nothing.begin() + nothing.capacity());
  for (const uint32_t rank : {65u, 66u, 0x80000000u, UINT32_MAX}) {
    for (const int64_t* shape : {static_cast<const int64_t*>(nullptr), unreadable}) {
      for (const Planned& planned : plans_of({DEQUANT_INT8, rank, shape})) {
        EXPECT_TRUE(fails(planned, DEQUANT_LIMIT, "rank " + std::to_string(rank)));
      }
    }
  }
}

TEST(Hostile, ANullShapeIsRefusedUnlessTheRankIsZero) {
  for (const uint32_t rank : {1u, 8u, 9u, 64u}) {
    for (const Planned& planned : plans_of({DEQUANT_INT8, rank, nullptr})) {
      EXPECT_TRUE(is_invalid(planned, "shape is null"));
    }
  }
  for (const Planned& planned : plans_of({DEQUANT_INT8, 0, nullptr})) {
    EXPECT_TRUE(succeeds(planned));
  }
}

TEST(Hostile, RankNineIsRefusedWhereEightIsTheMost) {
  const Dims nine(9, 1);
  const auto plans = plans_of(tensor(DEQUANT_INT8, nine));
  EXPECT_TRUE(succeeds(plans[0])) << "ONNX has no limit";
  EXPECT_TRUE(succeeds(plans[1]));
  EXPECT_TRUE(is_invalid(plans[3], "rank"));
  DirectMLNode directml;
  const std::vector<UINT> sizes(9, 1);
  directml.input.sizes = directml.scale.sizes = directml.zero_point.sizes = directml.output.sizes =
      sizes;
  directml.scale.strides = directml.zero_point.strides = {};
  directml.output.bytes = 4;
  EXPECT_NE(plan(directml).outcome.code, DEQUANT_OK);
  const Dims most(64, 1);
  EXPECT_TRUE(succeeds(plans_of(tensor(DEQUANT_INT8, most))[0]));
}

TEST(Hostile, AnEmptyTensorRunsAndTouchesNothing) {
  struct Empty {
    Dims x;
    Dims scale;
    std::optional<int64_t> axis;
    std::optional<int64_t> block;
  };
  const Empty list[] = {{{0}, {}, {}, {}},    {{2, 0, 3}, {1}, {}, {}}, {{2, 0, 3}, {0}, 1, {}},
                        {{0, 2}, {2}, 1, {}}, {{4, 0}, {2, 0}, 0, 2},   {{0, 4}, {0, 2}, 1, 2}};
  for (const Empty& e : list) {
    SCOPED_TRACE(::testing::PrintToString(e.x));
    const auto planned =
        plan(OnnxNode{.x_dims = e.x, .scale_dims = e.scale, .axis = e.axis, .block_size = e.block});
    ASSERT_TRUE(succeeds(planned));
    EXPECT_EQ(sizes_of(planned).elements, 0);
    EXPECT_EQ(sizes_of(planned).y_bytes, 0u);
    Buffers b{.x = Memory(16), .scale = Memory(64), .y = Memory(64, kUntouched)};
    EXPECT_TRUE(succeeds(run(planned, b.view())));
    EXPECT_EQ(b.y, Memory(64, kUntouched));
  }
  EXPECT_TRUE(is_invalid(plan(OnnxNode{.x_dims = {2, 0, 3}, .scale_dims = {2}, .axis = 1}),
                         "x_scale: 2 scales for 0"));
}

TEST(Hostile, NegativeDimensionsAreRefused) {
  for (const int64_t negative : {int64_t{-1}, int64_t{-2}, int64_t{INT32_MIN}, INT64_MIN}) {
    expect_all_refuse({negative});
    expect_all_refuse({negative, negative});
    expect_all_refuse({0, negative});
    expect_all_refuse({negative, 0});
    expect_all_refuse({2, negative, 3});
    EXPECT_TRUE(is_invalid(plan(OnnxNode{.scale_dims = {negative}, .axis = 0}), "x_scale: "));
    EXPECT_TRUE(
        is_invalid(plan(OnnxNode{.has_zero = true, .zero_dims = {negative}}), "x_zero_point: "));
    EXPECT_TRUE(is_invalid(plan(TensorFlowNode{.min_dims = {negative}}), "min_range: "));
    EXPECT_TRUE(is_invalid(plan(TensorFlowNode{.max_dims = {negative}}), "max_range: "));
  }
}

TEST(Hostile, DimensionsWhoseProductOverflowsAreRefused) {
  expect_all_refuse({k32, k32});
  expect_all_refuse({k40, int64_t{1} << 30});
  expect_all_refuse({INT64_MAX, 2});
  expect_all_refuse({4, (int64_t{1} << 30) - 1, (int64_t{1} << 30) + 1});
  expect_all_refuse({int64_t{1} << 62, 4});
  expect_all_refuse({4194305, 4194305, 211106198978564});
  expect_all_refuse({3, 715827883, int64_t{1} << 33});
}

TEST(Hostile, AZeroHidesNoOverflowWhereverItStands) {
  expect_all_refuse({0, k40, k40});
  expect_all_refuse({k40, 0, k40});
  expect_all_refuse({k40, k40, 0});
}

TEST(Hostile, ElementsThatFitWhenTheirBytesDoNotAreRefused) {
  const auto code_for = [](int64_t count) {
    std::vector<dequant_code> codes;
    const Dims dims{count};
    for (const auto& planned : plans_of(tensor(DEQUANT_INT8, dims))) {
      codes.push_back(planned.outcome.code);
    }
    return codes;
  };
  const std::vector all_refuse(4, DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(code_for(int64_t{1} << 61), all_refuse) << "2^63 bytes of float32";
  EXPECT_EQ(code_for(INT64_MAX), all_refuse);
  EXPECT_EQ(code_for((int64_t{1} << 61) - 1), std::vector(4, DEQUANT_OK));
}

TEST(Hostile, APlanOfTheLargestTensorRefusesSmallBuffers) {
  const auto planned = plan(OnnxNode{.x_dims = {(int64_t{1} << 61) - 1}});
  EXPECT_EQ(sizes_of(planned).y_bytes, (uint64_t{1} << 63) - 4);
  Buffers b{.x = Memory(64), .scale = Memory(4), .y = Memory(64, kUntouched)};
  EXPECT_TRUE(refused(planned, b.view(), "64 bytes given", b.y));
}

}  // namespace
}  // namespace dequant::testing::c::hostile_shape_test

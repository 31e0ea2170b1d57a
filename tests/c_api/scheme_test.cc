// Schemes of checkpoints through the C API.
#include <array>
#include <cmath>
#include <string>

#include "c_api/call.h"

namespace dequant::testing::c::scheme_test {
namespace {

/// float8e4m3fn [2, 3] in blocks of 1 x 2: 1, 2, 4, 1, 1, 1 and scales 0.5, 3, 2, 1.
/// Its structs point to its own arrays.
struct Fp8 {
  Fp8() = default;
  Fp8(const Fp8&) = delete;
  Fp8& operator=(const Fp8&) = delete;

  std::array<int64_t, 2> shape{2, 3};
  std::array<int64_t, 2> grid{2, 2};
  std::array<uint8_t, 6> codes{0x38, 0x40, 0x48, 0x38, 0x38, 0x38};
  std::array<float, 4> scales{0.5F, 3, 2, 1};
  std::array<dequant_scheme_tensor, 2> tensors{
      {{"weight_scale", {DEQUANT_FLOAT32, 2, grid.data()}},
       {"weight", {DEQUANT_FLOAT8E4M3FN, 2, shape.data()}}}};
  std::array<dequant_scheme_option, 1> options{{{"block", "1,2"}}};
  dequant_scheme node{sizeof(dequant_scheme), "fp8",          tensors.data(), tensors.size(),
                      options.data(),         options.size(), DEQUANT_FLOAT32};
  std::array<const void*, 2> data{scales.data(), codes.data()};
  std::array<uint64_t, 2> bytes{sizeof scales, sizeof codes};
  std::array<float, 6> y{};
  dequant_scheme_buffers buffers{
      sizeof(dequant_scheme_buffers), data.data(), bytes.data(), data.size(), y.data(), sizeof y};
};

/// A plan that is freed, and the error of making it.
struct Planned {
  explicit Planned(const dequant_scheme& node) {
    error.struct_size = sizeof error;
    code = dequant_plan_scheme(&node, &plan, &error);
  }
  ~Planned() { dequant_plan_free(plan); }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  dequant_plan* plan = nullptr;
  dequant_error error{};
  dequant_code code = DEQUANT_OK;
};

/// A node that `change` breaks is refused.
void rejects(const char* word, void (*change)(Fp8&)) {
  Fp8 fp8;
  change(fp8);
  const Planned planned(fp8.node);
  EXPECT_EQ(planned.code, DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(planned.plan, nullptr);
  EXPECT_NE(std::string(planned.error.message).find(word), std::string::npos)
      << planned.error.message;
}

/// Buffers that `change` breaks are refused.
void rejects_buffers(const char* word, void (*change)(Fp8&)) {
  Fp8 fp8;
  const Planned planned(fp8.node);
  change(fp8);
  dequant_error error{};
  error.struct_size = sizeof error;
  EXPECT_EQ(dequant_run_scheme(planned.plan, &fp8.buffers, nullptr, &error),
            DEQUANT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find(word), std::string::npos) << error.message;
  EXPECT_EQ(fp8.y, (std::array<float, 6>{}));
}

/// Calls of a parallel_for that does all its tasks and returns `code`.
struct CountedCalls {
  int code;
  int calls = 0;

  static int parallel_for(void* self, size_t count, dequant_task task, void* context) {
    for (size_t i = 0; i < count; ++i) task(context, i);
    ++static_cast<CountedCalls*>(self)->calls;
    return static_cast<CountedCalls*>(self)->code;
  }
};

// Each of the four regions of such a tensor that has several tasks had a call, also after a
// failure.
TEST(CScheme, CallsParallelForOnceForWholeAndShortBlocks) {
  const std::array<int64_t, 2> shape{1500, 1500};
  const std::array<int64_t, 2> grid{2, 2};
  Fp8 fp8;
  fp8.tensors = {{{"weight_scale", {DEQUANT_FLOAT32, 2, grid.data()}},
                  {"weight", {DEQUANT_FLOAT8E4M3FN, 2, shape.data()}}}};
  fp8.options = {{{"block", "1000,1000"}}};
  const Planned planned(fp8.node);
  ASSERT_EQ(planned.code, DEQUANT_OK) << planned.error.message;
  constexpr size_t kCount = 1500 * 1500;
  const Memory codes(kCount, 0x38);
  std::vector<float> y(kCount);
  fp8.data[1] = codes.data();
  fp8.bytes[1] = kCount;
  fp8.buffers.y = y.data();
  fp8.buffers.y_bytes = kCount * sizeof(float);
  for (const int code : {0, 3}) {
    CountedCalls counted{code};
    auto options = sized<dequant_options>();
    options.parallel_for = CountedCalls::parallel_for;
    options.self = &counted;
    const Outcome outcome = call([&](dequant_error* error) {
      return dequant_run_scheme(planned.plan, &fp8.buffers, &options, error);
    });
    EXPECT_EQ(counted.calls, 1);
    if (code == 0) {
      EXPECT_TRUE(succeeds(outcome));
      EXPECT_EQ(y.front(), 0.5F);
      EXPECT_EQ(y.back(), 1.0F);
    } else {
      EXPECT_TRUE(is_invalid(outcome, "parallel_for: returned 3 after"));
    }
  }
}

TEST(CScheme, GivesTheFloatsOfTheScheme) {
  Fp8 fp8;
  const Planned planned(fp8.node);
  ASSERT_EQ(planned.code, DEQUANT_OK) << planned.error.message;
  ASSERT_EQ(dequant_run_scheme(planned.plan, &fp8.buffers, nullptr, nullptr), DEQUANT_OK);
  EXPECT_EQ(fp8.y, (std::array<float, 6>{0.5F, 1, 12, 2, 2, 1}));
  dequant_sizes sizes{};
  sizes.struct_size = sizeof sizes;
  ASSERT_EQ(dequant_plan_sizes(planned.plan, &sizes, nullptr), DEQUANT_OK);
  EXPECT_EQ(sizes.elements, 6);
  EXPECT_EQ(sizes.x_bytes, 6U);
  EXPECT_EQ(sizes.scale_bytes, 16U);
}

TEST(CScheme, TheValuesOfNvfp4AreTheSchemesOwn) {
  const std::array<int64_t, 2> shape{1, 8};
  const std::array<int64_t, 2> grid{1, 1};
  const std::array<uint8_t, 8> codes{0x98, 0xF7};  // 8 and 9, 7 and 15
  const uint8_t scale = 0x40;                      // 2
  const float second = 0.25F;
  const std::array<dequant_scheme_tensor, 3> tensors{
      {{"weight", {DEQUANT_UINT8, 2, shape.data()}},
       {"weight_scale", {DEQUANT_FLOAT8E4M3FN, 2, grid.data()}},
       {"weight_scale_2", {DEQUANT_FLOAT32, 0, nullptr}}}};
  const Planned planned({sizeof(dequant_scheme), "modelopt", tensors.data(), tensors.size(),
                         nullptr, 0, DEQUANT_FLOAT32});
  ASSERT_EQ(planned.code, DEQUANT_OK) << planned.error.message;
  auto sizes = sized<dequant_sizes>();
  ASSERT_EQ(dequant_plan_sizes(planned.plan, &sizes, nullptr), DEQUANT_OK);
  EXPECT_EQ(sizes.tensor_scale_bytes, 4U);
  EXPECT_EQ(sizes.codebook_bytes, 0U) << "the scheme fixes the values";
  EXPECT_EQ(sizes.shape[1], 16);
  const std::array<const void*, 3> data{codes.data(), &scale, &second};
  const std::array<uint64_t, 3> bytes{sizeof codes, sizeof scale, sizeof second};
  std::array<float, 16> y{};
  const dequant_scheme_buffers buffers{sizeof buffers, data.data(), bytes.data(),
                                       data.size(),    y.data(),    sizeof y};
  ASSERT_EQ(dequant_run_scheme(planned.plan, &buffers, nullptr, nullptr), DEQUANT_OK);
  EXPECT_EQ(y, (std::array<float, 16>{0, -0.25F, 3, -3}));
  EXPECT_FALSE(std::signbit(y[0]));
}

TEST(CScheme, NodesThatBreakARuleAreRefused) {
  rejects("name: null", [](Fp8& f) { f.node.name = nullptr; });
  rejects("\"fp9\" is no scheme", [](Fp8& f) { f.node.name = "fp9"; });
  rejects("needs a tensor weight", [](Fp8& f) { f.node.tensor_count = 1; });
  rejects("tensors: null, with 2 entries", [](Fp8& f) { f.node.tensors = nullptr; });
  rejects("name of a tensor: null", [](Fp8& f) { f.tensors[0].name = nullptr; });
  rejects("weight: shape is null", [](Fp8& f) { f.tensors[1].type.shape = nullptr; });
  rejects("block: null", [](Fp8& f) { f.options[0].value = nullptr; });
  rejects("block: length 0 is 0", [](Fp8& f) { f.options[0].value = "0,2"; });
  rejects("output: element type int8", [](Fp8& f) { f.node.output = DEQUANT_INT8; });
}

TEST(CScheme, BuffersAreChecked) {
  rejects_buffers("tensor_count: 1 where the node has 2 tensors",
                  [](Fp8& f) { f.buffers.tensor_count = 1; });
  rejects_buffers("weight: 5 bytes given, 6 needed", [](Fp8& f) { f.bytes[1] = 5; });
  rejects_buffers("weight_scale: null, with 16 bytes", [](Fp8& f) { f.data[0] = nullptr; });
  rejects_buffers("tensors: null", [](Fp8& f) { f.buffers.tensors = nullptr; });
  rejects_buffers("y: ", [](Fp8& f) { f.buffers.y_bytes = 23; });
}

/// [out, in] = [8, 16] of 4 bits, with a group index. Its structs point to its own arrays.
struct Gptq {
  Gptq() = default;
  Gptq(const Gptq&) = delete;
  Gptq& operator=(const Gptq&) = delete;

  std::array<int64_t, 2> words{2, 8}, zeros{1, 1}, groups{1, 8};
  std::array<int64_t, 1> inputs{16};
  std::array<dequant_scheme_tensor, 4> tensors{{{"g_idx", {DEQUANT_INT32, 1, inputs.data()}},
                                                {"scales", {DEQUANT_FLOAT32, 2, groups.data()}},
                                                {"qzeros", {DEQUANT_INT32, 2, zeros.data()}},
                                                {"qweight", {DEQUANT_INT32, 2, words.data()}}}};
  dequant_scheme node{sizeof(dequant_scheme), "gptq", tensors.data(), tensors.size(), nullptr, 0,
                      DEQUANT_FLOAT32};
};

// They had neither the bytes of a group index nor the shape.
TEST(CScheme, SizesHaveAllInputsAndTheShape) {
  const Gptq gptq;
  const Planned planned(gptq.node);
  ASSERT_EQ(planned.code, DEQUANT_OK) << planned.error.message;
  auto sizes = sized<dequant_sizes>();
  ASSERT_EQ(dequant_plan_sizes(planned.plan, &sizes, nullptr), DEQUANT_OK);
  EXPECT_EQ(sizes.x_bytes, 64U);
  EXPECT_EQ(sizes.scale_bytes, 32U);
  EXPECT_EQ(sizes.zero_point_bytes, 4U);
  EXPECT_EQ(sizes.group_index_bytes, 64U);
  EXPECT_EQ(sizes.tensor_scale_bytes, 0U);
  EXPECT_EQ(sizes.codebook_bytes, 0U);
  EXPECT_EQ(sizes.y_bytes, 512U);
  ASSERT_EQ(sizes.rank, 2U);
  EXPECT_EQ(sizes.shape[0], 8);
  EXPECT_EQ(sizes.shape[1], 16);
}

// They named the inputs of the plan: x, zero_point, group_index.
TEST(CScheme, MessagesNameTheTensorsOfTheProducer) {
  const Gptq gptq;
  const Planned planned(gptq.node);
  ASSERT_EQ(planned.code, DEQUANT_OK) << planned.error.message;
  std::array<int32_t, 16> numbers{};
  const std::array<float, 8> scales{};
  std::array<float, 128> y{};
  const std::array<const void*, 4> data{numbers.data(), scales.data(), numbers.data(),
                                        numbers.data()};
  const std::array<uint64_t, 4> whole{64, 32, 4, 64};
  const auto ran = [&](size_t shortened, const void* first) {
    std::array<const void*, 4> given = data;
    given[0] = first;
    std::array<uint64_t, 4> bytes = whole;
    if (shortened < bytes.size()) --bytes[shortened];
    dequant_scheme_buffers buffers{sizeof(dequant_scheme_buffers),
                                   given.data(),
                                   bytes.data(),
                                   given.size(),
                                   y.data(),
                                   sizeof y};
    return call([&](dequant_error* error) {
      return dequant_run_scheme(planned.plan, &buffers, nullptr, error);
    });
  };
  EXPECT_TRUE(is_invalid(ran(0, numbers.data()), "g_idx: 63 bytes given, 64 needed"));
  EXPECT_TRUE(is_invalid(ran(1, numbers.data()), "scales: 31 bytes given, 32 needed"));
  EXPECT_TRUE(is_invalid(ran(2, numbers.data()), "qzeros: 3 bytes given, 4 needed"));
  EXPECT_TRUE(is_invalid(ran(3, numbers.data()), "qweight: 63 bytes given, 64 needed"));
  EXPECT_TRUE(is_invalid(ran(4, nullptr), "g_idx: null, with 64 bytes"));
  EXPECT_TRUE(is_invalid(ran(4, y.data()), "y: overlaps g_idx"));
  numbers[5] = 1;
  EXPECT_TRUE(
      is_invalid(ran(4, numbers.data()), "g_idx: element 5 is 1, which is none of 1 groups"));
}

TEST(CScheme, PlansAreRunByTheFunctionOfTheirKind) {
  Fp8 fp8;
  const Planned planned(fp8.node);
  dequant_buffers buffers{};
  buffers.struct_size = sizeof buffers;
  EXPECT_EQ(dequant_run(planned.plan, &buffers, nullptr, nullptr), DEQUANT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dequant::testing::c::scheme_test

// The rule of struct_size, for every struct; and every field that is an enumeration.
#include <algorithm>
#include <climits>

#include "c_api/call.h"

namespace dequant::testing::c::struct_test {
namespace {

/// A plan and what it runs on, all of it good.
struct Good {
  const OnnxNode onnx = {};
  const Dims dims{2, 3};
  const Dims one{1, 1};
  const TensorFlowNode tensorflow = {};
  const Planned planned = plan(onnx);
  Buffers buffers{.x = Memory(6), .scale = Memory(4), .y = Memory(24, kUntouched)};

  dequant_microsoft microsoft() const {
    auto node = sized<dequant_microsoft>();
    node.version = 1;
    node.x = tensor(DEQUANT_INT8, dims);
    node.x_scale = tensor(DEQUANT_FLOAT32, {});
    return node;
  }
  dequant_webnn webnn() const {
    auto node = sized<dequant_webnn>();
    node.input = tensor(DEQUANT_INT8, dims);
    node.scale = tensor(DEQUANT_FLOAT32, one);
    node.zero_point = tensor(DEQUANT_INT8, one);
    return node;
  }
};

/// Of a later version: more than is known.
template <class T>
struct Later {
  T known;
  unsigned char tail[32];
};

/// Gives a struct every size, and tails of zeros or not, to a call that is good otherwise.
template <class T, class Call>
void check_sizes(const T& good, std::string_view name, Call call) {
  SCOPED_TRACE(name);
  for (const size_t size : {sizeof(T), sizeof(T) + 1, sizeof(T) + 32}) {
    Later<T> later{};
    later.known = good;
    later.known.struct_size = size;
    EXPECT_TRUE(succeeds(call(later.known))) << size;
    if (size == sizeof(T)) continue;
    later.tail[size - sizeof(T) - 1] = 1;
    EXPECT_TRUE(is_invalid(call(later.known), std::string(name) + ": byte ")) << size;
    later.known.struct_size = size - 1;
    EXPECT_TRUE(succeeds(call(later.known))) << "what is beyond is not looked at";
  }
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(size_t), sizeof(T) - 1}) {
    T small = good;
    small.struct_size = size;
    EXPECT_TRUE(is_invalid(call(small), std::string(name) + ".struct_size: " +
                                            std::to_string(size) + " is less than"));
  }
  for (const size_t size : {size_t{4097}, SIZE_MAX}) {
    T large = good;
    large.struct_size = size;
    EXPECT_TRUE(is_invalid(call(large), std::string(name) + ".struct_size: "));
  }
}

TEST(Hostile, ANodeHasToSayItsSize) {
  const Good good;
  const auto planned = [](const auto& node) { return plan(node); };
  check_sizes(good.onnx.view(), "dequant_onnx", planned);
  check_sizes(good.microsoft(), "dequant_microsoft", planned);
  check_sizes(good.tensorflow.view(), "dequant_tensorflow", planned);
  check_sizes(good.webnn(), "dequant_webnn", planned);
}

TEST(Hostile, BuffersAndOptionsHaveToSayTheirSize) {
  Good good;
  check_sizes(good.buffers.view(), "dequant_buffers",
              [&](const auto& buffers) { return run(good.planned, buffers); });
  check_sizes(sized<dequant_options>(), "dequant_options", [&](const auto& options) {
    return run(good.planned, good.buffers.view(), &options);
  });
}

TEST(Hostile, SizesHaveToSayTheirSizeAndKeepIt) {
  const Good good;
  check_sizes(sized<dequant_sizes>(), "dequant_sizes", [&](dequant_sizes& sizes) {
    const size_t given = sizes.struct_size;
    const auto outcome = call(
        [&](auto* error) { return dequant_plan_sizes(good.planned.plan.get(), &sizes, error); });
    EXPECT_EQ(sizes.struct_size, given);
    EXPECT_EQ(sizes.elements, outcome.code == DEQUANT_OK ? 6 : 0);
    sizes.elements = 0;
    return outcome;
  });
}

TEST(CStruct, ThatIsNullIsRefused) {
  Good good;
  const dequant_plan* p = good.planned.plan.get();
  const auto b = good.buffers.view();
  EXPECT_TRUE(
      is_invalid(plan_by([](auto** out, auto* e) { return dequant_plan_onnx(nullptr, out, e); }),
                 "dequant_onnx: null"));
  EXPECT_TRUE(is_invalid(
      plan_by([](auto** out, auto* e) { return dequant_plan_microsoft(nullptr, out, e); }),
      "dequant_microsoft: null"));
  EXPECT_TRUE(is_invalid(
      plan_by([](auto** out, auto* e) { return dequant_plan_tensorflow(nullptr, out, e); }),
      "dequant_tensorflow: null"));
  EXPECT_TRUE(
      is_invalid(plan_by([](auto** out, auto* e) { return dequant_plan_webnn(nullptr, out, e); }),
                 "dequant_webnn: null"));
  EXPECT_TRUE(is_invalid(
      plan_by([](auto** out, auto* e) { return dequant_plan_directml(nullptr, 0x5000, out, e); }),
      "desc: null"));
  EXPECT_TRUE(is_invalid(call([&](auto* e) { return dequant_run(nullptr, &b, nullptr, e); }),
                         "plan: null"));
  EXPECT_TRUE(is_invalid(call([&](auto* e) { return dequant_run(p, nullptr, nullptr, e); }),
                         "dequant_buffers: null"));
  EXPECT_TRUE(is_invalid(call([&](auto* e) { return dequant_plan_sizes(p, nullptr, e); }),
                         "dequant_sizes: null"));
  auto sizes = sized<dequant_sizes>();
  EXPECT_TRUE(is_invalid(call([&](auto* e) { return dequant_plan_sizes(nullptr, &sizes, e); }),
                         "plan: null"));
}

TEST(CStruct, ANullPointerForThePlanIsRefused) {
  const Good good;
  const auto onnx = good.onnx.view();
  const auto microsoft = good.microsoft();
  const auto tensorflow = good.tensorflow.view();
  const auto webnn = good.webnn();
  const auto refused = [](auto function, const auto& node) {
    return is_invalid(call([&](auto* error) { return function(&node, nullptr, error); }),
                      "plan: null");
  };
  EXPECT_TRUE(refused(dequant_plan_onnx, onnx));
  EXPECT_TRUE(refused(dequant_plan_microsoft, microsoft));
  EXPECT_TRUE(refused(dequant_plan_tensorflow, tensorflow));
  EXPECT_TRUE(refused(dequant_plan_webnn, webnn));
  EXPECT_TRUE(is_invalid(
      call([](auto* error) { return dequant_plan_directml("", 0x5000, nullptr, error); }),
      "plan: null"));
}

/// Every number that is none of `known` in a field of a node is refused with a word.
template <class Node, class Field>
void check_field(Node node, Field Node::*field, const std::vector<int>& known,
                 std::string_view word) {
  for (const int n : {INT_MIN, -1, 0, 1, 2, 3, 4, 7, 8, 15, 26, 27, 64, 255, 256, INT_MAX}) {
    if (std::find(known.begin(), known.end(), n) != known.end()) continue;
    set_number(node.*field, n);
    EXPECT_TRUE(is_invalid(plan(node), word)) << n;
  }
}

TEST(Hostile, EnumerationsOfTensorFlowAreRefusedOutOfRange) {
  const TensorFlowNode owner;
  const auto node = owner.view();
  using Node = dequant_tensorflow;
  check_field(node, &Node::version, {0, 1}, "version: ");
  check_field(node, &Node::mode, {0, 1, 2}, "mode: ");
  check_field(node, &Node::semantics, {0, 1}, "semantics: ");
  check_field(node, &Node::dtype, {0, 1, 16}, "dtype: ");
  check_field(node, &Node::narrow_range, {0, 1}, "narrow_range: ");
}

/// Every tensor of a node, with numbers that are no element.
template <class Node>
void check_tensor(Node node, dequant_tensor Node::*field, std::string_view name, bool optional) {
  SCOPED_TRACE(name);
  for (const int n : {INT_MIN, -1, 0, 7, 8, 9, 11, 13, 29, 99, 0x7FFFFFFF}) {
    if (n == 0 && optional) continue;
    set_number((node.*field).element, n);
    EXPECT_TRUE(is_invalid(plan(node), std::string(name) + ": " + std::to_string(n)));
  }
}

TEST(Hostile, TypesOfEveryTensorAreRefusedOutOfRange) {
  const Good good;
  using O = dequant_onnx;
  check_tensor(good.onnx.view(), &O::x, "x", false);
  check_tensor(good.onnx.view(), &O::x_scale, "x_scale", false);
  check_tensor(good.onnx.view(), &O::x_zero_point, "x_zero_point", true);
  using M = dequant_microsoft;
  check_tensor(good.microsoft(), &M::x, "x", false);
  check_tensor(good.microsoft(), &M::x_scale, "x_scale", false);
  check_tensor(good.microsoft(), &M::x_zero_point, "x_zero_point", true);
  using T = dequant_tensorflow;
  check_tensor(good.tensorflow.view(), &T::input, "input", false);
  check_tensor(good.tensorflow.view(), &T::min_range, "min_range", false);
  check_tensor(good.tensorflow.view(), &T::max_range, "max_range", false);
  using W = dequant_webnn;
  check_tensor(good.webnn(), &W::input, "input", false);
  check_tensor(good.webnn(), &W::scale, "scale", false);
  check_tensor(good.webnn(), &W::zero_point, "zero_point", false);
}

TEST(Hostile, StoresAreRefusedOutOfRange) {
  Good good;
  auto options = sized<dequant_options>();
  for (const int n : {INT_MIN, -1, 3, 4, INT_MAX}) {
    set_number(options.stores, n);
    EXPECT_TRUE(is_invalid(run(good.planned, good.buffers.view(), &options), "stores: ")) << n;
    EXPECT_EQ(good.buffers.y, Memory(24, kUntouched));
  }
}

TEST(Hostile, FeatureLevelsAreRefusedOutOfRange) {
  const void* nothing[2] = {};
  for (const uint32_t level : {0x8000U, 0xFFFFU, 0x80000000U, UINT32_MAX}) {
    EXPECT_TRUE(is_invalid(
        plan_by([&](auto** out, auto* e) { return dequant_plan_directml(nothing, level, out, e); }),
        "feature_level: "))
        << level;
  }
}

TEST(CTensor, ThatIsAbsentHasNoShape) {
  const Dims dims{1};
  const OnnxNode owner;
  auto node = owner.view();
  node.x_zero_point = {DEQUANT_NO_ELEMENT, 0, dims.data()};
  EXPECT_TRUE(is_invalid(plan(node), "x_zero_point: has a shape but no element"));
  node.x_zero_point = {DEQUANT_NO_ELEMENT, 1, nullptr};
  EXPECT_TRUE(is_invalid(plan(node), "x_zero_point: has a shape but no element"));
}

}  // namespace
}  // namespace dequant::testing::c::struct_test

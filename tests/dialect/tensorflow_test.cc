// TensorFlow's Dequantize: nodes and the plans or errors they give, one row per clause of its
// kernel.
#include <gtest/gtest.h>

#include <algorithm>

#include "dialect/tensorflow_node.h"

namespace dequant::tensorflow_test {
namespace {

using namespace testing::tensorflow_node;
using testing::Fixed;
using testing::is_invalid;
using enum Element;

constexpr Element kQuantized[] = {uint8, int8, uint16, int16, int32};
constexpr Mode kModes[] = {Mode::min_combined, Mode::min_first, Mode::scaled};
constexpr int64_t kCorners[] = {-10,       -100,      10,        100,          INT32_MAX,
                                INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX - 1};

TEST(TensorflowNames, AreThoseOfTheFiveQuantizedTypesAndThreeModes) {
  const std::pair<Element, const char*> types[] = {{uint8, "quint8"},
                                                   {int8, "qint8"},
                                                   {uint16, "quint16"},
                                                   {int16, "qint16"},
                                                   {int32, "qint32"}};
  for (const auto& [element, name] : types) {
    EXPECT_EQ(tensorflow::name(element), name);
    EXPECT_EQ(tensorflow::element_from_name(name), element);
  }
  EXPECT_EQ(tensorflow::name(bfloat16), "bfloat16");
  for (const char* other : {"", "int8", "qint4", "quint32", "QINT8", "qint8 ", "float32"}) {
    EXPECT_EQ(tensorflow::element_from_name(other), std::nullopt) << other;
  }
  const std::pair<Mode, const char*> modes[] = {{Mode::min_combined, "MIN_COMBINED"},
                                                {Mode::min_first, "MIN_FIRST"},
                                                {Mode::scaled, "SCALED"}};
  for (const auto& [mode, name] : modes) {
    EXPECT_EQ(tensorflow::name(mode), name);
    EXPECT_EQ(tensorflow::mode_from_name(name), mode);
  }
  EXPECT_EQ(tensorflow::name(static_cast<Mode>(3)), "unknown");
  for (const char* other : {"", "scaled", "MIN_COMBINED ", "unknown", "MIN"}) {
    EXPECT_EQ(tensorflow::mode_from_name(other), std::nullopt) << other;
  }
}

TEST(TensorflowDequantize, AllowsFiveTypesOfInput) {
  for (const Element x : elements()) {
    SCOPED_TRACE(name(x));
    const bool quantized = std::ranges::find(kQuantized, x) != std::end(kQuantized);
    const auto plan = plan_of({.input = {x, {2, 3, 4}}});
    ASSERT_EQ(static_cast<bool>(plan), quantized);
    if (plan) {
      EXPECT_EQ(plan->input, x);
      EXPECT_EQ(plan->scale, float32);
      EXPECT_FALSE(plan->has_zero_point);
    } else {
      EXPECT_TRUE(is_invalid(plan, "input: element type " + std::string(name(x))));
    }
  }
}

TEST(TensorflowDequantize, TakesRangesOfFloat32Only) {
  for (const Element e : elements()) {
    if (e == float32) continue;
    rejects("min_range", {.min = {e, {}}}, "min_range: element type");
    rejects("max_range", {.max = {e, {}}}, "max_range: element type");
  }
}

TEST(TensorflowDequantize, WritesFloat32OrBfloat16AndTheLatterOnlyWithMinCombined) {
  for (const Element dtype : elements()) {
    for (const Mode mode : kModes) {
      SCOPED_TRACE(::testing::Message() << name(dtype) << " " << tensorflow::name(mode));
      const auto plan = plan_of({.mode = mode, .dtype = dtype});
      const bool good = dtype == float32 || (dtype == bfloat16 && mode == Mode::min_combined);
      ASSERT_EQ(static_cast<bool>(plan), good);
      if (good) {
        EXPECT_EQ(plan->output, dtype);
      } else {
        EXPECT_TRUE(is_invalid(plan, "dtype: "));
      }
    }
  }
}

TEST(TensorflowDequantize, ModeAndNarrowRangeChooseTheRule) {
  for (const Element x : kQuantized) {
    SCOPED_TRACE(name(x));
    const auto rule = [&](Mode mode, bool narrow) {
      return plan_of({.input = {x, {4}}, .mode = mode, .narrow_range = narrow}).value().rule;
    };
    EXPECT_EQ(rule(Mode::min_combined, false), Rule::min_combined);
    EXPECT_EQ(rule(Mode::min_combined, true), Rule::min_combined) << "narrow_range is of SCALED";
    EXPECT_EQ(rule(Mode::min_first, false), Rule::min_first);
    EXPECT_EQ(rule(Mode::min_first, true), Rule::min_first);
    EXPECT_EQ(rule(Mode::scaled, false), Rule::scaled);
    const bool is_signed = x == int8 || x == int16 || x == int32;
    EXPECT_EQ(rule(Mode::scaled, true), is_signed ? Rule::scaled_narrow_range : Rule::scaled);
  }
}

TEST(TensorflowRawAxis, MinusOneIsPerTensor) {
  accepts("the default", {}, per_tensor(24));
  accepts("rank 0", {.input = {int8, {}}}, per_tensor(1));
  accepts("an empty input has one pair of ranges", {.input = {int8, {3, 0}}}, per_tensor(0));
  accepts("rank 9", {.input = {int8, {1, 2, 1, 2, 1, 2, 1, 2, 3}}}, per_tensor(48));
  accepts("ranges of shape [1]", with_ranges({}, {1}), per_tensor(24));
  accepts("ranges of shape [1, 1, 1]", with_ranges({}, {1, 1, 1}), per_tensor(24));
  accepts("ranges of two shapes", {.min = {float32, {1}}, .max = {float32, {}}}, per_tensor(24));
  accepts("MIN_FIRST", {.mode = Mode::min_first}, per_tensor(24, Rule::min_first));
}

TEST(TensorflowRawAxis, SplitsTheInput) {
  accepts("axis 0", with_ranges({.axis = RawAxis{0}}, {2}), per_axis(1, 2, 12));
  accepts("axis 1", with_ranges({.axis = RawAxis{1}}, {3}), per_axis(2, 3, 4));
  accepts("axis 2", with_ranges({.axis = RawAxis{2}}, {4}), per_axis(6, 4, 1));
  accepts("ranges of any rank", with_ranges({.axis = RawAxis{1}}, {1, 3, 1}), per_axis(2, 3, 4));
  accepts("no slices, no ranges",
          with_ranges({.input = {int8, {2, 0, 4}}, .axis = RawAxis{1}}, {0}), per_axis(2, 0, 4));
  accepts("a zero dimension elsewhere",
          with_ranges({.input = {int8, {0, 3, 4}}, .axis = RawAxis{1}}, {3}), per_axis(0, 3, 4));
}

TEST(TensorflowRawAxis, OfDimensionOneRunsPerTensor) {
  const Node node{.input = {int8, {2, 1, 4}}, .axis = RawAxis{1}};
  accepts("ranges of shape [1]", with_ranges(node, {1}), per_tensor(8));
  accepts("scalar ranges", node, per_tensor(8));
  Node first = node;
  first.mode = Mode::min_first;
  accepts("MIN_FIRST too", first, per_tensor(8, Rule::min_first));
}

TEST(TensorflowRawAxis, IsRefusedBelowMinusOneAndFromTheRankOn) {
  for (const int64_t axis : kCorners) {
    for (const Fixed& ranges : {Fixed{}, Fixed{0}, Fixed{3}}) {
      const Node node = with_ranges({.axis = RawAxis{axis}}, ranges);
      EXPECT_TRUE(is_invalid(plan_of(node), "axis: " + std::to_string(axis)));
    }
  }
  rejects("-2", {.axis = RawAxis{-2}}, "axis: -2 is less than -1");
  rejects("the rank", {.axis = RawAxis{3}}, "axis: 3 is outside [-1, 2] for input of rank 3");
  rejects("0 of a scalar", {.input = {int8, {}}, .axis = RawAxis{0}}, "axis: 0");
}

TEST(TensorflowPythonAxis, CountsFromTheBackAndHasNoNumberForPerTensor) {
  accepts("none", {.axis = PythonAxis{}}, per_tensor(24));
  accepts("-1, the last", with_ranges({.axis = PythonAxis{-1}}, {4}), per_axis(6, 4, 1));
  accepts("-3, the first", with_ranges({.axis = PythonAxis{-3}}, {2}), per_axis(1, 2, 12));
  accepts("1", with_ranges({.axis = PythonAxis{1}}, {3}), per_axis(2, 3, 4));
  rejects("-1 is not per tensor", {.axis = PythonAxis{-1}}, "min_range: 1 elements");
  rejects("-1 of a scalar", {.input = {int8, {}}, .axis = PythonAxis{-1}}, "axis: -1");
  rejects("-4", with_ranges({.axis = PythonAxis{-4}}, {4}), "axis: -4 is outside [-3, 2]");
  rejects("3", with_ranges({.axis = PythonAxis{3}}, {4}), "axis: 3 is outside [-3, 2]");
  for (const int64_t axis : kCorners) {
    EXPECT_TRUE(is_invalid(plan_of({.axis = PythonAxis{axis}}), "axis: " + std::to_string(axis)));
  }
}

TEST(TensorflowRanges, HaveAsManyElementsAsSlices) {
  for (const Fixed& shape : {Fixed{0}, Fixed{2}, Fixed{24}, Fixed{1, 0}, Fixed{2, 3, 4}}) {
    rejects("min, per tensor", {.min = {float32, shape}}, "min_range: ");
    rejects("max, per tensor", {.max = {float32, shape}}, "max_range: ");
  }
  const Node sliced = with_ranges({.axis = RawAxis{1}}, {3});
  for (const Fixed& shape : {Fixed{}, Fixed{0}, Fixed{2}, Fixed{4}, Fixed{3, 2}, Fixed{3, 0}}) {
    Node node = sliced;
    node.min.shape = shape;
    rejects("min, sliced", node, "min_range: ");
    node = sliced;
    node.max.shape = shape;
    rejects("max, sliced", node, "max_range: ");
  }
  rejects("one for no slices", {.input = {int8, {0, 4}}, .axis = RawAxis{0}}, "1 elements");
  rejects("none per tensor, empty input", with_ranges({.input = {int8, {0}}}, {0}), "0 elements");
}

TEST(TensorflowMinFirst, IsUnsupportedForAnyNumberOfSlicesButOne) {
  const Node node{.mode = Mode::min_first, .axis = RawAxis{1}};
  const auto unsupported = [](const Node& n) {
    return testing::fails(plan_of(n), ErrorCode::unsupported, "mode: MIN_FIRST");
  };
  EXPECT_TRUE(unsupported(with_ranges(node, {3})));
  Node empty = node;
  empty.input.shape = {2, 0};
  EXPECT_TRUE(unsupported(with_ranges(empty, {0})));
}

TEST(TensorflowR14, HasNoAttributeButMode) {
  const Node node{.version = Version::r1_4};
  accepts("MIN_COMBINED", node, per_tensor(24));
  Node other = node;
  other.axis = PythonAxis{};
  accepts("the other spelling of no axis", other, per_tensor(24));
  other.axis = RawAxis{0};
  rejects("axis", with_ranges(other, {2}), "axis: Dequantize has no such attribute");
  other.axis = PythonAxis{-1};
  rejects("axis of Python", with_ranges(other, {4}), "axis: Dequantize has no such attribute");
  other = node;
  other.narrow_range = true;
  rejects("narrow_range", other, "narrow_range: ");
  other = node;
  other.dtype = bfloat16;
  rejects("dtype", other, "dtype: ");
  other = node;
  rejects("two ranges", with_ranges(other, {2}), "min_range: 2 elements");
  rejects("no range", with_ranges(other, {0}), "min_range: 0 elements");
}

TEST(TensorflowDocumented, IsARuleOfItsOwnForEachModeOfR14) {
  const std::pair<Mode, Rule> rules[] = {{Mode::min_combined, Rule::documented_min_combined},
                                         {Mode::min_first, Rule::documented_min_first},
                                         {Mode::scaled, Rule::documented_scaled}};
  for (const Element x : kQuantized) {
    for (const auto& [mode, rule] : rules) {
      Node node{.input = {x, {2, 3, 4}}, .mode = mode, .version = Version::r1_4};
      node.semantics = Semantics::documented;
      Plan want = per_tensor(24, rule);
      want.input = x;
      accepts("r1.4", node, want);
      node.version = Version::r2;
      rejects("r2", node, "semantics: the documented ones are those of version 1.4");
    }
  }
}

TEST(TensorflowEnumerators, OutsideTheirListAreRefused) {
  for (const int number : {3, 17, 19, 31, 32, 127, 255}) {
    SCOPED_TRACE(number);
    const auto element = static_cast<Element>(number);
    if (number >= static_cast<int>(elements().size())) {
      rejects("input", {.input = {element, {4}}}, "input: element type number");
      rejects("min_range", {.min = {element, {}}}, "min_range: element type number");
      rejects("max_range", {.max = {element, {}}}, "max_range: element type number");
      rejects("dtype", {.dtype = element}, "dtype: number");
    }
    rejects("mode", {.mode = static_cast<Mode>(number)}, "is not MIN_COMBINED");
    rejects("version", {.version = static_cast<Version>(number)}, "neither r1_4");
    rejects("semantics", {.version = Version::r1_4, .semantics = static_cast<Semantics>(number)},
            "neither kernel");
  }
}

TEST(TensorflowSizes, ThatOverflowAreRefused) {
  const int64_t k30 = int64_t{1} << 30;
  const int64_t k32 = int64_t{1} << 32;
  const int64_t k40 = int64_t{1} << 40;
  const int64_t k62 = int64_t{1} << 62;
  rejects("a negative dimension", {.input = {int8, {2, -1}}}, "input: dimension 1");
  rejects("2^64 elements", {.input = {int8, {k32, k32}}}, "2^63");
  rejects("a zero first", {.input = {int8, {0, k40, k40}}}, "2^63");
  rejects("a zero last", {.input = {int8, {k40, k40, 0}}}, "2^63");
  rejects("bytes of input", {.input = {int32, {k62}}}, "input: ");
  rejects("bytes of output: 2^64 - 16", {.input = {int8, {4, k30 - 1, k30 + 1}}}, "output: ");
  accepts("the most float32", {.input = {int8, {(int64_t{1} << 61) - 1}}},
          per_tensor((int64_t{1} << 61) - 1));
  rejects("a negative dimension of min_range", {.min = {float32, {-1}}}, "min_range: dimension 0");
  rejects("elements of max_range", {.max = {float32, {k32, k32}}}, "max_range: ");
  rejects("bytes of ranges for an empty input",
          with_ranges({.input = {int8, {0, k62}}, .axis = RawAxis{1}}, {k62}), "min_range: ");
}

}  // namespace
}  // namespace dequant::tensorflow_test

// Cases of TensorFlow: types, attributes and versions by its own names. All numbers are multiples
// of a step of 1 or 2, so that every formula is exact and can be followed by hand.
#include <gtest/gtest.h>

#include "../judged.h"
#include "../one_case.h"
#include "support/expect_error.h"

namespace dequant::conformance {
namespace {

using testing::case_file;
using testing::fails;
using testing::is_refused;
using testing::passes;
using testing::run_first;
using testing::verdict_is;
using testing::with;

/// quint8 codes where 255 steps span 255: each code stands for itself.
const std::string kSteps = case_file(
    R"({"name": "steps", "dialect": "tensorflow", "version": "2", "attributes": {},)"
    R"( "inputs": {"x": {"type": "quint8", "shape": [3], "bits": [0, 2, 255]},)"
    R"( "min_range": {"type": "float32", "shape": [], "bits": [0]},)"
    R"( "max_range": {"type": "float32", "shape": [], "bits": [1132396544]}},)"  // 255
    R"( "expect": {"y": {"type": "float32", "shape": [3], "bits": [0, 1073741824, 1132396544]}}})");

std::string steps_with(std::string_view from, std::string_view to) {
  return with(kSteps, from, to);
}

std::string attributes(const std::string& text, std::string_view members) {
  return with(text, R"("attributes": {})", R"("attributes": {)" + std::string(members) + "}");
}

/// qint8 code 1 with a min_range of -127 and a max_range of 0: 1 or 127/128, by the lowest code.
std::string narrow(std::string_view member, std::string_view y) {
  std::string text = attributes(kSteps, R"("mode": "SCALED")" + std::string(member));
  text = with(text, R"({"type": "quint8", "shape": [3], "bits": [0, 2, 255]})",
              R"({"type": "qint8", "shape": [1], "bits": [1]})");
  text = with(text, R"("bits": [0]})", R"("bits": [3271426048]})");
  text = with(text, "[1132396544]", "[0]");
  return with(text, R"([3], "bits": [0, 1073741824, 1132396544]})",
              R"([1], "bits": [)" + std::string(y) + "]}");
}

/// The codes 0, 2, 255 from -0.25 to 254.75, version 1.4.
std::string off_grid(std::string_view members, std::string_view y) {
  std::string text = attributes(steps_with(R"("2")", R"("1.4")"), members);
  text = with(text, R"("bits": [0]})", R"("bits": [3196059648]})");
  text = with(text, "[1132396544]", "[1132380160]");
  return with(text, "[0, 1073741824, 1132396544]", y);
}

TEST(TensorflowCase, CodesAreStepsFromMinToMax) {
  EXPECT_TRUE(passes(kSteps));
  EXPECT_TRUE(passes(steps_with(R"("version": "2")", R"("version": 2)")));
  EXPECT_TRUE(passes(steps_with(R"("version": "2")", R"("version": "1.4")")));
  EXPECT_TRUE(verdict_is(run_first(steps_with("[0, 1073741824", "[0, 1073741825")), Verdict::failed,
                         "first at [1]: 2 (0x40000000)"));
}

TEST(TensorflowCase, DefaultsMayBeSaid) {
  EXPECT_TRUE(passes(attributes(kSteps, R"("mode": "MIN_COMBINED", "narrow_range": false,)"
                                        R"( "axis": -1, "dtype": "float32",)"
                                        R"( "semantics": "kernel")")));
}

TEST(TensorflowCase, ModesAndSemanticsGoByTheirNames) {
  EXPECT_TRUE(
      passes(off_grid(R"("mode": "MIN_COMBINED")", "[3196059648, 1071644672, 1132380160]")));
  EXPECT_TRUE(passes(off_grid(R"("mode": "MIN_FIRST")", "[0, 1073741824, 1132396544]")));
  EXPECT_TRUE(passes(off_grid(R"("mode": "MIN_FIRST", "semantics": "documented")",
                              "[3196059648, 1071644672, 1132380160]")));
}

TEST(TensorflowCase, NarrowRangeMovesTheLowestCode) {
  EXPECT_TRUE(passes(narrow(R"(, "narrow_range": true)", "1065353216")));
  EXPECT_TRUE(passes(narrow(R"(, "narrow_range": false)", "1065222144")));
  EXPECT_TRUE(passes(narrow("", "1065222144")));
}

TEST(TensorflowCase, TheAxisIsThatOfTheRawOp) {
  std::string text = attributes(kSteps, R"("axis": 0)");
  text = with(text, R"("shape": [3], "bits": [0, 2, 255])", R"("shape": [2, 1], "bits": [1, 1])");
  text = with(text, R"("shape": [], "bits": [0])", R"("shape": [2], "bits": [0, 0])");
  text = with(text, R"("shape": [], "bits": [1132396544])",
              R"("shape": [2], "bits": [1132396544, 1140785152])");
  text = with(text, R"("shape": [3], "bits": [0, 1073741824, 1132396544])",
              R"("shape": [2, 1], "bits": [1065353216, 1073741824])");
  EXPECT_TRUE(passes(text));
  EXPECT_TRUE(is_refused(with(text, R"("axis": 0)", R"("axis": -1)"), "min_range"));
  EXPECT_TRUE(is_refused(with(text, R"("axis": 0)", R"("axis": 2)"), "axis"));
  EXPECT_TRUE(is_refused(with(text, R"("axis": 0)", R"("axis": -2)"), "axis"));
}

TEST(TensorflowCase, TheOutputMayBeBfloat16) {
  std::string text = attributes(kSteps, R"("dtype": "bfloat16")");
  text = with(text, R"("float32", "shape": [3], "bits": [0, 1073741824, 1132396544])",
              R"("bfloat16", "shape": [3], "bits": [0, 16384, 17279])");
  EXPECT_TRUE(passes(text));
  EXPECT_TRUE(is_refused(with(text, R"("dtype": )", R"("mode": "SCALED", "dtype": )"), "bfloat16"));
  EXPECT_TRUE(is_refused(with(text, R"("dtype": "bfloat16")", R"("dtype": "float16")"), "float16"));
}

TEST(TensorflowCase, TypesAreQuantizedOnes) {
  EXPECT_TRUE(
      is_refused(steps_with("quint8", "uint8"), "x: uint8 is not a quantized type; quint8"));
  EXPECT_TRUE(is_refused(steps_with("quint8", "float8e5m2"), "float8e5m2"));
  EXPECT_TRUE(is_refused(
      steps_with(R"("min_range": {"type": "float32")", R"("min_range": {"type": "qint32")"),
      "min_range"));
  EXPECT_TRUE(fails(run_first(steps_with("quint8", "quint32")), ErrorCode::malformed, "quint32"));
  EXPECT_TRUE(
      fails(run_first(steps_with(R"({"y": {"type": "float32")", R"({"y": {"type": "float")")),
            ErrorCode::malformed, "expect.y: type \"float\""));
}

TEST(TensorflowCase, OtherAttributesAreRefused) {
  EXPECT_TRUE(is_refused(attributes(kSteps, R"("narow_range": true)"),
                         "narow_range: Dequantize has no such attribute"));
  EXPECT_TRUE(is_refused(attributes(kSteps, R"("block_size": 1)"), "block_size"));
}

TEST(TensorflowCase, AttributesHaveTheirKindOfValue) {
  for (const std::string_view members :
       {R"("mode": "MIN_FRIST")", R"("mode": 1)", R"("narrow_range": 1)",
        R"("narrow_range": "true")", R"("axis": "0")", R"("axis": 0.5)", R"("dtype": "half")",
        R"("dtype": 1)", R"("semantics": "documentd")", R"("semantics": true)"}) {
    const std::string_view name = members.substr(1, members.find('"', 1) - 1);
    EXPECT_TRUE(fails(run_first(attributes(kSteps, members)), ErrorCode::malformed,
                      "attributes." + std::string(name)))
        << members;
  }
}

TEST(TensorflowCase, VersionsAndInputsAreThoseOfTheFormat) {
  for (const std::string_view version : {"1", "\"1.15\"", "\"2.0\"", "3"}) {
    const auto outcome = run_first(steps_with(R"("2")", version));
    EXPECT_TRUE(fails(outcome, ErrorCode::malformed, "version")) << version;
  }
  EXPECT_TRUE(
      fails(run_first(steps_with("max_range", "scale")), ErrorCode::malformed, "max_range"));
  EXPECT_TRUE(fails(run_first(steps_with(R"("min_range": {)",
                                         R"("scale": {"type": "float32", "shape": [], "bits": []},)"
                                         R"( "min_range": {)")),
                    ErrorCode::malformed, "inputs.scale"));
  EXPECT_TRUE(fails(run_first(steps_with("[0, 2, 255]", "[0, 2, 256]")), ErrorCode::malformed,
                    "x: bits[2]: 256 is no code of uint8"));
  EXPECT_TRUE(fails(run_first(steps_with(R"("bits": [0]})", R"("bits": [4294967296]})")),
                    ErrorCode::malformed, "min_range: bits[0]"));
}

}  // namespace
}  // namespace dequant::conformance

// What the vectors of each feature level must cover.
#include <gmock/gmock.h>

#include "coverage.h"

namespace dequant::conformance::vectors {
namespace {

using ::testing::Contains;
using testing::made;

struct Level {
  std::string level;
  Names x;
  Names outputs;
  bool any_rank;
  bool needs_zero_point;
  bool dequantize;
};

std::vector<Level> levels() {
  const Names integers{"uint8", "int8", "uint16", "int16", "uint32", "int32"};
  const Names f32{"float32"};
  const Names floats{"float32", "float16"};
  return {
      {"1_0", {"uint8"}, f32, false, true, false},   {"2_1", integers, f32, false, true, false},
      {"3_0", integers, f32, true, true, false},     {"6_0", integers, floats, true, true, false},
      {"6_2", integers, floats, true, false, false}, {"6_3", integers, floats, true, false, true},
      {"6_4", integers, floats, true, false, true}};
}

const std::string kElementWise = "ELEMENT_WISE_DEQUANTIZE_LINEAR ";
const Names kLayouts{"per_element", "per_tensor", "per_axis",   "padded",
                     "permuted",    "broadcast",  "overlapping"};

TEST(VectorsOfDirectml, CoverEveryTypeAndLayoutOfEachLevel) {
  for (const Level& level : levels()) {
    const auto found = combinations(made({"directml", level.level, 1, 0}));
    for (const std::string& name : product(level.x, kLayouts, level.outputs)) {
      EXPECT_THAT(found, Contains(kElementWise + name)) << level.level;
    }
    for (const std::string& name : product({"uint8", "int8", "uint4", "int4"},
                                           kLayouts + Names{"blocked"}, {"float32", "float16"})) {
      EXPECT_EQ(found.contains("DEQUANTIZE " + name), level.dequantize) << name << level.level;
    }
  }
}

TEST(VectorsOfDirectml, HaveRanksAndZeroPointsAsTheLevelDoes) {
  for (const Level& level : levels()) {
    std::set<size_t> ranks;
    bool without_zero_point = false;
    for (const Vector& v : made({"directml", level.level, 1, 0})) {
      if (!v.c.rule.empty() || v.c.operator_name == "DEQUANTIZE") continue;
      ranks.insert(v.c.inputs.at("x").shape.size());
      if (!v.c.inputs.contains("zero_point")) without_zero_point = true;
    }
    EXPECT_EQ(without_zero_point, !level.needs_zero_point) << level.level;
    const std::set<size_t> any{1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(ranks, level.any_rank ? any : std::set<size_t>{4}) << level.level;
  }
}

TEST(VectorsOfDirectml, BreakEveryRuleOfEachLevel) {
  const Names both{
      "rank",    "rank_of_side", "scale_sizes",      "scale_type",      "size_of_zero",
      "strides", "x_type",       "zero_point_sizes", "zero_point_type", "quantization_type"};
  for (const Level& level : levels()) {
    const auto counts = rules(made({"directml", level.level, 1, 0}));
    for (const std::string& rule : both) {
      EXPECT_THAT(keys(counts), Contains("element_wise/" + rule)) << level.level;
      EXPECT_EQ(counts.contains("dequantize/" + rule), level.dequantize) << rule << level.level;
    }
    EXPECT_EQ(counts.contains("element_wise/no_zero_point"), level.needs_zero_point);
    EXPECT_EQ(counts.contains("dequantize/operator_of_a_later_level"), !level.dequantize);
    EXPECT_EQ(counts.at("element_wise/rank"), level.any_rank ? 2 : 7);
    EXPECT_EQ(counts.at("element_wise/x_type"),
              static_cast<int>(elements().size() - level.x.size()));
  }
}

}  // namespace
}  // namespace dequant::conformance::vectors

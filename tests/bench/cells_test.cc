// The enumeration of cells: nothing is left out, and every cell is a plan that runs.
#include "bench/measure/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/measure/workload.h"
#include "dequant/element.h"
#include "support/expect_error.h"

namespace dequant::bench {
namespace {

using dequant::testing::is_invalid;
using dequant::testing::succeeds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<std::string> names_of(const std::vector<Cell>& cells) {
  std::set<std::string> names;
  for (const Cell& cell : cells) names.insert(cell.name);
  return names;
}

std::vector<std::string> selected(const Filter& filter) {
  std::vector<std::string> names;
  for (const Cell& cell : select(filter).value()) names.push_back(cell.name);
  return names;
}

TEST(Cells, NoTwoHaveTheSameName) {
  const auto cells = all_cells();
  EXPECT_EQ(names_of(cells).size(), cells.size());
}

TEST(Cells, EveryInputMeetsEveryOutputGranularityAndBroadcast) {
  const auto names = names_of(all_cells());
  for (const Element x : elements()) {
    if (!is_input(x)) continue;
    for (const char* y : {"float32", "float16", "bfloat16"}) {
      const std::string both = std::string(name(x)) + "/" + y + "/";
      for (const char* granularity :
           {"per_tensor", "per_axis_first", "per_axis_middle", "per_axis_last", "blocked_16_last",
            "blocked_32_last", "blocked_128_last", "blocked_32_middle"}) {
        EXPECT_THAT(names, Contains(both + granularity));
      }
      for (const char* broadcast : {"padded_x_scale_per_row", "padded_x_scale_per_column",
                                    "padded_x_scale_but_for_middle"}) {
        EXPECT_THAT(names, Contains("strided/" + both + broadcast));
      }
    }
  }
}

TEST(Cells, EveryRuleMeetsEveryInputThatItTakes) {
  const auto names = names_of(all_cells());
  for (const char* x : {"uint8", "int8", "uint16", "int16", "int32"}) {
    const std::string both = std::string("ranges/") + x + "/float32/";
    for (const char* rule :
         {"min_combined", "min_first", "scaled", "scaled_narrow_range", "documented_min_combined",
          "documented_min_first", "documented_scaled", "scaled/per_axis_last"}) {
      EXPECT_THAT(names, Contains(both + rule));
    }
    EXPECT_THAT(names, Contains(std::string("ranges/") + x + "/bfloat16/min_combined"));
  }
}

TEST(Cells, TheNeighbourOfACliffIsACellOfTheSameTypes) {
  const auto cells = all_cells();
  size_t cliffs = 0;
  for (const Cell& cell : cells) {
    if (cell.neighbour.empty()) continue;
    ++cliffs;
    const auto found = std::find_if(cells.begin(), cells.end(),
                                    [&](const Cell& c) { return c.name == cell.neighbour; });
    ASSERT_NE(found, cells.end()) << cell.name;
    EXPECT_EQ(found->input, cell.input) << cell.name;
    EXPECT_EQ(found->output, cell.output) << cell.name;
    EXPECT_THAT(found->neighbour, IsEmpty()) << cell.name;
  }
  EXPECT_GT(cliffs, 0u);
}

TEST(Cells, HoldAboutAsManyElementsAsAsked) {
  for (const Cell& cell : all_cells()) {
    for (const int64_t elements : {int64_t{1} << 18, int64_t{1} << 28}) {
      const auto count = static_cast<double>(element_count(cell.plan(elements)));
      EXPECT_NEAR(count / static_cast<double>(elements), 1, 0.01) << cell.name;
    }
  }
}

TEST(Cells, RunAtEverySize) {
  Memories memories;
  for (const Cell& cell : all_cells()) {
    for (const int64_t elements : {1, 1000, 20000}) {
      const auto work = Workload::make(cell, elements, memories);
      ASSERT_TRUE(succeeds(work)) << cell.name;
      EXPECT_TRUE(succeeds(run(work->plan, work->buffers))) << cell.name << " " << elements;
    }
  }
}

TEST(Cells, ARowOfEightDimensionsNeverMerges) {
  for (const Cell& cell : select({.cells = {"cliff/uint8/float32/rank_8*"}}).value()) {
    const Plan plan = cell.plan(int64_t{1} << 20);
    ASSERT_EQ(plan.dimensions.size(), 8u);
    for (size_t i = 0; i + 1 < plan.dimensions.size(); ++i) {
      const Dimension& inner = plan.dimensions[i + 1];
      EXPECT_GT(inner.size, 1) << cell.name;
      EXPECT_NE(plan.dimensions[i].x, inner.x * inner.size) << cell.name;
    }
  }
}

TEST(Filter, EveryListMustMatch) {
  EXPECT_THAT(selected({.inputs = {"uint8"},
                        .outputs = {"*float16"},
                        .granularities = {"per_tensor"},
                        .rules = {"subtract_then_scale"}}),
              ElementsAre("uint8/float16/per_tensor", "uint8/bfloat16/per_tensor"));
}

TEST(Filter, AGlobOfCellsSpansSlashes) {
  EXPECT_THAT(selected({.cells = {"ranges/int8/*/min_c*"}}),
              ElementsAre("ranges/int8/float32/min_combined",
                          "ranges/int8/float32/min_combined/per_axis_middle",
                          "ranges/int8/float32/min_combined/per_axis_last",
                          "ranges/int8/bfloat16/min_combined",
                          "ranges/int8/bfloat16/min_combined/per_axis_middle",
                          "ranges/int8/bfloat16/min_combined/per_axis_last"));
}

TEST(Filter, WithoutListsSelectsAll) { EXPECT_EQ(selected({}).size(), all_cells().size()); }

TEST(Filter, TheUsualOneHasThreeInputsAndNoCliff) {
  const auto cells = select(Filter::usual()).value();
  std::set<std::string_view> inputs;
  for (const Cell& cell : cells) {
    inputs.insert(name(cell.input));
    EXPECT_EQ(cell.rule, Rule::subtract_then_scale);
    EXPECT_THAT(cell.neighbour, IsEmpty());
  }
  EXPECT_THAT(inputs, ElementsAre("float8e4m3fn", "int4", "uint8"));
  EXPECT_EQ(cells.size(), 3u * 3 * (8 + 3));
}

TEST(Filter, ANameThatIsNoneIsAnErrorThatNamesIt) {
  EXPECT_TRUE(
      is_invalid(select({.cells = {"uint8/*", "uint9/*"}}), "no cell has the name \"uint9/*\""));
  EXPECT_TRUE(is_invalid(select({.inputs = {"float32"}}), "input \"float32\""));
  EXPECT_TRUE(is_invalid(select({.outputs = {"int8"}}), "output \"int8\""));
  EXPECT_TRUE(
      is_invalid(select({.granularities = {"per_channel"}}), "granularity \"per_channel\""));
  EXPECT_TRUE(is_invalid(select({.rules = {"MIN_FIRST"}}), "rule \"MIN_FIRST\""));
  EXPECT_TRUE(is_invalid(select({.inputs = {"uint4"}, .rules = {"scaled"}}), "all of these"));
}

}  // namespace
}  // namespace dequant::bench

// The way of every kind of plan, by the vectors of every target and by size: a changed constant or
// condition shows here, and so does a way that no plan uses.
#include "execute/way.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "dequant/explain.h"
#include "dequant/isa.h"
#include "kernel/targets.h"
#include "support/forced_target.h"

namespace dequant::way_test {
namespace {

using testing::ForcedTarget;
using enum Element;
using enum Granularity;
using enum Stores;

/// Targets as way_of() sees them. The others are like one of these: neon like sse4, avx512_fp16
/// like avx512_bf16 with more of the same.
struct Target {
  const char* name;
  size_t lanes;
  bool (*shares)(Element x, Element y);  ///< has a kernel for rows that share scales
};

bool shares_none(Element, Element) { return false; }
bool shares_2_bits(Element x, Element y) { return bits(x) == 2 && y != float32; }
bool shares_bfloat16(Element x, Element y) {
  const bool integer = kind(x) != Kind::floating && bits(x) <= 8;
  return shares_2_bits(x, y) || (integer && y == bfloat16);
}

constexpr std::array kTargets{Target{"avx512_bf16", 16, shares_bfloat16},
                              Target{"avx512", 16, shares_2_bits}, Target{"avx2", 8, shares_2_bits},
                              Target{"sse4", 4, shares_2_bits},
                              Target{"reference", 1, shares_none}};

Table table_like(const Target& target) {
  Table table;
  table.lanes = target.lanes;
  for (const Element x : elements()) {
    if (!is_input(x)) continue;
    for (const Element y : kOutputElements) {
      if (target.shares(x, y)) table.shared_at(x, y) = [](const KernelArgs&) {};
    }
  }
  return table;
}

/// The name of the way on each target, in the order of kTargets; one name: on all.
struct Names {
  std::array<const char*, kTargets.size()> of;
  Names(std::array<const char*, kTargets.size()> each) : of(each) {}
  Names(const char* all) : of{all, all, all, all, all} {}
  Names(const char* vectors, const char* reference)
      : of{vectors, vectors, vectors, vectors, reference} {}
  Names(const char* avx512, const char* others, const char* reference)
      : of{avx512, avx512, others, others, reference} {}
};

struct Case {
  const char* what;
  Plan plan;
  Names cached;
  Names streamed;
};

Plan packed(Granularity granularity, int64_t outer, int64_t axis, int64_t inner, int64_t block = 1,
            Element x = uint8, Element y = float32) {
  return {.input = x,
          .scale = y,
          .output = y,
          .has_zero_point = true,
          .granularity = granularity,
          .outer = outer,
          .axis = axis,
          .inner = inner,
          .block = block};
}

Plan of_dimensions(std::vector<Dimension> dimensions, Element x = uint8, Element y = float32) {
  Plan plan = packed(strided, 1, 1, 1, 1, x, y);
  plan.dimensions = std::move(dimensions);
  return plan;
}

/// [512, 1024] with parameters of blocks of 128 columns.
Plan matrix(CodeOrder order, bool down_columns) {
  Plan plan = of_dimensions({{512, down_columns ? 1024 : 1, 1, 1, 1024},
                             {8, down_columns ? 128 : 128 * 512, 512, 512, 128},
                             {128, down_columns ? 1 : 512, 0, 0, 1}});
  plan.parameters.x_packing = {.order = order, .bits = 4, .row = 512};
  if (down_columns) plan.parameters.x_packing = {order, 4, 1024, 512};
  return plan;
}

/// [512, 1024] with a group index of the columns.
Plan indexed() {
  Plan plan = of_dimensions({{512, 1024, 8, 8, 1024}, {1024, 1, 0, 0, 1, 1, 1}});
  plan.parameters.group_index = {.groups = 8, .scale = 1, .zero_point = 1};
  return plan;
}

Plan with(Parameters parameters, Plan plan) {
  plan.parameters = parameters;
  return plan;
}

Plan ranges(Rule rule, Plan plan) {
  plan.rule = rule;
  plan.has_zero_point = false;
  return plan;
}

std::vector<Case> cases() {
  constexpr int64_t kMi = 1 << 20;
  return {
      {"one scale", packed(per_tensor, 1, 1, kMi), "one scale", "one scale, streamed"},
      {"a formula", ranges(Rule::documented_scaled, packed(per_tensor, 1, 1, kMi)), "formula",
       "formula, streamed"},
      {"ranges for a tensor", ranges(Rule::min_first, packed(per_tensor, 1, 1, kMi)), "groups",
       "groups, streamed"},
      {"ranges for vectors of 8",
       ranges(Rule::min_first, packed(per_axis, 1, 100000, 8)),
       {"expanded", "groups"},
       {"expanded, streamed", "groups, streamed"}},
      {"a scale for each of 7", packed(per_axis, 9000, 7, 1), "repeated rows",
       "repeated rows, streamed"},
      {"a scale for each of 1024", packed(per_axis, 100, 1024, 1), "repeated rows",
       "repeated rows, streamed"},
      {"a scale for each of 1025", packed(per_axis, 100, 1025, 1), "rows", "rows, streamed"},
      {"a scale for each of 4096", packed(per_axis, 100, 4096, 1), "rows", "rows, streamed"},
      {"the same of 2-bit codes",
       packed(per_axis, 100, 4096, 1, 1, int2, float16),
       {"rows, shared", "rows"},
       {"rows, shared, streamed", "rows, streamed"}},
      {"rows of results that do not end with a line",
       packed(per_axis, 100, 4100, 1, 1, int2, float16),
       {"rows, shared", "rows"},
       "rows, streamed"},
      {"blocks of 1", packed(blocked, 1000, 4096, 1, 1), "rows", "rows, streamed"},
      {"rows of a block", packed(blocked, 64, 64, 1024, 32), "rows", "rows, streamed"},
      {"short rows of a block", packed(blocked, 64, 64, 100, 32), "expanded", "expanded, streamed"},
      {"channels of 3", packed(per_axis, 1, kMi, 3), "expanded", "expanded, streamed"},
      {"channels of 3 of images", packed(per_axis, 8, 100000, 3), "columns", "columns, streamed"},
      {"the same of 2-bit codes",
       packed(per_axis, 8, 100000, 3, 1, uint2, bfloat16),
       {"columns, shared", "columns"},
       {"columns, shared, streamed", "columns, streamed"}},
      {"channels of 8",
       packed(per_axis, 1, 100000, 8),
       {"expanded", "groups", "groups"},
       {"expanded, streamed", "groups, streamed", "groups, streamed"}},
      {"channels of 49", packed(per_axis, 2, 4000, 49), "expanded", "expanded, streamed"},
      {"channels of 64", packed(per_axis, 2, 4000, 64), "groups", "groups, streamed"},
      {"channels of 2047", packed(per_axis, 2, 400, 2047), "expanded", "expanded, streamed"},
      {"channels of 2049", packed(per_axis, 2, 400, 2049), "groups", "groups, streamed"},
      {"channels that start within a byte", packed(per_axis, 2, 400, 2049, 1, int4), "expanded",
       "expanded, streamed"},
      {"blocks of 16", packed(blocked, 1000, 4096, 1, 16), "groups", "groups, streamed"},
      {"blocks of 24",
       packed(blocked, 1000, 4096, 1, 24),
       {"expanded", "groups"},
       {"expanded, streamed", "groups, streamed"}},
      {"blocks of 128", packed(blocked, 1000, 4096, 1, 128), "groups", "groups, streamed"},
      {"padded rows, one scale", of_dimensions({{100, 4160, 0, 0, 4096}, {4096, 1, 0, 0, 1}}),
       "strided: rows in place", "strided: rows in place, streamed"},
      {"padded rows, a scale for each column",
       of_dimensions({{100, 4160, 0, 0, 4096}, {4096, 1, 1, 1, 1}}), "strided: rows in place",
       "strided: rows in place, streamed"},
      {"the same of 2-bit codes",
       of_dimensions({{100, 4160, 0, 0, 4096}, {4096, 1, 1, 1, 1}}, int2, bfloat16),
       {"strided: rows in place, shared", "strided: rows in place"},
       {"strided: rows in place, shared, streamed", "strided: rows in place, streamed"}},
      {"padded rows of 64", of_dimensions({{4096, 96, 0, 0, 64}, {64, 1, 0, 0, 1}}),
       "strided: tiles", "strided: tiles, streamed"},
      {"rows of 256, padded in y too", of_dimensions({{4096, 288, 0, 0, 288}, {256, 1, 0, 0, 1}}),
       "strided: rows in place", "strided: rows in place, streamed"},
      {"NHWC to NCHW",
       of_dimensions({{4, 262144, 0, 0, 262144}, {64, 1, 1, 1, 4096}, {4096, 64, 0, 0, 1}}),
       "strided: transpose", "strided: transpose, streamed"},
      {"a transpose with a rest", of_dimensions({{600, 1, 0, 0, 520}, {520, 600, 0, 0, 1}}),
       "strided: transpose, tiles", "strided: transpose, tiles, streamed"},
      {"a small transpose", of_dimensions({{8, 1, 0, 0, 8}, {8, 8, 0, 0, 1}}), "strided: tiles",
       "strided: tiles, streamed"},
      {"every second code", of_dimensions({{100000, 2, 0, 0, 1}}), "strided: tiles",
       "strided: tiles, streamed"},
      {"words down columns", matrix(CodeOrder::stream, true), "row tiles, unpacked",
       "row tiles, unpacked, streamed"},
      {"rows that are columns of y", matrix(CodeOrder::interleaved, false), "row tiles, unpacked",
       "row tiles, unpacked, streamed"},
      {"a group index of columns", indexed(), "index tiles", "index tiles, streamed"},
      {"rows of 4-bit floats that are columns of y",
       of_dimensions({{512, 1, 0, 0, 1024}, {1024, 512, 1, 0, 1}}, float4e2m1), "column tiles",
       "column tiles, streamed"},
      {"codes of two rows in a byte",
       of_dimensions({{512, 2048, 2, 0, 2048}, {2, 1, 1, 0, 1024}, {1024, 2, 0, 0, 1}}, float4e2m1),
       "pair tiles", "pair tiles, streamed"},
      {"a stream of bits in blocks",
       with({.x_packing = {.order = CodeOrder::stream, .bits = 3, .row = 4096}},
            packed(blocked, 1000, 4096, 1, 128)),
       "groups, unpacked", "groups, unpacked, streamed"},
      {"a stream of bits with one scale",
       with({.x_packing = {.order = CodeOrder::stream, .bits = 3, .row = kMi}},
            packed(per_tensor, 1, 1, kMi)),
       "groups, unpacked", "groups, unpacked, streamed"},
      {"results rounded twice",
       with({.result_rounding = bfloat16}, packed(blocked, 1000, 4096, 1, 128)),
       "groups, in stages", "groups, in stages, streamed"},
      {"results rounded to the output",
       with({.result_rounding = bfloat16}, packed(per_axis, 100, 4096, 1, 1, uint8, bfloat16)),
       {{"rows, shared", "rows", "rows", "rows", "rows"}},
       {{"rows, shared, streamed", "rows, streamed", "rows, streamed", "rows, streamed",
         "rows, streamed"}}},
      {"a second factor", with({.result_factor = 2}, packed(per_tensor, 1, 1, kMi)),
       "one scale, in stages", "one scale, in stages, streamed"},
  };
}

Way way_on(const Table& table, const Plan& plan, Stores stores, uint64_t y_address = 0) {
  const int64_t y_bytes = extents(plan).y * (bits(plan.output) / 8);
  return way_of(plan, table, {{0, element_count(plan)}, y_bytes, stores, y_address});
}

TEST(Way, IsNamedForEveryKindOfPlanAndTarget) {
  for (const Case& c : cases()) {
    for (size_t t = 0; t < kTargets.size(); ++t) {
      const Table table = table_like(kTargets[t]);
      EXPECT_EQ(way_on(table, c.plan, cached).name(), c.cached.of[t])
          << c.what << " on " << kTargets[t].name;
      EXPECT_EQ(way_on(table, c.plan, streaming).name(), c.streamed.of[t])
          << c.what << " on " << kTargets[t].name;
    }
  }
}

TEST(Way, OfEveryKindIsTakenBySomePlan) {
  std::set<Loop> taken;
  for (const Case& c : cases()) {
    taken.insert(way_on(table_like(kTargets[0]), c.plan, cached).loop);
  }
  EXPECT_EQ(taken.size(), static_cast<size_t>(Loop::blocks));
}

TEST(Way, SharesRowsToBfloat16OnlyWhereATargetHasKernelsForThat) {
  const Plan plan = packed(per_axis, 100, 4096, 1, 1, uint8, bfloat16);
  EXPECT_EQ(way_on(table_like(kTargets[0]), plan, cached).name(), "rows, shared");
  EXPECT_EQ(way_on(table_like(kTargets[1]), plan, cached).name(), "rows");
}

// What the tables above take for the targets is what they are.
TEST(Way, SeesTheTargetsOfThisMachineAsTheTableDoes) {
  for (const std::string_view name : targets()) {
    const Table& table = *table_of(name);
    const bool more = name == "avx512_fp16";
    const std::string_view known = more ? "avx512_bf16" : name == "neon" ? "sse4" : name;
    const auto like = std::find_if(kTargets.begin(), kTargets.end(),
                                   [&](const Target& t) { return t.name == known; });
    ASSERT_NE(like, kTargets.end()) << name;
    EXPECT_EQ(table.lanes, like->lanes) << name;
    for (const Element x : elements()) {
      if (!is_input(x)) continue;
      for (const Element y : kOutputElements) {
        const bool shares = table.shared_at(x, y) != nullptr;
        if (more && y == float16) continue;
        EXPECT_EQ(shares, like->shares(x, y))
            << name << ": " << dequant::name(x) << " to " << dequant::name(y);
      }
    }
  }
}

TEST(Way, CutsOutputsInChunksOf256KiBAndStreamedOnesFrom64MiBOnInChunksOfOneMiB) {
  const Table table = table_like(kTargets[0]);
  const auto chunks = [&](int64_t elements, Element y, Stores stores) {
    return way_on(table, packed(per_tensor, 1, 1, elements, 1, uint8, y), stores).chunks;
  };
  EXPECT_EQ(chunks(0, float32, cached), 0);
  EXPECT_EQ(chunks(1 << 16, float32, cached), 1);
  EXPECT_EQ(chunks((1 << 16) + 1, float32, cached), 2);
  EXPECT_EQ(chunks(1 << 18, bfloat16, streaming), 2);
  EXPECT_EQ(chunks((1 << 24) - 1, float32, streaming), 256);
  EXPECT_EQ(chunks(1 << 24, float32, streaming), 64);
  EXPECT_EQ(chunks(1 << 24, float32, cached), 256);
}

TEST(Way, StreamsWhatOutgrowsTheCaches) {
  const Table table = table_like(kTargets[0]);
  EXPECT_FALSE(way_on(table, packed(per_tensor, 1, 1, 1000), automatic).stream);
  EXPECT_TRUE(way_on(table, packed(per_tensor, 1, 1, int64_t{5} << 20), automatic).stream);
}

TEST(Way, SharesStreamedRowsOnlyWhereTheyStartWithACacheLine) {
  const Table table = table_like(kTargets[0]);
  const Plan plan = packed(per_axis, 100, 4096, 1, 1, int2, float16);
  EXPECT_TRUE(way_on(table, plan, streaming, 128).shares_rows);
  EXPECT_FALSE(way_on(table, plan, streaming, 130).shares_rows);
  EXPECT_TRUE(way_on(table, plan, cached, 130).shares_rows);
  // Of a range y holds the elements from its start on.
  const Call range{{4096 + 8, 40960}, (40960 - 4104) * 2, streaming, 128 + 16};
  EXPECT_TRUE(way_of(plan, table, range).shares_rows);
}

TEST(Explain, NamesTheWayTheChunksAndTheTarget) {
  const ForcedTarget forced("reference");
  const RunOptions options{.executor = {}, .stores = streaming};
  EXPECT_EQ(explain(packed(blocked, 1000, 4096, 1, 32), options).value(),
            "groups, streamed, 63 chunks on reference");
  EXPECT_EQ(explain(packed(per_tensor, 1, 1, 16)).value(), "one scale, 1 chunk on reference");
}

// A division by the number of regions, which is 0, ended the process.
TEST(Explain, OfAStridedPlanWithAnEmptyDimensionHasNoChunks) {
  const ForcedTarget forced("reference");
  for (const std::array<int64_t, 3>& size :
       {std::array<int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}}) {
    const Plan plan = of_dimensions({{size[0], size[1] * size[2], 4, 4, size[1] * size[2], 2},
                                     {size[1], size[2], 2, 2, size[2], 2},
                                     {size[2], 1, 1, 1, 1, 2}});
    const auto text = explain(plan);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(*text, "strided, 0 chunks on reference");
  }
}

TEST(Explain, RefusesAPlanThatIsNotSound) {
  Plan plan = packed(per_tensor, 1, 1, 16);
  plan.block = 0;
  EXPECT_EQ(explain(plan).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dequant::way_test

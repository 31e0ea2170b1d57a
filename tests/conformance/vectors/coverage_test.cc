// What the vectors of dialects with few versions must cover, and those of all.
#include <gmock/gmock.h>

#include "coverage.h"

namespace dequant::conformance::vectors {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::IsSupersetOf;
using testing::made;

TEST(VectorsOfMicrosoft, CoverEveryTypeGranularityAndOutputAndBreakEveryRule) {
  const auto vectors = made({"microsoft", "1", 1, 0});
  EXPECT_EQ(combinations(vectors),
            product({"uint8", "int8", "uint16", "int16", "int32", "uint4", "int4"},
                    {"per_tensor", "per_axis"}, {"float32", "float16"}));
  EXPECT_THAT(keys(rules(vectors)), ElementsAreArray({"axis", "no_such_attribute", "scale_shape",
                                                      "scale_type", "unknown_attribute", "x_type",
                                                      "zero_point_shape", "zero_point_type"}));
}

TEST(VectorsOfWebnn, CoverEveryTypeGranularityAndOutputAndBreakEveryRule) {
  const auto vectors = made({"webnn", "1", 1, 0});
  EXPECT_EQ(combinations(vectors),
            product({"uint8", "int8", "uint32", "int32", "uint4", "int4"},
                    {"per_tensor", "per_axis", "blocked", "per_element"}, {"float32", "float16"}));
  EXPECT_THAT(
      keys(rules(vectors)),
      ElementsAreArray({"input_shape", "input_type", "scale_rank", "scale_shape", "scale_type",
                        "unknown_attribute", "zero_point_shape", "zero_point_type"}));
}

TEST(VectorsOfTensorflow, CoverEveryTypeModeDtypeAndSemantics) {
  const Names types{"quint8", "qint8", "quint16", "qint16", "qint32"};
  for (const std::string version : {"1.4", "2"}) {
    std::set<std::string> found;
    for (const Vector& v : made({"tensorflow", version, 1, 0})) {
      if (!v.c.rule.empty()) continue;
      const auto& a = v.c.attributes;
      found.insert(v.type + " " + std::get<std::string>(a.at("mode")) +
                   (a.contains("semantics")      ? " documented"
                    : a.contains("narrow_range") ? " narrow"
                                                 : " plain") +
                   " " + v.granularity + " " + v.output);
    }
    const auto expect = [&](const Names& modes, const Names& variants, const std::string& rest) {
      for (const std::string& name : product(types, modes, variants)) {
        EXPECT_THAT(found, Contains(name + " " + rest)) << version;
      }
    };
    const Names modes{"MIN_COMBINED", "MIN_FIRST", "SCALED"};
    expect(modes, {"plain", version == "2" ? "narrow" : "documented"}, "per_tensor float32");
    if (version == "1.4") continue;
    expect({"MIN_COMBINED", "SCALED"}, {"plain", "narrow"}, "per_axis float32");
    expect({"MIN_COMBINED"}, {"plain"}, "per_tensor bfloat16");
    expect({"MIN_COMBINED"}, {"plain"}, "per_axis bfloat16");
  }
}

TEST(VectorsOfTensorflow, BreakEveryRuleOfEachVersion) {
  EXPECT_THAT(keys(rules(made({"tensorflow", "1.4", 1, 0}))),
              ElementsAreArray({"input_type", "no_such_attribute", "range_size", "range_type",
                                "unknown_attribute"}));
  EXPECT_THAT(
      keys(rules(made({"tensorflow", "2", 1, 0}))),
      ElementsAreArray({"axis", "bfloat16_mode", "documented_after_1_4", "dtype", "input_type",
                        "min_first_of_slices", "range_size", "range_type", "unknown_attribute"}));
}

TEST(VectorsOfEveryDialect, HoldOddCountsScalarsAndWhereAllowedNoElements) {
  for (const auto& [dialect, version] : testing::all_versions()) {
    if (codes_name(dialect) != "x") continue;  // the shapes of schemes are those of their words
    std::set<size_t> counts, ranks;
    for (const Vector& v : made({dialect, version, 1, 0})) {
      if (!v.c.rule.empty()) continue;
      counts.insert(v.c.expect->bits.size());
      ranks.insert(v.c.inputs.at("x").shape.size());
    }
    const bool has_scalars = dialect != "directml";
    EXPECT_EQ(ranks.contains(0), has_scalars) << dialect;
    EXPECT_EQ(counts.contains(0), has_scalars && dialect != "webnn") << dialect;
    if (!has_scalars) continue;
    EXPECT_THAT(ranks, IsSupersetOf({1u, 2u, 5u})) << dialect;
    EXPECT_THAT(counts, Contains(15u)) << dialect << " " << version;
  }
}

}  // namespace
}  // namespace dequant::conformance::vectors

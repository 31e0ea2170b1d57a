// What the vectors of the schemes of checkpoints must cover, in the words of the list of schemes.
#include <gmock/gmock.h>

#include <algorithm>

#include "coverage.h"
#include "dequant/scheme.h"

namespace dequant::conformance::vectors {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using testing::made;

class EveryScheme : public ::testing::TestWithParam<Scheme> {
 protected:
  const std::vector<Vector>& vectors() const { return vectors_; }

 private:
  const std::vector<Vector> vectors_ = made({std::string(GetParam().name), {}, 1, 0});
};

INSTANTIATE_TEST_SUITE_P(Vectors, EveryScheme,
                         ::testing::ValuesIn(schemes().begin(), schemes().end()),
                         [](const auto& scheme) { return std::string(scheme.param.name); });

TEST_P(EveryScheme, EveryTensorIsGivenAndLeftOutWhereItMayBe) {
  for (const SchemeInput& input : GetParam().inputs) {
    std::set<bool> given;
    for (const Vector& v : vectors()) {
      if (v.c.rule.empty()) given.insert(v.c.inputs.contains(std::string(input.name)));
    }
    EXPECT_EQ(given, input.required ? std::set<bool>{true} : (std::set<bool>{false, true}))
        << input.name;
  }
}

TEST_P(EveryScheme, EverySettingIsGiven) {
  for (const SchemeSetting& setting : GetParam().settings) {
    EXPECT_TRUE(std::ranges::any_of(vectors(), [&](const Vector& v) {
      return v.c.rule.empty() && v.c.attributes.contains(std::string(setting.name));
    })) << setting.name;
  }
}

TEST_P(EveryScheme, EveryTensorSettingAndOutputIsBroken) {
  const auto counts = rules(vectors());
  EXPECT_GE(counts.at("tensor_type"), 6);
  EXPECT_GE(counts.at("tensor_shape"), 2);
  EXPECT_EQ(counts.at("output_type"), 3);
  EXPECT_EQ(counts.at("unknown_attribute"), 1);
  const auto settings = counts.find("setting_value");
  EXPECT_EQ(settings == counts.end() ? 0 : settings->second,
            static_cast<int>(GetParam().settings.size()));
}

TEST_P(EveryScheme, EveryOutputAndTheCodesOfAllBytesAreThere) {
  std::set<std::string> outputs;
  std::set<uint64_t> bytes;
  for (const Vector& v : vectors()) {
    if (!v.c.rule.empty()) continue;
    outputs.insert(v.output);
    for (uint64_t code : v.c.inputs.at(std::string(GetParam().inputs.front().name)).bits) {
      for (int i = 0; i < 4; ++i, code >>= 8) bytes.insert(code & 255);
    }
  }
  EXPECT_EQ(outputs, (std::set<std::string>{"float32", "float16", "bfloat16"}));
  EXPECT_EQ(bytes.size(), 256U);
}

/// The granularities of a scheme's vectors.
std::set<std::string> granularities(const char* scheme) {
  std::set<std::string> found;
  for (const Vector& v : made({scheme, {}, 1, 0})) found.insert(v.granularity);
  return found;
}

TEST(VectorsOfSchemes, HoldShortLastBlocksActOrderAndTransposes) {
  const Names groups{"groups", "short_group", "act_order"};
  EXPECT_THAT(granularities("gptq"), IsSupersetOf(groups));
  EXPECT_THAT(granularities("compressed_tensors"), IsSupersetOf(groups + Names{"block"}));
  for (const char* scheme : {"awq", "quark"}) {
    EXPECT_THAT(granularities(scheme), Contains("short_group")) << scheme;
  }
  for (const char* scheme : {"fp8", "torchao"}) {
    EXPECT_THAT(granularities(scheme), Contains("short_blocks")) << scheme;
  }
  for (const char* scheme : {"mx", "bitsandbytes", "bitsandbytes_absmax"}) {
    EXPECT_THAT(granularities(scheme), Contains("short_block")) << scheme;
  }
}

TEST(VectorsOfSchemes, RefuseGroupsThatTheScalesDoNotHave) {
  for (const char* scheme : {"gptq", "compressed_tensors"}) {
    EXPECT_EQ(rules(made({scheme, {}, 1, 0})).at("group_index"), 3) << scheme;
  }
}

}  // namespace
}  // namespace dequant::conformance::vectors

// What holds for the vectors of every dialect: they pass, they are reproducible, they can be read.
#include "conformance/vectors/vectors.h"

#include <gmock/gmock.h>

#include "conformance/cases/run_case.h"
#include "dequant/scheme.h"
#include "made.h"
#include "support/forced_target.h"

namespace dequant::conformance::vectors {
namespace {

using testing::is_invalid;
using testing::made;
using testing::succeeds;
using testing::Versioned;

class EveryVersion : public ::testing::TestWithParam<Versioned> {
 protected:
  Request request(int64_t random, uint64_t seed = 3) const {
    return {GetParam().dialect, GetParam().version, seed, random};
  }
};

INSTANTIATE_TEST_SUITE_P(Vectors, EveryVersion, ::testing::ValuesIn(testing::all_versions()),
                         testing::test_name);

TEST_P(EveryVersion, PassesOnEveryTarget) {
  std::vector<Vector> vectors;
  {
    const testing::ForcedTarget reference("reference");
    vectors = made(request(200));
  }
  ASSERT_FALSE(vectors.empty());
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (const Vector& v : vectors) {
      const auto outcome = run_case(v.c);
      ASSERT_TRUE(succeeds(outcome)) << v.c.name;
      EXPECT_EQ(outcome->verdict, Verdict::passed)
          << target << ": " << v.c.name << ": " << outcome->reason;
    }
  }
}

TEST_P(EveryVersion, GivesTheSameTextForTheSameRequest) {
  EXPECT_EQ(to_json(request(20), made(request(20))), to_json(request(20), made(request(20))));
}

TEST_P(EveryVersion, GivesOtherDataForAnotherSeedToTheSameCases) {
  const auto one = made(request(20, 1));
  const auto two = made(request(20, 2));
  size_t different = 0;
  for (size_t i = 0; i < std::min(one.size(), two.size()); ++i) {
    const std::string x(codes_name(GetParam().dialect));
    if (one[i].c.inputs.at(x).bits != two[i].c.inputs.at(x).bits) ++different;
    if (one[i].c.name.starts_with("random/")) continue;
    EXPECT_EQ(one[i].c.name, two[i].c.name);
  }
  EXPECT_GT(different, 20u);
}

TEST_P(EveryVersion, GivesEachCaseTheSameDataHoweverManyFollow) {
  const auto some = made(request(5));
  const auto more = made(request(30));
  ASSERT_EQ(some.size() + 25, more.size());
  EXPECT_EQ(to_json(request(5), some),
            to_json(request(5), std::vector(more.begin(), more.end() - 25)));
}

TEST_P(EveryVersion, CanBeReadBack) {
  const auto vectors = made(request(20));
  const auto file = parse_cases(to_json(request(20), vectors));
  ASSERT_TRUE(succeeds(file));
  EXPECT_THAT(file->about, ::testing::HasSubstr("vectors " + GetParam().dialect));
  ASSERT_EQ(file->cases.size(), vectors.size());
  for (size_t i = 0; i < vectors.size(); ++i) {
    const Case& read = file->cases[i];
    const Case& c = vectors[i].c;
    EXPECT_EQ(read.name, c.name);
    EXPECT_EQ(read.dialect, GetParam().dialect);
    EXPECT_EQ(read.version, GetParam().version);
    EXPECT_EQ(read.operator_name, c.operator_name);
    EXPECT_EQ(read.attributes, c.attributes) << c.name;
    ASSERT_EQ(read.inputs.size(), c.inputs.size());
    for (const auto& [name, tensor] : c.inputs) {
      EXPECT_EQ(read.inputs.at(name).type, tensor.type);
      EXPECT_EQ(read.inputs.at(name).shape, tensor.shape);
      EXPECT_EQ(read.inputs.at(name).bits, tensor.bits);
      EXPECT_EQ(read.inputs.at(name).strides, tensor.strides);
    }
    EXPECT_EQ(read.rule, c.rule);
    EXPECT_EQ(read.rule.empty(), read.expect.has_value()) << c.name;
    ASSERT_EQ(read.expect.has_value(), c.expect.has_value());
    if (!c.expect) continue;
    EXPECT_EQ(read.expect->type, c.expect->type);
    EXPECT_EQ(read.expect->bits, c.expect->bits);
  }
}

TEST(Vectors, TakeTheNewestVersionUnlessToldOtherwise) {
  for (const std::string& dialect : dialects()) {
    const auto vectors = made({dialect, {}, 1, 0});
    ASSERT_FALSE(vectors.empty());
    EXPECT_EQ(vectors[0].c.version, versions(dialect).back());
  }
}

TEST(Vectors, TakeVersionsBetweenThoseThatDiffer) {
  EXPECT_EQ(made({"onnx", "20", 1, 0}).size(), made({"onnx", "19", 1, 0}).size());
  EXPECT_EQ(made({"directml", "5_1", 1, 0}).size(), made({"directml", "3_0", 1, 0}).size());
}

TEST(Vectors, RefuseWhatIsNoDialectVersionOrNumber) {
  EXPECT_TRUE(is_invalid(make({"caffe", {}, 1, 0}), "dialect: caffe is not one of onnx"));
  for (const char* version : {"9", "29", "13.0", "013", "-1", "x"}) {
    EXPECT_TRUE(is_invalid(make({"onnx", version, 1, 0}), "version: ")) << version;
  }
  EXPECT_TRUE(is_invalid(make({"microsoft", "2", 1, 0}), "version: 2"));
  EXPECT_TRUE(is_invalid(make({"tensorflow", "1.5", 1, 0}), "has 1.4, 2"));
  EXPECT_TRUE(is_invalid(make({"directml", "6_5", 1, 0}), "version: 6_5"));
  EXPECT_TRUE(is_invalid(make({"onnx", {}, 1, -1}), "outside [0, 10000]"));
  EXPECT_TRUE(is_invalid(make({"onnx", {}, 1, 10001}), "outside [0, 10000]"));
}

/// FNV-1a.
uint64_t digest(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

// Machines and compilers must agree on these. Where a change to the cases changes them, files made
// before can no longer be made again.
TEST(Vectors, AreTheSameBytesOnEveryMachine) {
  const testing::ForcedTarget reference("reference");
  const auto text_of = [](std::string_view dialect) {
    const Request request{std::string(dialect), newest_version(dialect), 1, 50};
    return to_json(request, made(request));
  };
  const auto digest_of = [&](std::string_view dialect) { return digest(text_of(dialect)); };
  EXPECT_EQ(digest_of("onnx"), 0x0A11EB560A65772Au);
  EXPECT_EQ(digest_of("microsoft"), 0xB28AC31126E16F16u);
  EXPECT_EQ(digest_of("tensorflow"), 0x591D71F1A325B3E4u);
  EXPECT_EQ(digest_of("directml"), 0x297C9CF7C5B3F124u);
  EXPECT_EQ(digest_of("webnn"), 0x0F27B2B4E772736Du);
  std::string all;
  for (const Scheme& scheme : schemes()) all += text_of(scheme.name);
  EXPECT_EQ(digest(all), 0x201AFD8210C0A371u);
}

}  // namespace
}  // namespace dequant::conformance::vectors

// A collector tries every case, and what does not behave as it must ends the whole.
#include "conformance/vectors/collect.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace dequant::conformance::vectors {
namespace {

using testing::fails;
using testing::succeeds;

/// int8 [-1, 0, 2] times 0.5.
Case half(const Collector& out, std::string name = "half") {
  Case c = out.begin(std::move(name));
  c.inputs["x"] = {"int8", {3}, {255, 0, 2}, {}};
  c.inputs["scale"] = {"float32", {}, {0x3F000000}, {}};
  return c;
}

TEST(Collector, AddsTheOutputToACase) {
  Collector out("onnx", "13", 1);
  out.accept(half(out), "per_tensor");
  const auto vectors = std::move(out).finish();
  ASSERT_TRUE(succeeds(vectors));
  ASSERT_EQ(vectors->size(), 1u);
  const Vector& v = vectors->front();
  EXPECT_EQ(v.type, "int8");
  EXPECT_EQ(v.output, "float32");
  EXPECT_EQ(v.granularity, "per_tensor");
  EXPECT_EQ(v.c.version, "13");
  EXPECT_EQ(v.c.expect->shape, std::vector<int64_t>{3});
  EXPECT_EQ(v.c.expect->bits, (std::vector<uint64_t>{0xBF000000, 0, 0x3F800000}));
}

TEST(Collector, NamesARefusalByItsRule) {
  Collector out("onnx", "10", 1);
  Case c = half(out);
  c.attributes["axis"] = int64_t{0};
  out.refuse(c, "no_such_attribute", "axis");
  c.inputs["scale"].type = "float16";
  out.refuse(c, "scale_type");
  const auto vectors = std::move(out).finish();
  ASSERT_TRUE(succeeds(vectors));
  EXPECT_EQ(vectors->front().c.name, "reject/no_such_attribute/axis");
  EXPECT_EQ(vectors->front().c.rule, "no_such_attribute");
  EXPECT_FALSE(vectors->front().c.expect.has_value());
  EXPECT_EQ(vectors->back().c.name, "reject/scale_type");
}

TEST(Collector, FailsOnACaseThatIsRefused) {
  Collector out("onnx", "13", 1);
  Case c = half(out);
  c.attributes["block_size"] = int64_t{2};
  out.accept(c, "blocked");
  EXPECT_TRUE(fails(std::move(out).finish(), ErrorCode::unsupported,
                    "case \"half\" must be accepted, but is not: block_size"));
}

TEST(Collector, FailsOnARefusalThatIsAccepted) {
  Collector out("onnx", "13", 1);
  out.refuse(half(out), "nothing", "wrong");
  EXPECT_TRUE(fails(std::move(out).finish(), ErrorCode::unsupported,
                    "case \"reject/nothing/wrong\" must be refused, but is not"));
}

TEST(Collector, FailsOnARefusalThatIsNoCase) {
  Collector out("onnx", "13", 1);
  Case c = half(out);
  c.inputs["x"].bits.pop_back();
  out.refuse(c, "codes");
  EXPECT_TRUE(fails(std::move(out).finish(), ErrorCode::unsupported,
                    "must be refused by its dialect, but is not: x: 2 codes"));
}

TEST(Collector, FailsOnTwoCasesOfOneNameAndKeepsTheFirstFailure) {
  Collector out("onnx", "13", 1);
  out.accept(half(out), "per_tensor");
  out.accept(half(out), "per_tensor");
  out.refuse(half(out), "nothing");
  EXPECT_TRUE(fails(std::move(out).finish(), ErrorCode::unsupported,
                    "case \"half\" must have a name of its own"));
}

TEST(Collector, GivesEachNameNumbersOfItsOwn) {
  const Collector out("onnx", "13", 1);
  EXPECT_EQ(out.random("a").bits(), out.random("a").bits());
  EXPECT_NE(out.random("a").bits(), out.random("b").bits());
  EXPECT_NE(out.random("a").bits(), Collector("onnx", "13", 2).random("a").bits());
  EXPECT_NE(out.random("a").bits(), Collector("onnx", "19", 1).random("a").bits());
}

}  // namespace
}  // namespace dequant::conformance::vectors

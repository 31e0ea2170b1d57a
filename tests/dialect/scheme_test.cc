// Schemes by name: tensors and options in text give the plan of the scheme's own function, and
// names that a scheme does not have are refused.
#include "dequant/scheme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "dequant/fp8.h"
#include "support/expect_error.h"

namespace dequant::scheme_test {
namespace {

using namespace testing;
using enum Element;

constexpr std::array<int64_t, 2> kShape{576, 136};
constexpr std::array<int64_t, 2> kGrid{5, 2};
constexpr std::array kTensors{SchemeTensor{"weight_scale", {float32, kGrid}},
                              SchemeTensor{"weight", {float8e4m3fn, kShape}}};
constexpr std::array kOptions{SchemeOption{"block", "128,128"}};

void rejects(const char* clause, const SchemeNode& node, std::string_view word) {
  SCOPED_TRACE(clause);
  EXPECT_TRUE(is_invalid(plan_scheme(node), word));
}

TEST(Schemes, GiveThePlanOfTheirOwnFunction) {
  const auto dense = plan_scheme({"fp8", kTensors, kOptions, bfloat16});
  ASSERT_TRUE(succeeds(dense));
  constexpr std::array<int64_t, 2> kBlock{128, 128};
  EXPECT_EQ(dense->plan, fp8::dequantize({kTensors[1].type, kTensors[0].type, kBlock}).value());
  EXPECT_EQ(dense->shape, std::vector<int64_t>(kShape.begin(), kShape.end()));
  EXPECT_EQ(dense->x, 1U);
  EXPECT_EQ(dense->scale, 0U);
  EXPECT_FALSE(dense->zero_point);
}

TEST(Schemes, AreListedInTheOrderOfTheirNames) {
  const auto all = schemes();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const Scheme& a, const Scheme& b) { return a.name < b.name; }));
  for (const Scheme& scheme : all) {
    EXPECT_FALSE(scheme.producers.empty()) << scheme.name;
    EXPECT_FALSE(scheme.inputs.empty()) << scheme.name;
    for (const SchemeInput& input : scheme.inputs) EXPECT_FALSE(input.what.empty()) << input.name;
    for (const SchemeSetting& s : scheme.settings) EXPECT_FALSE(s.what.empty()) << s.name;
  }
}

TEST(Schemes, RefuseNamesThatTheyDoNotHave) {
  rejects("a scheme", {"fp9", kTensors}, "\"fp9\" is no scheme");
  const std::array other{kTensors[0], kTensors[1], SchemeTensor{"zero", {float32, kGrid}}};
  rejects("a tensor", {"fp8", other}, "fp8 has no tensor \"zero\"");
  const std::array twice{kTensors[0], kTensors[1], kTensors[0]};
  rejects("a tensor twice", {"fp8", twice}, "weight_scale is given twice");
  rejects("no weight", {"fp8", std::span(kTensors).first(1)}, "fp8 needs a tensor weight");
  constexpr std::array kUnknown{SchemeOption{"bits", "8"}};
  rejects("an option", {"fp8", kTensors, kUnknown}, "fp8 has no option \"bits\"");
  rejects("an output", {"fp8", kTensors, kOptions, int8}, "output: element type int8");
}

TEST(Schemes, RefuseOptionsThatAreNoIntegers) {
  for (const char* text : {"", "128,", ",128", "128 ,128", "1e2", "0x80", "99999999999999999999"}) {
    const std::array options{SchemeOption{"block", text}};
    rejects(text, {"fp8", kTensors, options}, "is not a list of integers");
  }
}

}  // namespace
}  // namespace dequant::scheme_test

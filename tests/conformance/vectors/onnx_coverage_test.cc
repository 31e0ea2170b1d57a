// What the vectors of each opset must cover.
#include <gmock/gmock.h>

#include "coverage.h"

namespace dequant::conformance::vectors {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsSupersetOf;
using testing::made;

struct OnnxVersion {
  std::string version;
  Names x;
  Names scales;
  Names granularities;
  Names outputs;
  Names rules;  ///< in alphabetical order
};

std::vector<OnnxVersion> onnx_versions() {
  const Names x10{"uint8", "int8", "int32"};
  const Names x19 = x10 + Names{"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"};
  const Names x21 = x19 + Names{"uint16", "int16", "uint4", "int4"};
  const Names x23 = x21 + Names{"float4e2m1"};
  const Names x25 = x23 + Names{"uint2", "int2"};
  const Names x28 = x25 + Names{"float6e2m3", "float6e3m2"};
  const Names floats{"float32", "float16", "bfloat16"};
  const Names f32{"float32"};
  const Names whole{"per_tensor"};
  const Names slices{"per_tensor", "per_axis"};
  const Names blocks{"per_tensor", "per_axis", "blocked"};
  const Names r13{
      "axis",   "no_such_attribute", "scale_shape",    "scale_type", "unknown_attribute",
      "x_type", "zero_point_shape",  "zero_point_type"};
  const Names r19{
      "axis",   "no_such_attribute", "scale_shape",     "scale_type",      "unknown_attribute",
      "x_type", "zero_point_shape",  "zero_point_type", "zero_point_value"};
  const Names r21{"axis",
                  "block_size",
                  "no_such_attribute",
                  "scale_shape",
                  "scale_type",
                  "unknown_attribute",
                  "x_type",
                  "zero_point_shape",
                  "zero_point_type",
                  "zero_point_value"};
  const Names r23{"axis",
                  "block_size",
                  "output_dtype",
                  "scale_shape",
                  "scale_type",
                  "unknown_attribute",
                  "x_type",
                  "zero_point_shape",
                  "zero_point_type",
                  "zero_point_value"};
  const Names r24{"axis",
                  "block_size",
                  "output_dtype",
                  "output_dtype_missing",
                  "scale_shape",
                  "scale_type",
                  "unknown_attribute",
                  "x_type",
                  "zero_point_shape",
                  "zero_point_type",
                  "zero_point_value"};
  return {
      {"10",
       x10,
       f32,
       whole,
       f32,
       {"no_such_attribute", "scale_of_rank_1", "scale_type", "unknown_attribute", "x_type",
        "zero_point_type"}},
      {"13", x10, f32, slices, f32, r13},
      {"19", x19, floats, slices, floats, r19},
      {"21", x21, floats, blocks, floats, r21},
      {"23", x23, floats, blocks, floats, r23},
      {"24", x23, floats + Names{"float8e8m0"}, blocks, floats, r24},
      {"25", x25, floats + Names{"float8e8m0"}, blocks, floats, r24},
      {"28", x28, floats + Names{"float8e8m0"}, blocks, floats, r24},
  };
}

TEST(VectorsOfOnnx, CoverEveryTypeGranularityAndOutputOfEachVersion) {
  for (const OnnxVersion& v : onnx_versions()) {
    EXPECT_EQ(combinations(made({"onnx", v.version, 1, 0})),
              product(v.x, v.granularities, v.outputs))
        << v.version;
  }
}

TEST(VectorsOfOnnx, CoverEveryScaleWithEveryTypeAndOutput) {
  for (const OnnxVersion& v : onnx_versions()) {
    std::set<std::string> found;
    for (const Vector& vector : made({"onnx", v.version, 1, 0})) {
      if (!vector.c.rule.empty()) continue;
      found.insert(vector.type + " " + vector.c.inputs.at("scale").type + " " + vector.output);
    }
    // Before output_dtype the scale's type is that of the output.
    const auto free = product(v.x, v.scales, v.outputs);
    const size_t bound = v.x.size() * v.scales.size();
    const bool is_free = v.version >= "23";
    EXPECT_EQ(found.size(), is_free ? free.size() : bound) << v.version;
    EXPECT_THAT(free, IsSupersetOf(found)) << v.version;
  }
}

TEST(VectorsOfOnnx, BreakEveryRuleOfEachVersion) {
  for (const OnnxVersion& v : onnx_versions()) {
    const auto counts = rules(made({"onnx", v.version, 1, 0}));
    EXPECT_THAT(keys(counts), ElementsAreArray(v.rules)) << v.version;
    EXPECT_EQ(counts.at("x_type"), static_cast<int>(elements().size() - v.x.size())) << v.version;
    EXPECT_EQ(counts.at("scale_type"), static_cast<int>(elements().size() - v.scales.size()));
  }
}

}  // namespace
}  // namespace dequant::conformance::vectors

// Names that ONNX Runtime's quantizers give.
#include "format/onnx/original_name.h"

#include <gtest/gtest.h>

namespace dequant::format::onnx {
namespace {

TEST(OriginalName, IsWhatQuantizersHaveAppendedTo) {
  EXPECT_EQ(original_name("conv1.weight_quantized"), "conv1.weight");
  EXPECT_EQ(original_name("conv1.weight_DequantizeLinear_Output"), "conv1.weight");
  EXPECT_EQ(original_name("fc1.weight_DQ_Q4"), "fc1.weight");
  EXPECT_EQ(original_name("fc1.weight_DQ_Q8_output"), "fc1.weight");
  EXPECT_EQ(original_name("fc1.weight_Q4"), "fc1.weight");
}

TEST(OriginalName, IsUnknownOfOtherNames) {
  for (const char* name : {"", "w", "_quantized", "_DQ_Q4", "w_output", "quantized", "w_DQ_Q3"})
    EXPECT_EQ(original_name(name), "") << name;
}

}  // namespace
}  // namespace dequant::format::onnx

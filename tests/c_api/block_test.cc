// Block types of GGUF through the C API: their names, numbers and sizes, and a tensor of blocks.
#include <array>
#include <climits>
#include <set>
#include <string>

#include "c_api/any_number.h"
#include "c_api/call.h"

namespace dequant::testing::c::block_test {
namespace {

struct Known {
  int number;
  const char* name;
  int elements;
  int bytes;
};

// Numbers by ggml's enum ggml_type; bytes by the fields of its structs.
constexpr Known kGguf[] = {
    {2, "Q4_0", 32, 2 + 16},
    {3, "Q4_1", 32, 2 + 2 + 16},
    {6, "Q5_0", 32, 2 + 4 + 16},
    {7, "Q5_1", 32, 2 + 2 + 4 + 16},
    {8, "Q8_0", 32, 2 + 32},
    {9, "Q8_1", 32, 2 + 2 + 32},
    {10, "Q2_K", 256, 16 + 64 + 2 + 2},
    {11, "Q3_K", 256, 32 + 64 + 12 + 2},
    {12, "Q4_K", 256, 2 + 2 + 12 + 128},
    {13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128},
    {14, "Q6_K", 256, 128 + 64 + 16 + 2},
    {15, "Q8_K", 256, 4 + 256 + 32},
    {16, "IQ2_XXS", 256, 2 + 64},
    {17, "IQ2_XS", 256, 2 + 64 + 8},
    {18, "IQ3_XXS", 256, 2 + 96},
    {19, "IQ1_S", 256, 2 + 32 + 16},
    {20, "IQ4_NL", 32, 2 + 16},
    {21, "IQ3_S", 256, 2 + 64 + 8 + 32 + 4},
    {22, "IQ2_S", 256, 2 + 64 + 8 + 8},
    {23, "IQ4_XS", 256, 2 + 2 + 4 + 128},
    {29, "IQ1_M", 256, 32 + 16 + 8},
    {34, "TQ1_0", 256, 48 + 4 + 2},
    {35, "TQ2_0", 256, 64 + 2},
    {39, "MXFP4", 32, 1 + 16},
    {40, "NVFP4", 64, 4 + 32},
    {41, "Q1_0", 128, 2 + 16},
    {42, "Q2_0", 64, 2 + 16},
};

TEST(CBlock, NumbersAndSizesAreThoseOfGguf) {
  for (const Known& known : kGguf) {
    EXPECT_STREQ(block_name_of_number(known.number), known.name);
    EXPECT_EQ(block_elements_of_number(known.number), known.elements) << known.name;
    EXPECT_EQ(block_bytes_of_number(known.number), known.bytes) << known.name;
    EXPECT_EQ(static_cast<int>(dequant_block_type_from_name(known.name)), known.number);
  }
}

TEST(CBlock, OtherNumbersAndNamesAreNone) {
  std::set<int> numbers{INT_MIN, INT_MAX, 65536 + 2};
  for (int n = -300; n < 300; ++n) numbers.insert(n);
  for (const Known& known : kGguf) numbers.erase(known.number);
  for (const int n : numbers) {
    EXPECT_EQ(block_name_of_number(n), nullptr) << n;
    EXPECT_EQ(block_elements_of_number(n), 0) << n;
    EXPECT_EQ(block_bytes_of_number(n), 0) << n;
  }
  for (const char* name : {"", "q4_0", "Q4_0 ", "F32", "Q4_2", "unknown"}) {
    EXPECT_EQ(dequant_block_type_from_name(name), DEQUANT_NO_BLOCK_TYPE) << name;
  }
  EXPECT_EQ(dequant_block_type_from_name(nullptr), DEQUANT_NO_BLOCK_TYPE);
}

/// Q8_0 [2, 32] with d of 0.5 and 2, the codes 1, 2, 3, ... and a scale of 3.
struct Q8 {
  Q8() {
    for (size_t i = 0; i < 64; ++i) {
      const size_t block = i / 32;
      bytes[block * 34 + 1] = block == 0 ? 0x38 : 0x40;
      bytes[block * 34 + 2 + i % 32] = static_cast<uint8_t>(i + 1);
    }
  }
  Q8(const Q8&) = delete;
  Q8& operator=(const Q8&) = delete;

  dequant_code plan() {
    error.struct_size = sizeof error;
    return dequant_plan_scheme(&node, &planned, &error);
  }
  ~Q8() { dequant_plan_free(planned); }

  std::array<uint8_t, 68> bytes{};
  float scale = 3;
  std::array<int64_t, 2> stored{2, 34};
  std::array<dequant_scheme_tensor, 2> tensors{
      {{"data", {DEQUANT_UINT8, 2, stored.data()}}, {"scale", {DEQUANT_FLOAT32, 0, nullptr}}}};
  std::array<dequant_scheme_option, 2> options{{{"type", "Q8_0"}, {"shape", "2,32"}}};
  dequant_scheme node{sizeof(dequant_scheme), "gguf", tensors.data(), 2,
                      options.data(),         2,      DEQUANT_FLOAT32};
  dequant_plan* planned = nullptr;
  dequant_error error{};
};

TEST(CBlock, ATensorOfBlocksIsAScheme) {
  Q8 q8;
  ASSERT_EQ(q8.plan(), DEQUANT_OK) << q8.error.message;
  EXPECT_STREQ(dequant_plan_text(q8.planned),
               "Q8_0[1, 64, 1] in blocks of 32, times tensor scale -> float32");
  dequant_sizes sizes{};
  sizes.struct_size = sizeof sizes;
  ASSERT_EQ(dequant_plan_sizes(q8.planned, &sizes, nullptr), DEQUANT_OK);
  EXPECT_EQ(sizes.elements, 64);
  EXPECT_EQ(sizes.x_bytes, 68U);
  EXPECT_EQ(sizes.scale_bytes, 0U);
  EXPECT_EQ(sizes.y_bytes, 256U);
  const std::array<const void*, 2> data{q8.bytes.data(), &q8.scale};
  const std::array<uint64_t, 2> lengths{sizeof q8.bytes, sizeof q8.scale};
  std::array<float, 64> y{};
  const dequant_scheme_buffers buffers{sizeof buffers, data.data(), lengths.data(), 2,
                                       y.data(),       sizeof y};
  ASSERT_EQ(dequant_run_scheme(q8.planned, &buffers, nullptr, &q8.error), DEQUANT_OK)
      << q8.error.message;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], static_cast<float>(i + 1) * (i < 32 ? 1.5F : 6)) << i;
  }
}

TEST(CBlock, TheNumberOfGgufAndTheShapeOfTheBytesWillDo) {
  Q8 q8;
  q8.options[0].value = "8";
  q8.node.option_count = 1;
  q8.node.tensor_count = 1;
  ASSERT_EQ(q8.plan(), DEQUANT_OK) << q8.error.message;
  EXPECT_STREQ(dequant_plan_text(q8.planned), "Q8_0[2, 32, 1] in blocks of 32 -> float32");
}

TEST(CBlock, WhatIsNoTensorOfBlocksIsRefused) {
  const auto rejects = [](dequant_code code, const char* words, void (*change)(Q8&)) {
    Q8 q8;
    change(q8);
    EXPECT_EQ(q8.plan(), code);
    EXPECT_NE(std::string(q8.error.message).find(words), std::string::npos) << q8.error.message;
  };
  rejects(DEQUANT_UNSUPPORTED, "Q4_2, number 4, was removed from GGUF",
          [](Q8& q) { q.options[0].value = "4"; });
  rejects(DEQUANT_UNSUPPORTED, "\"Q9_0\" is no type of GGUF",
          [](Q8& q) { q.options[0].value = "Q9_0"; });
  rejects(DEQUANT_INVALID_ARGUMENT, "data: 68 bytes where Q8_0 of shape [2, 64] has 136",
          [](Q8& q) { q.options[1].value = "2,64"; });
  rejects(DEQUANT_INVALID_ARGUMENT, "scale: element type uint8 is not float32",
          [](Q8& q) { q.tensors[1].type.element = DEQUANT_UINT8; });
}

}  // namespace
}  // namespace dequant::testing::c::block_test

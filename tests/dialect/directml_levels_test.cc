// Every feature level with every type and rank, against the table of DirectML's documents.
#include <algorithm>

#include "directml_desc.h"

namespace dequant::directml_levels_test {
namespace {

using namespace testing;

constexpr DML_FEATURE_LEVEL kLevels[] = {
    DML_FEATURE_LEVEL_1_0, DML_FEATURE_LEVEL_2_0, DML_FEATURE_LEVEL_2_1, DML_FEATURE_LEVEL_3_0,
    DML_FEATURE_LEVEL_3_1, DML_FEATURE_LEVEL_4_0, DML_FEATURE_LEVEL_4_1, DML_FEATURE_LEVEL_5_0,
    DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2, DML_FEATURE_LEVEL_6_0, DML_FEATURE_LEVEL_6_1,
    DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4};

constexpr int kTypes = 14;  // UNKNOWN to INT4

DML_TENSOR_DATA_TYPE type_of(int number) { return static_cast<DML_TENSOR_DATA_TYPE>(number); }

bool is_one_of(DML_TENSOR_DATA_TYPE type, std::initializer_list<DML_TENSOR_DATA_TYPE> list) {
  return std::find(list.begin(), list.end(), type) != list.end();
}

/// The page of DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, clause by clause.
bool element_wise_allows(DML_FEATURE_LEVEL level, DML_TENSOR_DATA_TYPE input,
                         DML_TENSOR_DATA_TYPE scale, size_t rank, bool zero_point) {
  bool input_good = input == DML_TENSOR_DATA_TYPE_UINT8;
  if (level >= DML_FEATURE_LEVEL_2_1) {
    input_good = is_one_of(input, {DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_INT16,
                                   DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT32,
                                   DML_TENSOR_DATA_TYPE_UINT16, DML_TENSOR_DATA_TYPE_UINT8});
  }
  const bool scale_good = scale == DML_TENSOR_DATA_TYPE_FLOAT32 ||
                          (level >= DML_FEATURE_LEVEL_6_0 && scale == DML_TENSOR_DATA_TYPE_FLOAT16);
  const bool rank_good = level >= DML_FEATURE_LEVEL_3_0 ? rank >= 1 && rank <= 8 : rank == 4;
  return input_good && scale_good && rank_good && (zero_point || level >= DML_FEATURE_LEVEL_6_2);
}

bool dequantize_allows(DML_FEATURE_LEVEL level, DML_TENSOR_DATA_TYPE input,
                       DML_TENSOR_DATA_TYPE scale, size_t rank) {
  return level >= DML_FEATURE_LEVEL_6_3 && rank >= 1 && rank <= 8 &&
         is_one_of(input, {DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT4,
                           DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_UINT4}) &&
         is_one_of(scale, {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16});
}

/// Calls visit(node, level) for every level, type of input and scale, rank, with and without zero
/// point.
template <class Visit>
void for_each_node(DML_OPERATOR_TYPE type, const Visit& visit) {
  for (const DML_FEATURE_LEVEL level : kLevels) {
    for (int input = 0; input < kTypes; ++input) {
      for (int scale = 0; scale < kTypes; ++scale) {
        for (size_t rank = 0; rank <= 9; ++rank) {
          for (const bool zero_point : {false, true}) {
            DmlNode node = element_wise(Uints(rank, 1), type_of(input), type_of(scale));
            node.type = type;
            if (!zero_point) node.zero_point.reset();
            visit(node, level);
          }
        }
      }
    }
  }
}

TEST(DirectMLLevels, ElementWiseTakesWhatTheDocumentsListAndNothingElse) {
  for_each_node(DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, [](const DmlNode& node,
                                                                DML_FEATURE_LEVEL level) {
    const bool allowed = element_wise_allows(level, node.input.type, node.scale.type,
                                             node.input.sizes.size(), node.zero_point.has_value());
    const auto op = compile(node, level);
    ASSERT_EQ(static_cast<bool>(op), allowed)
        << "level " << level << ", input " << node.input.type << ", scale " << node.scale.type
        << ", rank " << node.input.sizes.size() << ", zero point " << node.zero_point.has_value();
  });
}

TEST(DirectMLLevels, DequantizeTakesWhatTheDocumentsListAndNothingElse) {
  for_each_node(DML_OPERATOR_DEQUANTIZE, [](const DmlNode& node, DML_FEATURE_LEVEL level) {
    const bool allowed =
        dequantize_allows(level, node.input.type, node.scale.type, node.input.sizes.size());
    const auto op = compile(node, level);
    ASSERT_EQ(static_cast<bool>(op), allowed)
        << "level " << level << ", input " << node.input.type << ", scale " << node.scale.type
        << ", rank " << node.input.sizes.size() << ", zero point " << node.zero_point.has_value();
  });
}

TEST(DirectMLLevels, WhatALaterLevelBringsIsUnsupportedAndTheErrorNamesThatLevel) {
  const auto unsupported = [](const DmlNode& node, DML_FEATURE_LEVEL level, std::string_view word) {
    EXPECT_TRUE(fails(compile(node, level), ErrorCode::unsupported, word));
  };
  const Uints four{1, 1, 2, 3};
  unsupported(element_wise(four, DML_TENSOR_DATA_TYPE_INT8), DML_FEATURE_LEVEL_2_0,
              "InputTensor: DataType INT8 comes to ELEMENT_WISE_DEQUANTIZE_LINEAR with feature "
              "level 2_1; at 2_0 it must be one of UINT8");
  unsupported(element_wise({2, 3}), DML_FEATURE_LEVEL_2_1, "level 3_0");
  unsupported(element_wise(four, DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_FLOAT16),
              DML_FEATURE_LEVEL_5_2, "ScaleTensor: DataType FLOAT16");
  DmlNode bare = element_wise(four);
  bare.zero_point.reset();
  unsupported(bare, DML_FEATURE_LEVEL_6_1, "ZeroPointTensor: null");
  unsupported(bare, DML_FEATURE_LEVEL_6_1, "6_2");
  unsupported(dequantize(four, four), DML_FEATURE_LEVEL_6_2, "DEQUANTIZE comes with feature level");
}

TEST(DirectMLLevels, WhatNoLevelBringsIsInvalidAndTheErrorListsWhatIsTaken) {
  rejects_dml("4 bits", element_wise({1, 1, 2, 3}, DML_TENSOR_DATA_TYPE_UINT4),
              {"InputTensor: DataType UINT4 is not what ELEMENT_WISE_DEQUANTIZE_LINEAR takes",
               "UINT32, UINT16, UINT8, INT32, INT16, INT8"});
  rejects_dml("32 bits", dequantize({2, 4}, {2, 2}, DML_TENSOR_DATA_TYPE_INT32),
              {"InputTensor: DataType INT32", "UINT8, INT8, UINT4, INT4"});
  rejects_dml("double",
              element_wise({1, 1, 2, 3}, DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_FLOAT64),
              {"ScaleTensor: DataType FLOAT64"});
}

TEST(DirectMLLevels, AnUnknownLevelIsInvalid) {
  for (const int level : {0, 0x0FFF, 0x1001, 0x6500, 0x7FFF}) {
    EXPECT_TRUE(is_invalid(compile(DmlNode{}, static_cast<DML_FEATURE_LEVEL>(level)),
                           "no known DML_FEATURE_LEVEL"));
  }
}

TEST(DirectMLLevels, OtherOperatorsAreUnsupported) {
  for (const UINT type : {0U, 33U, 35U, 148U, 173U, 175U}) {
    const DML_OPERATOR_DESC desc{static_cast<DML_OPERATOR_TYPE>(type), nullptr};
    EXPECT_TRUE(fails(directml::compile(desc, DML_FEATURE_LEVEL_6_4), ErrorCode::unsupported,
                      "Type: operator " + std::to_string(type)));
  }
}

}  // namespace
}  // namespace dequant::directml_levels_test

// The list of block types, and the grids.
#include "dequant/block.h"

#include <gtest/gtest.h>

#include <set>

#include "block/grids.h"
#include "block/traits.h"

namespace dequant::block_test {
namespace {

TEST(BlockTypes, HaveNamesAndNumbersOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<int> ids;
  for (const BlockType type : block_types()) {
    EXPECT_TRUE(names.insert(name(type)).second) << name(type);
    EXPECT_TRUE(ids.insert(gguf_id(type)).second) << name(type);
    EXPECT_EQ(block_type_from_name(name(type)), type);
    EXPECT_EQ(block_type_from_gguf(gguf_id(type)), type);
  }
  EXPECT_EQ(names.size(), 27U);
}

TEST(BlockTypes, AreFoundByNothingElse) {
  for (const auto* text : {"", "q4_k", "Q4_K ", "Q4", "F32", "unknown"}) {
    EXPECT_EQ(block_type_from_name(text), std::nullopt) << text;
  }
  for (const int64_t id :
       {int64_t{-1}, int64_t{0}, int64_t{4}, int64_t{31}, int64_t{43}, (int64_t{1} << 32) + 2}) {
    EXPECT_EQ(block_type_from_gguf(id), std::nullopt) << id;
  }
  EXPECT_EQ(name(static_cast<BlockType>(200)), "unknown");
}

TEST(BlockTypes, HaveTheSizesOfGguf) {
  const auto expect = [](BlockType type, int id, int64_t elements, int64_t bytes) {
    EXPECT_EQ(gguf_id(type), id) << name(type);
    EXPECT_EQ(block_elements(type), elements) << name(type);
    EXPECT_EQ(block_bytes(type), bytes) << name(type);
  };
  using enum BlockType;
  expect(Q4_0, 2, 32, 2 + 16);
  expect(Q5_1, 7, 32, 2 + 2 + 4 + 16);
  expect(Q4_K, 12, 256, 2 + 2 + 12 + 128);
  expect(Q6_K, 14, 256, 128 + 64 + 16 + 2);
  expect(IQ1_M, 29, 256, 32 + 16 + 8);
  expect(TQ1_0, 34, 256, 48 + 4 + 2);
  expect(NVFP4, 40, 64, 4 + 32);
}

TEST(BlockTypes, FillTilesAndVectors) {
  for (const BlockTraits& t : kBlockTraits) {
    EXPECT_EQ(t.elements % 32, 0) << t.name;
    EXPECT_LE(t.elements, kMostBlockElements) << t.name;
    EXPECT_EQ(t.elements % t.group, 0) << t.name;
    EXPECT_GE(t.group, kLeastBlockGroup) << t.name;
    EXPECT_EQ(t.group & (t.group - 1), 0) << t.name;
  }
}

/// FNV-1a of the points, lowest byte first.
template <class Points>
uint64_t digest(const Points& points) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const auto point : points) {
    for (size_t i = 0; i < sizeof point; ++i) {
      hash = (hash ^ (point >> (8 * i) & 0xFF)) * 0x100000001B3;
    }
  }
  return hash;
}

// The digests are those of ggml's tables, computed from its source.
TEST(Grids, AreThoseOfGgml) {
  EXPECT_EQ(digest(block::kGridIQ2_XXS), 0xBB4EE025B5AC6E8E);
  EXPECT_EQ(digest(block::kGridIQ2_XS), 0xC9B1EE61E79909BD);
  EXPECT_EQ(digest(block::kGridIQ2_S), 0x123EDD38A3B62B90);
  EXPECT_EQ(digest(block::kGridIQ1), 0x99649F4B16B0D5DD);
  EXPECT_EQ(digest(block::kGridIQ3_XXS), 0xDFA5DC83D6A155D5);
  EXPECT_EQ(digest(block::kGridIQ3_S), 0xFA37020C25B44829);
}

}  // namespace
}  // namespace dequant::block_test

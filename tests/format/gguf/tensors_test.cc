// The shapes, types and data of tensors in GGUF files, and how they can be wrong.
#include "reading.h"

namespace dequant::format::gguf {
namespace {

constexpr uint64_t kTwoTo30 = uint64_t{1} << 30;

TEST_F(GgufTest, TensorsHaveUpToEightDimensions) {
  const auto scalar = read(b_.one({}, kGgufF32, "1234"));
  ASSERT_TRUE(succeeds(scalar));
  EXPECT_TRUE(scalar->tensors()[0].shape.empty());
  EXPECT_EQ(scalar->tensors()[0].bytes, 4);
  const std::vector<uint64_t> most(kMaxRank, 1);
  EXPECT_TRUE(succeeds(read(b_.one(most, kGgufF32, "1234"))));
  const std::vector<uint64_t> more(kMaxRank + 1, 1);
  EXPECT_TRUE(refuses(b_.one(more, kGgufF32, "1234"), "9 dimensions, more than 8"));
  EXPECT_TRUE(refuses(b_.head(1, 0) + b_.text("a") + b_.u32(0xFFFFFFFF) + std::string(99, 0),
                      "4294967295 dimensions"));
  EXPECT_TRUE(refuses(b_.one({}, kGgufQ4_0, std::string(18, 0)), "rows of 1 elements"));
}

TEST_F(GgufTest, ProductsOfDimensionsMustNotWrap) {
  const std::vector<std::vector<uint64_t>> shapes{
      {INT64_MAX, 2},
      {uint64_t{1} << 32, uint64_t{1} << 32},
      {uint64_t{1} << 40, kTwoTo30},
      {4, kTwoTo30 - 1, kTwoTo30 + 1, 1},  // 2^64 - 16 bytes of F32
      {0x7FFFFFFFFFFFFFC0},
      {0, INT64_MAX, 2},
      {4194305, 4194305, 211106198978564},
  };
  for (const auto& shape : shapes) {
    for (const uint32_t type : {kGgufF32, kGgufI8}) {
      EXPECT_TRUE(refuses(b_.one(shape, type, std::string(64, 'x')), "tensor \"a\""));
    }
  }
  EXPECT_TRUE(refuses(b_.one({uint64_t{1} << 63}, kGgufI8, "x"), "more than 2^63 - 1"));
}

TEST_F(GgufTest, TwoTensorsWhoseSizesWrapTogetherAreRefused) {
  constexpr uint64_t kSize = 0x7FFFFFFFFFFFFFC0;
  EXPECT_TRUE(refuses(GgufBytes::padded(b_.head(2, 0) + b_.tensor("a", {kSize}, kGgufI8, 0) +
                                        b_.tensor("b", {kSize}, kGgufI8, kSize)) +
                          std::string(1024, 'x'),
                      "tensor \"a\": its data are the bytes"));
}

TEST_F(GgufTest, AZeroAnywhereInTheShapeIsATensorWithoutElements) {
  for (const auto& shape : std::vector<std::vector<uint64_t>>{{0}, {0, 4}, {32, 0}, {32, 0, 2}}) {
    const auto header = read(b_.one(shape, kGgufQ4_0, ""));
    ASSERT_TRUE(succeeds(header));
    EXPECT_EQ(header->tensors()[0].bytes, 0);
  }
}

TEST_F(GgufTest, TypesThatAreNotReadAreNamed) {
  const auto of = [&](uint32_t type) { return b_.one({32}, type, std::string(128, 0)); };
  using enum ErrorCode;
  EXPECT_TRUE(refuses(of(4), "Q4_2, number 4, was removed", unsupported));
  EXPECT_TRUE(refuses(of(31), "Q4_0_4_4, number 31, was removed", unsupported));
  EXPECT_TRUE(refuses(of(38), "IQ4_NL_8_8, number 38, was removed", unsupported));
  EXPECT_TRUE(refuses(of(36), "files of bitnet.cpp have its own type I2_S", unsupported));
  EXPECT_TRUE(refuses(of(43), "43 is no type of GGUF", unsupported));
  EXPECT_TRUE(refuses(of(0x7FFFFFFF), "2147483647 is no type", unsupported));
  EXPECT_TRUE(refuses(of(0xFFFFFFFF), "4294967295 is no type", unsupported));
}

TEST_F(GgufTest, RowsAreWholeBlocks) {
  EXPECT_TRUE(refuses(b_.one({33}, kGgufQ4_0, std::string(64, 0)),
                      "rows of 33 elements are no multiple of the 32 of a Q4_0 block"));
  EXPECT_TRUE(refuses(b_.one({16, 2}, kGgufQ4_0, std::string(64, 0)), "rows of 16 elements"));
}

TEST_F(GgufTest, DataFollowOneAnotherWithPaddingOnly) {
  const auto second_at = [&](uint64_t offset, size_t bytes = 36) {
    return GgufBytes::padded(b_.head(2, 0) + b_.tensor("a", {1}, kGgufF32, 0) +
                             b_.tensor("b", {1}, kGgufF32, offset)) +
           std::string(bytes, 'x');
  };
  EXPECT_TRUE(succeeds(read(second_at(32))));
  for (const uint64_t offset : {0U, 3U, 4U, 31U, 33U, 64U})
    EXPECT_TRUE(refuses(second_at(offset, 200), "tensor \"b\": its data begin at offset"))
        << offset;
  EXPECT_TRUE(refuses(second_at(UINT64_MAX), "beyond the file"));
  EXPECT_TRUE(refuses(second_at(INT64_MAX), "tensor \"b\": its data begin at offset"));
  EXPECT_TRUE(refuses(b_.one({1}, kGgufF32, std::string(64, 'x'), 32), "not at 0"));
}

TEST_F(GgufTest, TheLastTensorIsWholeAndItsPaddingNeedNotBeThere) {
  EXPECT_TRUE(refuses(b_.one({5}, kGgufF32, std::string(19, 'x')), "of a file of"));
  EXPECT_EQ(read(b_.one({5}, kGgufF32, std::string(20, 'x'))).value().trailing_bytes(), 0);
  EXPECT_EQ(read(b_.one({5}, kGgufF32, std::string(32, 'x'))).value().trailing_bytes(), 0);
  EXPECT_EQ(read(b_.one({5}, kGgufF32, std::string(40, 'x'))).value().trailing_bytes(), 8);
}

TEST_F(GgufTest, DataMustNotBeginBehindTheFile) {
  std::string header = b_.head(1, 0) + b_.tensor("a", {0}, kGgufF32, 0);
  ASSERT_NE(header.size() % 32, 0U);
  EXPECT_TRUE(refuses(header, "tensor \"a\""));
  EXPECT_TRUE(succeeds(read(GgufBytes::padded(header))));
}

TEST_F(GgufTest, DataBeyondFourGiBAreWhereTheyAre) {
  constexpr uint64_t kBytes = (uint64_t{1} << 32) - 16;
  const std::string header =
      GgufBytes::padded(b_.head(2, 0) + b_.tensor("a", {kBytes}, kGgufI8, 0) +
                        b_.tensor("b", {8}, kGgufF32, uint64_t{1} << 32));
  const auto read = read_sparse(header, header.size() + (uint64_t{1} << 32) + 32);
  ASSERT_TRUE(succeeds(read));
  EXPECT_EQ(read->tensors()[1].offset, static_cast<int64_t>(header.size()) + (int64_t{1} << 32));
}

}  // namespace
}  // namespace dequant::format::gguf

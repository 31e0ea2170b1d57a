// What a GGUF file may hold, and the ways in which its structure can be wrong.
#include "format/gguf/header.h"

#include <chrono>

#include "reading.h"

namespace dequant::format::gguf {
namespace {

using namespace std::string_view_literals;

std::vector<int64_t> list(Shape shape) { return {shape.begin(), shape.end()}; }

/// Both orders of bytes and both versions.
struct Variant {
  bool big;
  uint32_t version;
};

class GgufVariantTest : public GgufTest, public ::testing::WithParamInterface<Variant> {};

TEST_P(GgufVariantTest, MetadataAndTensorsAreRead) {
  const GgufBytes b{GetParam().big};
  const std::string file =
      GgufBytes::padded(b.head(2, 3, GetParam().version) +
                            b.pair("general.alignment", 4, b.u32(64)) +
                            b.pair("n", kGgufI32Value, b.u32(0xFFFFFFFE)) +
                            b.pair("t", kGgufTextValue, b.text("abc")) +
                            b.tensor("w", {32, 3}, kGgufQ4_0, 0) + b.tensor("s", {2}, kGgufF32, 64),
                        64) +
      std::string(64 + 8, 'x');
  const auto header = read(file);
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(header->version(), GetParam().version);
  EXPECT_EQ(header->big_endian(), GetParam().big);
  EXPECT_EQ(header->alignment(), 64);
  EXPECT_EQ(header->trailing_bytes(), 0);
  const Pair* n = header->metadata().find("n");
  ASSERT_NE(n, nullptr);
  EXPECT_EQ((Number{n->type, n->number}.integer()), -2);
  EXPECT_EQ(file.substr(static_cast<size_t>(header->metadata().find("t")->data()), 3), "abc");
  ASSERT_EQ(header->tensors().size(), 2U);
  const Tensor& w = header->tensors()[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.type->block, BlockType::Q4_0);
  EXPECT_EQ(list(w.shape), (std::vector<int64_t>{3, 32}));
  EXPECT_EQ(w.bytes, 3 * 18);
  EXPECT_EQ(w.offset, static_cast<int64_t>(file.size()) - 72);
  const Tensor& s = header->tensors()[1];
  EXPECT_EQ(s.type->element, Element::float32);
  EXPECT_EQ(s.offset, w.offset + 64);
  EXPECT_EQ(s.bytes, 8);
}

INSTANTIATE_TEST_SUITE_P(All, GgufVariantTest,
                         ::testing::Values(Variant{false, 2}, Variant{false, 3}, Variant{true, 2},
                                           Variant{true, 3}));

TEST_F(GgufTest, EveryPrefixIsRefused) {
  const std::string file = b_.one({4}, kGgufF32, std::string(16, 'x'));
  ASSERT_TRUE(succeeds(read(file)));
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_TRUE(refuses(file.substr(0, size), "")) << size;
}

TEST_F(GgufTest, OtherMagicNumbersAreNamed) {
  const std::string rest = b_.head(0, 0).substr(4);
  EXPECT_TRUE(refuses("FUGG" + rest, "GGUF file with its bytes swapped"));
  EXPECT_TRUE(refuses("tjgg" + rest, "GGJT"));
  EXPECT_TRUE(refuses("lmgg" + rest, "GGML"));
  EXPECT_TRUE(refuses("ABCD" + rest, "begins with \"ABCD\""));
}

TEST_F(GgufTest, OtherVersionsAreRefused) {
  for (const uint32_t version : {0U, 1U, 4U, 0xFFFFFFFFU, 0x01000000U, 0x00030000U})
    EXPECT_TRUE(refuses(b_.head(0, 0, version), "version", ErrorCode::unsupported)) << version;
}

TEST_F(GgufTest, CountsAreHeldAgainstTheFileBeforeAnythingIsAllocated) {
  for (const uint64_t count : {uint64_t{1} << 63, UINT64_MAX, uint64_t{0x1D1D1D1D1D1D1D1D},
                               uint64_t{0x055555555555555a}, uint64_t{1} << 20}) {
    EXPECT_TRUE(refuses(b_.head(count, 0) + std::string(1000, 0), "tensors and 0 pairs")) << count;
    EXPECT_TRUE(refuses(b_.head(0, count) + std::string(1000, 0), "pairs of metadata")) << count;
  }
}

TEST_F(GgufTest, KeysHaveOneToSixtyFiveThousandBytesOfTheFile) {
  const auto with_length = [&](uint64_t length) {
    return b_.head(0, 1) + b_.u64(length) + std::string(100'000, 'k');
  };
  EXPECT_TRUE(refuses(b_.head(0, 1) + b_.pair("", kGgufU8Value, "x") + "xx", "an empty key"));
  for (const uint64_t length : {UINT64_MAX, uint64_t{1} << 63, uint64_t{100'001}})
    EXPECT_TRUE(refuses(with_length(length), "are left")) << length;
  EXPECT_TRUE(refuses(with_length(65'536), "more than 65535"));
}

TEST_F(GgufTest, EqualKeysAndNamesAreRefused) {
  const std::string key = b_.pair("k.k", kGgufU32Value, b_.u32(1));
  EXPECT_TRUE(refuses(b_.head(0, 2) + key + key, "key \"k.k\" occurs twice"));
  const std::string tensors = b_.tensor("w", {0}, kGgufF32, 0) + b_.tensor("w", {0}, kGgufF32, 0);
  EXPECT_TRUE(refuses(GgufBytes::padded(b_.head(2, 0) + tensors), "tensor \"w\" occurs twice"));
}

TEST_F(GgufTest, NamesAreUTF8WithoutZerosAndAnyCharacterBesides) {
  const auto named = [&](std::string_view name) {
    return GgufBytes::padded(b_.head(1, 0) + b_.tensor(name, {0}, kGgufF32, 0));
  };
  EXPECT_TRUE(refuses(named("a\0b"sv), "has a zero byte"));
  EXPECT_TRUE(refuses(named("a\xff"), "is not UTF-8"));
  EXPECT_TRUE(refuses(b_.head(0, 1) + b_.pair("k\xc0\x80", kGgufU8Value, "x"), "is not UTF-8"));
  for (const std::string_view name : {"../../x"sv, "a\nb\x1b[31m"sv, "\xc3\xa9"sv})
    EXPECT_EQ(read(named(name)).value().tensors()[0].name, name);
}

TEST_F(GgufTest, TypesOfValuesAreThoseOfTheSpecification) {
  for (const uint32_t type : {13U, 255U, 0xFFFFFFFFU}) {
    EXPECT_TRUE(
        refuses(b_.head(0, 1) + b_.pair("k", type, std::string(8, 0)), "no type of a value"));
    EXPECT_TRUE(refuses(b_.head(0, 1) + b_.pair("k", kGgufArrayValue, b_.array(type, 0, "")),
                        "no type of a value"));
  }
}

TEST_F(GgufTest, ArraysOfArraysAreRefusedAtAnyDepth) {
  std::string nested;
  for (int depth = 0; depth < 100'000; ++depth) nested += b_.array(kGgufArrayValue, 1, "");
  EXPECT_TRUE(refuses(b_.head(0, 1) + b_.pair("k", kGgufArrayValue, nested), "array of arrays"));
}

TEST_F(GgufTest, CountsOfArraysAreHeldAgainstTheFile) {
  const auto with = [&](uint32_t element, uint64_t count) {
    return b_.head(0, 1) + b_.pair("k", kGgufArrayValue, b_.array(element, count, "12345678"));
  };
  for (const uint64_t count : {uint64_t{1} << 61, UINT64_MAX, uint64_t{2}}) {
    EXPECT_TRUE(refuses(with(kGgufU64Value, count), "an array of")) << count;
    EXPECT_TRUE(refuses(with(kGgufTextValue, count), "an array of")) << count;
  }
  EXPECT_TRUE(succeeds(read(with(kGgufU64Value, 1))));
  EXPECT_TRUE(refuses(with(kGgufTextValue, 1), "are left"));  // "12345678" as a length
}

TEST_F(GgufTest, AVocabularyIsScannedAndNotStored) {
  std::string tokens;
  for (int i = 0; i < 262'144; ++i) tokens += b_.text("token");
  const std::string file = b_.head(0, 1) + b_.pair("tokenizer.ggml.tokens", kGgufArrayValue,
                                                   b_.array(kGgufTextValue, 262'144, tokens));
  const auto header = read(file);
  ASSERT_TRUE(succeeds(header));
  const Pair& pair = header->metadata().pairs()[0];
  EXPECT_EQ(pair.element, ValueType::text);
  EXPECT_EQ(pair.number, 262'144U);
  EXPECT_EQ(pair.end, static_cast<int64_t>(file.size()));
}

TEST_F(GgufTest, VeryManyKeysAndTensorsTakeNoQuadraticTime) {
  constexpr int kCount = 100'000;
  std::string file = b_.head(kCount, kCount);
  for (int i = 0; i < kCount; ++i) file += b_.pair("k" + std::to_string(i), kGgufU8Value, "x");
  for (int i = 0; i < kCount; ++i) {
    file += b_.tensor("t" + std::to_string(i), {1}, kGgufI8, 32 * static_cast<uint64_t>(i));
  }
  file = GgufBytes::padded(std::move(file)) + std::string(32 * kCount, 'x');
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(succeeds(read(file)));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

TEST_F(GgufTest, TheAlignmentIsAPowerOfTwoOfUint32) {
  const auto with = [&](uint32_t type, std::string_view value) {
    return GgufBytes::padded(b_.head(1, 1) + b_.pair("general.alignment", type, value) +
                             b_.tensor("a", {1}, kGgufF32, 0)) +
           "1234";
  };
  for (const uint64_t wrong : {0ULL, 3ULL, 13ULL, 0xFFFFFFFFULL})
    EXPECT_TRUE(refuses(with(kGgufU32Value, b_.u32(wrong)), "is no power of two")) << wrong;
  EXPECT_TRUE(refuses(with(kGgufI32Value, b_.u32(32)), "of type int32, not uint32"));
  EXPECT_TRUE(refuses(with(kGgufU64Value, b_.u64(32)), "of type uint64, not uint32"));
  EXPECT_TRUE(refuses(with(kGgufTextValue, b_.text("32")), "of type string, not uint32"));
  EXPECT_TRUE(refuses(with(kGgufU32Value, b_.u32(uint64_t{1} << 31)), "are the bytes"));
  EXPECT_TRUE(succeeds(read(with(kGgufU32Value, b_.u32(32)))));
}

}  // namespace
}  // namespace dequant::format::gguf

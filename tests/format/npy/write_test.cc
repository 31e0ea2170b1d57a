// Writing .npy files, and that they read back as what was written.
#include <gtest/gtest.h>

#include "format/npy/npy.h"
#include "npy_bytes.h"
#include "scratch.h"
#include "support/expect_error.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::format {
namespace {

using testing::fails;
using testing::Random;
using testing::Scratch;
using testing::succeeds;

TensorData random_tensor(Element element, std::vector<int64_t> shape, Random& random) {
  const int64_t count = element_count(shape).value();
  std::vector<uint32_t> codes;
  for (int64_t i = 0; i < count; ++i) {
    codes.push_back(static_cast<uint32_t>(random.bits() & ((uint64_t{1} << bits(element)) - 1)));
  }
  return {element, std::move(shape), testing::pack(element, codes)};
}

TEST(NpyHeaderText, IsWhatNumpyWrites) {
  const std::string prefix("\x93NUMPY\x01\0\x76\0", 10);
  EXPECT_EQ(npy_header(Element::float32, std::vector<int64_t>{2, 3}),
            prefix + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                std::string(58, ' ') + '\n');
  EXPECT_EQ(npy_header(Element::int8, {}),
            prefix + "{'descr': '|i1', 'fortran_order': False, 'shape': (), }" +
                std::string(62, ' ') + '\n');
  EXPECT_EQ(npy_header(Element::bfloat16, std::vector<int64_t>{3}),
            prefix + "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }" +
                std::string(60, ' ') + '\n');
}

TEST(NpyHeaderText, EndsOnAMultipleOf64WhateverItsLength) {
  std::vector<int64_t> shape;
  for (int rank = 0; rank < 200; ++rank) {
    const std::string header = npy_header(Element::uint8, shape);
    EXPECT_EQ(header.size() % 64, 0u) << rank;
    EXPECT_EQ(header.back(), '\n');
    shape.push_back(rank);
  }
}

TEST(NpyHeaderText, TurnsToVersion2BeyondTwoBytesOfLength) {
  const std::string header = npy_header(Element::uint8, std::vector<int64_t>(30'000, 1));
  EXPECT_EQ(header[6], 2);
  EXPECT_EQ(header.size() % 64, 0u);
}

TEST(NpyDescr, NamesCodesWhereNumpyHasNoType) {
  const std::pair<Element, const char*> rows[]{
      {Element::uint8, "|u1"},        {Element::int8, "|i1"},
      {Element::uint16, "<u2"},       {Element::int16, "<i2"},
      {Element::uint32, "<u4"},       {Element::int32, "<i4"},
      {Element::uint4, "|u1"},        {Element::int4, "|i1"},
      {Element::uint2, "|u1"},        {Element::int2, "|i1"},
      {Element::float8e4m3fn, "|u1"}, {Element::float8e5m2fnuz, "|u1"},
      {Element::float4e2m1, "|u1"},   {Element::float8e8m0, "|u1"},
      {Element::bfloat16, "<u2"},     {Element::float16, "<f2"},
      {Element::float32, "<f4"}};
  for (const auto& [element, descr] : rows) EXPECT_EQ(npy_descr(element), descr);
}

TEST(WriteNpy, EveryElementReadsBackAsItself) {
  const Scratch scratch;
  Random random(1);
  for (const Element element : elements()) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
             {}, {0}, {1}, {7}, {3, 5}, {2, 0, 4}, {2, 3, 4, 5}, std::vector<int64_t>(32, 1)}) {
      const TensorData tensor = random_tensor(element, shape, random);
      const std::string path = scratch.path("a.npy");
      ASSERT_TRUE(succeeds(write_npy(path, tensor, Overwrite::replace)));
      const auto back = read_npy(path, element);
      ASSERT_TRUE(succeeds(back)) << name(element);
      EXPECT_EQ(back->element, element);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->bytes, tensor.bytes) << name(element);
    }
  }
}

TEST(WriteNpy, LargePackedTensorsAreWrittenInChunks) {
  const Scratch scratch;
  Random random(2);
  const TensorData tensor = random_tensor(Element::int2, {(1 << 20) * 2 + 3}, random);
  ASSERT_TRUE(succeeds(write_npy(scratch.path("a.npy"), tensor, Overwrite::refuse)));
  EXPECT_EQ(read_npy(scratch.path("a.npy"), Element::int2).value().bytes, tensor.bytes);
}

TEST(WriteNpy, RefusesDataThatContradictTheirShape) {
  const Scratch scratch;
  const TensorData tensor{Element::int4, {3}, std::vector<std::byte>(3)};
  EXPECT_TRUE(fails(write_npy(scratch.path("a.npy"), tensor, Overwrite::refuse),
                    ErrorCode::invalid_argument, "3 bytes of data"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path("a.npy")));
}

TEST(WriteNpy, ReplacesAFileOnlyWhenAsked) {
  const Scratch scratch;
  const TensorData tensor{Element::uint8, {1}, std::vector<std::byte>(1)};
  scratch.write("a.npy", "mine");
  EXPECT_TRUE(
      fails(write_npy(scratch.path("a.npy"), tensor, Overwrite::refuse), ErrorCode::io, "exists"));
  EXPECT_EQ(scratch.read("a.npy"), "mine");
  EXPECT_TRUE(succeeds(write_npy(scratch.path("a.npy"), tensor, Overwrite::replace)));
  EXPECT_EQ(scratch.read("a.npy").size(), 129u);
}

}  // namespace
}  // namespace dequant::format

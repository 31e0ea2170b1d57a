// Headers that are written: the bytes of the reference writer, and what cannot be written.
#include "format/safetensors/writer.h"

#include "reading.h"

namespace dequant::format::safetensors {
namespace {

using namespace std::string_view_literals;

using testing::is_invalid;

class SafetensorsWriterTest : public SafetensorsTest {
 protected:
  static NewTensor tensor(std::string name, std::string_view dtype, std::vector<int64_t> shape) {
    return {std::move(name), find_dtype(dtype), std::move(shape)};
  }
};

/// The text of the specification's own example, and of the reference writer's tests.
TEST_F(SafetensorsWriterTest, TheBytesOfTheReferenceWriter) {
  const NewTensor aligned[]{tensor("attn.0", "F32", {1, 2, 3})};
  const auto header = NewHeader::make(aligned, {});
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(
      header->bytes(),
      length_bytes(64) + R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})");
  EXPECT_EQ(header->offset(0), 72);
  EXPECT_EQ(header->file_size(), 96);

  const NewTensor padded[]{tensor("attn0", "F32", {1, 1, 2, 3})};
  EXPECT_EQ(NewHeader::make(padded, {}).value().bytes(),
            length_bytes(72) +
                R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}})" + "       ");

  EXPECT_EQ(NewHeader::make({}, {}).value().bytes(), length_bytes(8) + "{}      ");
  EXPECT_EQ(NewHeader::make({}, {{"framework", "pt"}}).value().bytes(),
            length_bytes(40) + R"({"__metadata__":{"framework":"pt"}})" + "     ");
}

TEST_F(SafetensorsWriterTest, TensorsByTypeAndName) {
  const NewTensor tensors[]{tensor("b", "F4", {2}),  tensor("a", "BF16", {1}),
                            tensor("c", "F32", {1}), tensor("a2", "F32", {0}),
                            tensor("z", "I64", {}),  tensor("B", "F32", {1})};
  const auto header = NewHeader::make(tensors, {});
  ASSERT_TRUE(succeeds(header));
  const std::vector<size_t> order(header->order().begin(), header->order().end());
  EXPECT_EQ(order, (std::vector<size_t>{4, 5, 3, 2, 1, 0}));
  const auto begin = static_cast<int64_t>(header->bytes().size());
  EXPECT_EQ(begin % 8, 0);
  const int64_t offsets[]{18, 16, 12, 12, 0, 8};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(header->offset(i), begin + offsets[i]) << i;
  EXPECT_EQ(header->file_size(), begin + 19);
}

TEST_F(SafetensorsWriterTest, TheSameBytesWhateverTheOrder) {
  std::vector<NewTensor> tensors{tensor("b", "U8", {2}), tensor("a", "I8", {1}),
                                 tensor("c", "F32", {1}), tensor("a2", "U8", {3})};
  const std::string first = NewHeader::make(tensors, {}).value().bytes();
  std::reverse(tensors.begin(), tensors.end());
  EXPECT_EQ(NewHeader::make(tensors, {}).value().bytes(), first);
}

TEST_F(SafetensorsWriterTest, WhatIsWrittenIsRead) {
  std::vector<NewTensor> tensors;
  for (const DType& dtype : dtypes()) {
    tensors.push_back({"of " + std::string(dtype.name), &dtype, {4, 2, 0}});
    tensors.push_back({"\"" + std::string(dtype.name) + "\"\n", &dtype, {4, 2}});
  }
  tensors.push_back(tensor("", "F32", {}));
  tensors.push_back(tensor(std::string("\0\x1f\x7f\\/\xF0\x9F\x98\x80", 9), "F32", {1, 1}));
  const NewMetadata metadata{{"z", "1"}, {"a", "\b\f\n\r\t\x01"}, {"", "\xC3\xA9"}};
  const auto made = NewHeader::make(tensors, metadata);
  ASSERT_TRUE(succeeds(made));
  const auto data = static_cast<size_t>(made->file_size()) - made->bytes().size();
  const auto header = read(made->bytes() + std::string(data, 'x'));
  ASSERT_TRUE(succeeds(header));
  ASSERT_EQ(header->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor* found = header->find(tensors[i].name);
    ASSERT_NE(found, nullptr) << tensors[i].name;
    EXPECT_EQ(found->dtype, tensors[i].dtype);
    EXPECT_EQ(std::vector<int64_t>(found->shape.begin(), found->shape.end()), tensors[i].shape);
    EXPECT_EQ(found->offset, made->offset(i));
    EXPECT_EQ(found->offset * 8 % found->dtype->bits, 0) << found->name;
  }
  ASSERT_EQ(header->metadata().size(), metadata.size());
  for (size_t i = 0; i < metadata.size(); ++i) {
    EXPECT_EQ(header->metadata()[i].key(), metadata[i].first);
    EXPECT_EQ(header->metadata()[i].value(), metadata[i].second);
  }
}

TEST_F(SafetensorsWriterTest, EscapesAreTheShortestOnes) {
  const NewTensor one[]{tensor("\"\\/\b\f\n\r\t\x01\x1f\x7f\xE2\x80\xA8", "U8", {1})};
  const std::string bytes = NewHeader::make(one, {}).value().bytes();
  EXPECT_EQ(bytes.substr(8, bytes.find(":{") - 8),
            "{\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xE2\x80\xA8\"");
}

TEST_F(SafetensorsWriterTest, NamesThatCannotBeWritten) {
  const NewTensor twice[]{tensor("a", "U8", {1}), tensor("b", "U8", {1}), tensor("a", "I8", {2})};
  EXPECT_TRUE(is_invalid(NewHeader::make(twice, {}), "\"a\" occurs twice"));
  const NewTensor reserved[]{tensor("__metadata__", "U8", {1})};
  EXPECT_TRUE(is_invalid(NewHeader::make(reserved, {}), "tensor \"__metadata__\""));
  const NewTensor bytes[]{tensor("\xFF", "U8", {1})};
  EXPECT_TRUE(is_invalid(NewHeader::make(bytes, {}), "tensor \"\\xff\": \"\\xff\" is not UTF-8"));
  EXPECT_TRUE(is_invalid(NewHeader::make({}, {{"k", "\xC3"}}), "__metadata__: \"\\xc3\""));
  EXPECT_TRUE(is_invalid(NewHeader::make({}, {{"\xC3", ""}}), "__metadata__: \"\\xc3\""));
  EXPECT_TRUE(is_invalid(NewHeader::make({}, {{"k", "1"}, {"k", "1"}}), "\"k\" occurs twice"));
}

TEST_F(SafetensorsWriterTest, ShapesThatCannotBeWritten) {
  const auto make = [&](std::string_view dtype, std::vector<int64_t> shape) {
    const NewTensor one[]{tensor("a", dtype, std::move(shape))};
    return NewHeader::make(one, {});
  };
  EXPECT_TRUE(is_invalid(make("U8", {-1}), "tensor \"a\": "));
  EXPECT_TRUE(is_invalid(make("F4", {3}), "tensor \"a\": 3 values of 4 bits end within a byte"));
  EXPECT_TRUE(is_invalid(make("U8", {int64_t{1} << 62, 2}), "2^63 - 1 elements"));
  EXPECT_TRUE(is_invalid(make("F64", {int64_t{1} << 60}), "2^63 - 1 bytes"));
  EXPECT_TRUE(is_invalid(make("U8", {INT64_MAX}), "2^63 - 1 bytes"));
  EXPECT_TRUE(fails(make("U8", std::vector<int64_t>(65, 1)), ErrorCode::limit, "64 dimensions"));
  EXPECT_TRUE(succeeds(make("U8", std::vector<int64_t>(64, 1))));
  const NewTensor two[]{tensor("a", "U8", {INT64_MAX}), tensor("b", "U8", {1})};
  EXPECT_TRUE(is_invalid(NewHeader::make(two, {}), "behind byte 2^63 - 1"));
}

TEST_F(SafetensorsWriterTest, AHeaderBeyondTheGreatestLength) {
  const size_t least = R"({"__metadata__":{"k":""}})"sv.size();
  const std::string longest(100'000'000 - least, 'x');
  EXPECT_TRUE(succeeds(NewHeader::make({}, {{"k", longest}})));
  EXPECT_TRUE(fails(NewHeader::make({}, {{"k", longest + "x"}}), ErrorCode::limit, "100000000"));
}

}  // namespace
}  // namespace dequant::format::safetensors

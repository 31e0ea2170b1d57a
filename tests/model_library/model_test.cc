// Model files from C++: what dequant/model.h promises.
#include "dequant/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "files.h"
#include "support/expect_error.h"

namespace dequant {
namespace {

using namespace testing;  // of dequant
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelTest : public ::testing::Test {
 protected:
  std::string gguf(uint64_t rows = 3) { return scratch_.write("a.gguf", gguf_model(rows)); }
  std::string onnx(int64_t size = 6, int nodes = 1) {
    return scratch_.write("a.onnx", quantized_model(size, nodes));
  }
  std::string path(const std::string& name) const { return scratch_.path(name); }

  const Scratch scratch_;
};

template <class T>
std::vector<T> read_as(const Model& model, size_t tensor, const ReadModelOptions& options = {}) {
  const int64_t bytes = model.bytes(tensor, options.output).value();
  std::vector<T> out(static_cast<size_t>(bytes) / sizeof(T));
  model.read(tensor, std::as_writable_bytes(std::span(out)), options).value();
  return out;
}

TEST_F(ModelTest, ListsQuantizedTensorsThenFloats) {
  const Model model = Model::open(gguf()).value();
  EXPECT_EQ(model.format(), "gguf");
  ASSERT_EQ(model.tensors().size(), 2u);
  const ModelTensor& q = model.tensors()[0];
  EXPECT_EQ(q.name, "q");
  EXPECT_EQ(q.codes, "q");
  EXPECT_EQ(q.scheme, "Q8_0");
  EXPECT_EQ(q.stored, "Q8_0");
  EXPECT_EQ(q.element, Element::float32);
  EXPECT_THAT(q.shape, ElementsAre(3, 32));
  EXPECT_EQ(q.bytes, 3 * 32 * 4);
  EXPECT_EQ(q.stored_bytes, 3 * 34);
  EXPECT_TRUE(q.quantized);
  const ModelTensor& f = model.tensors()[1];
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.stored, "float32");
  EXPECT_EQ(f.codes, "");
  EXPECT_THAT(f.shape, ElementsAre(4));
  EXPECT_EQ(f.stored_bytes, 16);
  EXPECT_FALSE(f.quantized);
  EXPECT_TRUE(model.left().empty());
}

TEST_F(ModelTest, ReadsAQuantizedTensorAsEveryOutput) {
  const Model model = Model::open(gguf()).value();
  EXPECT_EQ(read_as<float>(model, 0), gguf_floats(3));
  const auto half = read_as<uint16_t>(model, 0, {.output = Element::float16});
  const auto brain = read_as<uint16_t>(model, 0, {.output = Element::bfloat16});
  ASSERT_EQ(half.size(), 96u);
  EXPECT_EQ(half[3], 0x3e00);   // 1.5
  EXPECT_EQ(brain[3], 0x3fc0);  // 1.5
}

TEST_F(ModelTest, StoredFloatsAreWidenedExactlyAndRoundedOnce) {
  const Model model = Model::open(gguf()).value();
  const auto floats = read_as<uint32_t>(model, 1);
  EXPECT_THAT(floats, ElementsAre(0x3f800000, 0xc0200000, 0x3f800800, 0x7f800000));
  EXPECT_THAT(read_as<uint16_t>(model, 1, {.output = Element::float16}),
              ElementsAre(0x3c00, 0xc100, 0x3c00, 0x7c00));  // the tie goes to even
  EXPECT_THAT(read_as<uint16_t>(model, 1, {.output = Element::bfloat16}),
              ElementsAre(0x3f80, 0xc020, 0x3f80, 0x7f80));
}

TEST_F(ModelTest, BandsAreTheWholeTensorFromFrontToBack) {
  constexpr uint64_t kRows = 200'000;  // 25 MB of floats, more than the least memory
  const Model model = Model::open(gguf(kRows)).value();
  std::vector<std::byte> all;
  size_t bands = 0;
  const ModelBand keep = [&](int64_t offset, std::span<const std::byte> bytes) -> Status {
    EXPECT_EQ(static_cast<size_t>(offset), all.size());
    EXPECT_EQ(bytes.size() % sizeof(float), 0u);
    all.insert(all.end(), bytes.begin(), bytes.end());
    ++bands;
    return {};
  };
  ASSERT_TRUE(model.read(0, keep, {.memory = 1}));
  EXPECT_GT(bands, 1u);
  const auto expected = gguf_floats(kRows);
  ASSERT_EQ(all.size(), expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(all.data(), expected.data(), all.size()), 0);
}

TEST_F(ModelTest, AnErrorOfABandEndsTheRead) {
  const Model model = Model::open(gguf()).value();
  for (const size_t tensor : {size_t{0}, size_t{1}}) {
    const Status status = model.read(tensor,
                                     [](int64_t, auto) -> Status {
                                       return Error{ErrorCode::limit, "enough"};
                                     },
                                     {.output = Element::float16});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::limit);
    EXPECT_EQ(status.error().message, "enough");
  }
}

TEST_F(ModelTest, SeveralThreadsReadAtOnce) {
  const Model model = Model::open(gguf(1000)).value();
  std::vector<std::vector<float>> results(4);
  {
    std::vector<std::thread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] { result = read_as<float>(model, model.find("q").value()); });
    }
    for (auto& thread : threads) thread.join();
  }
  for (const auto& result : results) EXPECT_EQ(result, gguf_floats(1000));
}

TEST_F(ModelTest, WrongArgumentsAreRefusedBeforeTheFirstWrite) {
  const Model model = Model::open(gguf()).value();
  std::vector<std::byte> y(96 * 4 - 1, std::byte{7});
  EXPECT_TRUE(fails(model.read(0, y), ErrorCode::invalid_argument, "383 bytes where q takes 384"));
  EXPECT_THAT(y, ::testing::Each(std::byte{7}));
  EXPECT_TRUE(fails(model.read(2, y), ErrorCode::invalid_argument, "2 where the model has 2"));
  EXPECT_TRUE(fails(model.bytes(0, Element::int8), ErrorCode::invalid_argument, "int8"));
}

TEST_F(ModelTest, FindsByNameByNodeAndByCodes) {
  const Model model = Model::open(onnx()).value();
  EXPECT_EQ(model.format(), "onnx");
  for (const char* name : {"y0", "dq0", "x"}) EXPECT_EQ(model.find(name).value(), 0u) << name;
  EXPECT_EQ(model.tensors()[0].node, "dq0");
  EXPECT_THAT(read_as<float>(model, 0), ElementsAre(0, 0.5F, 1, 1.5F, 2, 2.5F));
  EXPECT_TRUE(fails(model.find("none"), ErrorCode::invalid_argument, "none"));
  const Model gguf_model = Model::open(gguf()).value();
  EXPECT_EQ(gguf_model.find("f").value(), 1u);
  const Model two = Model::open(onnx(6, 2)).value();
  EXPECT_TRUE(fails(two.find("x"), ErrorCode::invalid_argument, "y0, y1"));
}

TEST_F(ModelTest, WhatStaysQuantizedIsListedWithTheReason) {
  const Model model = Model::open(scratch_.write("input.onnx", onnx_model_with_an_input())).value();
  ASSERT_EQ(model.left().size(), 1u);
  const LeftModelTensor& left = model.left()[0];
  EXPECT_EQ(left.node, "dq0");
  EXPECT_NE(left.reason, "");
  EXPECT_TRUE(fails(model.find("dq0"), ErrorCode::invalid_argument, left.reason));
}

TEST_F(ModelTest, OpenRefusesWhatCannotBeRead) {
  EXPECT_TRUE(fails(Model::open(path("none.gguf")), ErrorCode::io, "none.gguf"));
  const std::string short_file = scratch_.write("short.gguf", gguf_model(3).substr(0, 100));
  EXPECT_TRUE(fails(Model::open(short_file), ErrorCode::malformed, "short.gguf"));
  EXPECT_TRUE(fails(Model::open(gguf(), {.options = {{"strip-qdq"}}}), ErrorCode::invalid_argument,
                    "strip-qdq"));
  EXPECT_TRUE(fails(Model::open(gguf(), {.options = {{"names", "hf"}, {"names", "gguf"}}}),
                    ErrorCode::invalid_argument, "names"));
  EXPECT_TRUE(
      fails(Model::open(gguf(), {.structure_memory = -1}), ErrorCode::invalid_argument, "-1"));
}

TEST_F(ModelTest, ConvertsAndReports) {
  const std::string out = path("out.gguf");
  std::vector<int64_t> told;
  const auto done = convert_model(gguf(), out, {.progress = [&](int64_t bytes, int64_t) {
                                    return told.push_back(bytes), Status();
                                  }});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->converted, 1u);
  EXPECT_EQ(done->left, 0u);
  EXPECT_THAT(done->json, HasSubstr("\"converted\""));
  EXPECT_FALSE(told.empty());
  const Model model = Model::open(out).value();
  ASSERT_EQ(model.tensors().size(), 2u);
  EXPECT_FALSE(model.tensors()[0].quantized);
  EXPECT_EQ(read_as<float>(model, 0), gguf_floats(3));
}

TEST_F(ModelTest, ConvertObeysItsOptions) {
  const std::string in = gguf(), out = path("out.gguf");
  ASSERT_TRUE(convert_model(in, out, {.dry_run = true}));
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_TRUE(
      fails(convert_model(in, out, {.dtype = Element::int8}), ErrorCode::invalid_argument, "int8"));
  EXPECT_TRUE(fails(convert_model(in, out, {.exclude = {"q"}, .require_float = true}),
                    ErrorCode::unsupported, "q"));
  const auto stop = [](int64_t, int64_t) -> Status { return Error{ErrorCode::limit, "stop"}; };
  EXPECT_TRUE(fails(convert_model(in, out, {.progress = stop}), ErrorCode::limit, "stop"));
  EXPECT_FALSE(std::filesystem::exists(out));
  ASSERT_TRUE(convert_model(in, out, {.dtype = Element::float16}));
  EXPECT_TRUE(fails(convert_model(in, out), ErrorCode::io, "out.gguf"));
  ASSERT_TRUE(convert_model(in, out, {.overwrite = true}));
  EXPECT_EQ(Model::open(out).value().tensors()[0].stored, "float32");
}

}  // namespace
}  // namespace dequant

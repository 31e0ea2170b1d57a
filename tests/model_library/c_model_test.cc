// Model files from C: what dequant.h promises of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "c_api/call.h"
#include "files.h"
#include "format/safetensors/bytes.h"

namespace dequant::testing::c {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Close {
  void operator()(dequant_model* model) const { dequant_model_close(model); }
};
using OpenModel = std::unique_ptr<dequant_model, Close>;

class CModelTest : public ::testing::Test {
 protected:
  std::string gguf(uint64_t rows = 3) { return scratch_.write("a.gguf", gguf_model(rows)); }

  static OpenModel open(const std::string& path) {
    dequant_model* model = nullptr;
    EXPECT_TRUE(succeeds(call([&](dequant_error* error) {
      return dequant_model_open(path.c_str(), nullptr, &model, error);
    })));
    return OpenModel(model);
  }

  static Outcome read(const OpenModel& model, size_t i, std::vector<float>& y,
                      const dequant_model_read_options* options = nullptr) {
    return call([&](dequant_error* error) {
      return dequant_model_read(model.get(), i, y.data(), y.size() * sizeof(float), options, error);
    });
  }

  const Scratch scratch_;
};

TEST_F(CModelTest, ListsAndReads) {
  const OpenModel model = open(gguf());
  EXPECT_STREQ(dequant_model_format(model.get()), "gguf");
  ASSERT_EQ(dequant_model_tensor_count(model.get()), 2u);
  EXPECT_EQ(dequant_model_left_count(model.get()), 0u);
  auto t = sized<dequant_model_tensor>();
  ASSERT_EQ(dequant_model_tensor_at(model.get(), 0, &t, nullptr), DEQUANT_OK);
  EXPECT_EQ(t.struct_size, sizeof t);
  EXPECT_STREQ(t.name, "q");
  EXPECT_STREQ(t.codes, "q");
  EXPECT_STREQ(t.node, "");
  EXPECT_STREQ(t.scheme, "Q8_0");
  EXPECT_STREQ(t.stored, "Q8_0");
  EXPECT_STREQ(t.reason, "");
  EXPECT_EQ(t.element, DEQUANT_FLOAT32);
  ASSERT_EQ(t.rank, 2u);
  EXPECT_EQ(t.shape[0], 3);
  EXPECT_EQ(t.shape[1], 32);
  EXPECT_EQ(t.bytes, 384u);
  EXPECT_EQ(t.stored_bytes, 102u);
  EXPECT_EQ(t.quantized, 1);
  std::vector<float> y(96);
  EXPECT_TRUE(succeeds(read(model, 0, y)));
  EXPECT_EQ(y, gguf_floats(3));
}

// The headers call the key "safetensors".
TEST_F(CModelTest, TheFormatOfACheckpointIsSafetensors) {
  const std::string file = scratch_.write(
      "a.safetensors", safetensors_file(safetensors_text("F32", "[1]", "[0,4]"), "abcd"));
  EXPECT_STREQ(dequant_model_format(open(file).get()), "safetensors");
}

TEST_F(CModelTest, ReadsByOptions) {
  const OpenModel model = open(gguf());
  auto options = sized<dequant_model_read_options>();
  options.output = DEQUANT_BFLOAT16;
  options.threads = 1;
  options.memory = 1;
  std::vector<uint16_t> y(96);
  ASSERT_EQ(dequant_model_read(model.get(), 0, y.data(), 192, &options, nullptr), DEQUANT_OK);
  EXPECT_EQ(y[3], 0x3fc0);
}

TEST_F(CModelTest, ReadsBands) {
  const OpenModel model = open(gguf());
  std::vector<unsigned char> all;
  const auto keep = [](void* self, uint64_t offset, const void* bytes, uint64_t count) {
    auto& out = *static_cast<std::vector<unsigned char>*>(self);
    EXPECT_EQ(offset, out.size());
    const auto* begin = static_cast<const unsigned char*>(bytes);
    out.insert(out.end(), begin, begin + count);
    return 0;
  };
  EXPECT_TRUE(succeeds(call([&](dequant_error* error) {
    return dequant_model_read_bands(model.get(), 0, keep, &all, nullptr, error);
  })));
  EXPECT_EQ(numbers_of<float>(all), gguf_floats(3));
}

TEST_F(CModelTest, ABandThatFailsEndsTheRead) {
  const OpenModel model = open(gguf());
  const auto bands = [&](dequant_model_band band) {
    return call([&](dequant_error* error) {
      return dequant_model_read_bands(model.get(), 0, band, nullptr, nullptr, error);
    });
  };
  EXPECT_TRUE(is_invalid(bands([](void*, uint64_t, const void*, uint64_t) { return 5; }),
                         "band: returned 5"));
  EXPECT_TRUE(is_invalid(
      bands([](void*, uint64_t, const void*, uint64_t) -> int { throw std::runtime_error("no"); }),
      "band: threw"));
  EXPECT_TRUE(is_invalid(bands(nullptr), "band: null"));
}

TEST_F(CModelTest, FindsByName) {
  const OpenModel model = open(gguf());
  size_t i = 9;
  ASSERT_EQ(dequant_model_find(model.get(), "f", &i, nullptr), DEQUANT_OK);
  EXPECT_EQ(i, 1u);
  EXPECT_TRUE(is_invalid(
      call([&](auto* error) { return dequant_model_find(model.get(), "g", &i, error); }), "g"));
  EXPECT_TRUE(is_invalid(
      call([&](auto* error) { return dequant_model_find(model.get(), nullptr, &i, error); }),
      "name: null"));
}

TEST_F(CModelTest, WhatStaysQuantizedHasAReason) {
  const OpenModel model = open(scratch_.write("in.onnx", onnx_model_with_an_input()));
  ASSERT_EQ(dequant_model_left_count(model.get()), 1u);
  auto t = sized<dequant_model_tensor>();
  ASSERT_EQ(dequant_model_left_at(model.get(), 0, &t, nullptr), DEQUANT_OK);
  EXPECT_STREQ(t.node, "dq0");
  EXPECT_STRNE(t.reason, "");
  EXPECT_TRUE(is_invalid(
      call([&](auto* error) { return dequant_model_left_at(model.get(), 1, &t, error); }),
      "1 where the model has 1"));
}

TEST_F(CModelTest, OpenRefusesAndSetsNull) {
  const std::string file = gguf();
  int anything = 0;
  const auto stale = [&] { return reinterpret_cast<dequant_model*>(&anything); };
  const auto opened = [&](const char* path, const dequant_model_open_options* options) {
    dequant_model* model = stale();
    const Outcome outcome =
        call([&](auto* error) { return dequant_model_open(path, options, &model, error); });
    EXPECT_EQ(model, nullptr);
    return outcome;
  };
  EXPECT_TRUE(is_invalid(opened(nullptr, nullptr), "path: null"));
  EXPECT_TRUE(fails(opened((file + "x").c_str(), nullptr), DEQUANT_IO, "a.ggufx"));
  auto options = sized<dequant_model_open_options>();
  const dequant_model_option flag{"strip-qdq", nullptr};
  options.options = &flag;
  options.option_count = 1;
  EXPECT_TRUE(is_invalid(opened(file.c_str(), &options), "strip-qdq"));
  options.options = nullptr;
  EXPECT_TRUE(is_invalid(opened(file.c_str(), &options), "options: null"));
  options.struct_size = 8;
  EXPECT_TRUE(is_invalid(opened(file.c_str(), &options), "struct_size"));
  EXPECT_TRUE(is_invalid(
      call([&](auto* e) { return dequant_model_open(file.c_str(), nullptr, nullptr, e); }),
      "model: null"));
}

TEST_F(CModelTest, ConvertRefusesAFlagWithAValueAndWritesNothing) {
  const std::string in = scratch_.write("in.onnx", onnx_model_with_an_input());
  const std::string out = scratch_.path("out.onnx");
  auto options = sized<dequant_model_convert_options>();
  dequant_model_option flag{"strip-qdq", "false"};
  options.options = &flag;
  options.option_count = 1;
  const auto convert = [&] {
    return call([&](auto* error) {
      return dequant_model_convert(in.c_str(), out.c_str(), &options, nullptr, error);
    });
  };
  EXPECT_TRUE(is_invalid(convert(), "strip-qdq is a flag, which has no value: \"false\""));
  EXPECT_FALSE(std::filesystem::exists(out));
  flag.value = "";
  EXPECT_TRUE(succeeds(convert()));
}

// The message advised --force, which only the command line has.
TEST_F(CModelTest, ConvertToAFolderThatIsNotEmptyNamesNoFlagOfTheCommandLine) {
  const std::string in = gguf(), out = scratch_.path("out");
  std::filesystem::create_directory(out);
  scratch_.write("out/file", "x");
  const Outcome outcome = call([&](auto* error) {
    return dequant_model_convert(in.c_str(), out.c_str(), nullptr, nullptr, error);
  });
  EXPECT_TRUE(fails(outcome, DEQUANT_IO, "out exists and is not empty"));
  EXPECT_THAT(outcome.message, ::testing::EndsWith("not empty"));
}

// They stayed as they were.
TEST_F(CModelTest, OutputsAreNullAfterAnErrorOfAWrongSize) {
  const std::string in = gguf(), out = scratch_.path("out.gguf");
  auto error = sized<dequant_error>();
  error.struct_size = 8;
  int anything = 0;
  auto* model = reinterpret_cast<dequant_model*>(&anything);
  EXPECT_EQ(dequant_model_open(in.c_str(), nullptr, &model, &error), DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(model, nullptr);
  auto* report = reinterpret_cast<char*>(&anything);
  EXPECT_EQ(dequant_model_convert(in.c_str(), out.c_str(), nullptr, &report, &error),
            DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(report, nullptr);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(CModelTest, ReadRefusesWrongArgumentsBeforeTheFirstWrite) {
  const OpenModel model = open(gguf());
  std::vector<float> y(95, 7);
  EXPECT_TRUE(is_invalid(read(model, 0, y), "380 bytes where q takes 384"));
  EXPECT_TRUE(is_invalid(read(OpenModel(), 0, y), "model: null"));
  EXPECT_TRUE(is_invalid(read(model, 2, y), "2 where the model has 2"));
  auto options = sized<dequant_model_read_options>();
  const auto refused = [&](const char* word) {
    return is_invalid(read(model, 0, y, &options), word);
  };
  options.threads = -1;
  EXPECT_TRUE(refused("threads: -1"));
  options.threads = 0;
  options.memory = -1;
  EXPECT_TRUE(refused("memory: -1"));
  options.memory = 0;
  set_number(options.output, 99);
  EXPECT_TRUE(refused("output: 99"));
  options.output = DEQUANT_INT8;
  EXPECT_TRUE(refused("int8"));
  EXPECT_THAT(y, ::testing::Each(7));
  EXPECT_TRUE(is_invalid(call([&](auto* error) {
                           return dequant_model_read(model.get(), 0, y.data(),
                                                     std::numeric_limits<uint64_t>::max(), nullptr,
                                                     error);
                         }),
                         "beyond the end of memory"));
}

TEST_F(CModelTest, NothingIsDoneForNull) {
  dequant_model_close(nullptr);
  dequant_text_free(nullptr);
  EXPECT_STREQ(dequant_model_format(nullptr), "");
  EXPECT_EQ(dequant_model_tensor_count(nullptr), 0u);
  EXPECT_EQ(dequant_model_left_count(nullptr), 0u);
}

TEST_F(CModelTest, ConvertsAndReports) {
  const std::string in = gguf(), out = scratch_.path("out.gguf");
  auto options = sized<dequant_model_convert_options>();
  int64_t last = 0;
  options.progress = [](void* self, int64_t done, int64_t) {
    *static_cast<int64_t*>(self) = done;
    return 0;
  };
  options.self = &last;
  char* report = nullptr;
  ASSERT_TRUE(succeeds(call([&](auto* error) {
    return dequant_model_convert(in.c_str(), out.c_str(), &options, &report, error);
  })));
  EXPECT_THAT(report, HasSubstr("\"converted\""));
  dequant_text_free(report);
  EXPECT_GT(last, 0);
  const OpenModel model = open(out);
  std::vector<float> y(96);
  EXPECT_TRUE(succeeds(read(model, 0, y)));
  EXPECT_EQ(y, gguf_floats(3));
}

TEST_F(CModelTest, ConvertObeysItsOptions) {
  const std::string in = gguf(), out = scratch_.path("out.gguf");
  auto options = sized<dequant_model_convert_options>();
  const auto convert = [&] {
    return call([&](auto* error) {
      return dequant_model_convert(in.c_str(), out.c_str(), &options, nullptr, error);
    });
  };
  options.dry_run = 1;
  EXPECT_TRUE(succeeds(convert()));
  EXPECT_FALSE(std::filesystem::exists(out));
  options.dry_run = 0;
  const char* q = "q";
  options.exclude = &q;
  options.exclude_count = 1;
  options.require_float = 1;
  EXPECT_TRUE(fails(convert(), DEQUANT_UNSUPPORTED, "q"));
  options.exclude_count = 0;
  options.require_float = 0;
  options.progress = [](void*, int64_t, int64_t) { return 1; };
  EXPECT_TRUE(is_invalid(convert(), "progress: returned 1"));
  EXPECT_FALSE(std::filesystem::exists(out));
  options.progress = nullptr;
  options.dtype = DEQUANT_FLOAT16;
  EXPECT_TRUE(succeeds(convert()));
  EXPECT_TRUE(fails(convert(), DEQUANT_IO, "out.gguf"));
  options.overwrite = 1;
  EXPECT_TRUE(succeeds(convert()));
}

}  // namespace
}  // namespace dequant::testing::c

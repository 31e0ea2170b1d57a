// All that is written on ModelFile, on a format that has nothing to do with ONNX.
#include "format/model/model_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/formats.h"
#include "format/model/boxes.h"
#include "format/model/convert.h"
#include "format/model/extract.h"
#include "format/model/inspect.h"
#include "format/model/report_json.h"
#include "format/npy/scratch.h"
#include "format/onnx/format.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using testing::fails;
using testing::kBoxes;
using testing::Scratch;
using testing::succeeds;

constexpr std::array<const Format*, 2> kFormats{&kBoxes, &onnx::kFormat};

std::string float_bytes(std::initializer_list<float> floats) {
  std::string out;
  for (const float f : floats) out.append(reinterpret_cast<const char*>(&f), sizeof f);
  return out;
}

/// "w": int8 1, -2, 3, 4 with a scale for each row, 0.5 and 2; "z": uint4 1, 2, 3 minus 1, times 2;
/// "plain": two floats; "cache", which stays quantized.
std::string boxes() {
  const std::string list =
      R"([{"name":"w","type":"int8","shape":[2,2],"at":0,"axis":0,)"
      R"("scale":{"type":"float32","at":4}},)"
      R"({"name":"z","type":"uint4","shape":[3],"at":12,"scale":{"type":"float32","at":8},)"
      R"("zero_point":{"at":14}},)"
      R"({"name":"plain","type":"float32","shape":[2],"at":15},)"
      R"({"name":"cache","type":"int8","shape":[1],"at":0,"left":"it is a cache"}])";
  return "BOXES 1\n" + list + "\n" + std::string("\x01\xFE\x03\x04", 4) + float_bytes({0.5F, 2}) +
         std::string("\x21\x03\x01", 3) + float_bytes({7, 8});
}

class ModelFileTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Extractor>> extractor() {
    DEQUANT_TRY(auto file, open_model(kFormats, path_, {}));
    return Extractor::open(std::move(file));
  }

  Result<std::vector<float>> floats(const Extractor& all, const DenseTensor& tensor) {
    DEQUANT_TRY(const int64_t count, element_count(tensor.shape));
    std::vector<float> y(static_cast<size_t>(count));
    DEQUANT_CHECK(all.read(tensor, {}, std::as_writable_bytes(std::span(y))));
    return y;
  }

  const Scratch scratch_;
  const std::string path_ = scratch_.write("m.boxes", boxes());
};

TEST_F(ModelFileTest, AFileIsOpenedByTheFormatThatRecognisesIt) {
  EXPECT_EQ(open_model(kFormats, path_, {}).value()->format().name, "boxes");
  const std::string other = scratch_.write("m", "no mark");
  EXPECT_TRUE(fails(open_model(kFormats, other, {}), ErrorCode::malformed, "no ONNX model"));
  EXPECT_TRUE(fails(open_model(std::span(kFormats).first(1), other, {}), ErrorCode::unsupported,
                    "m: the format is not known"));
  EXPECT_TRUE(fails(open_model(kFormats, scratch_.path("none"), {}), ErrorCode::io, "none"));
  EXPECT_TRUE(fails(open_model(kFormats, scratch_.path(), {}), ErrorCode::io, "regular file"));
}

TEST_F(ModelFileTest, TheListOfFormatsEndsWithTheOneThatTakesEverything) {
  const Probe nothing{"x", "", false};
  ASSERT_FALSE(formats().empty());
  for (const Format* f : formats().first(formats().size() - 1))
    EXPECT_FALSE(f->recognises(nothing)) << f->name;
  EXPECT_TRUE(formats().back()->recognises(nothing));
}

TEST_F(ModelFileTest, OptionsOfOtherFormatsAreRefusedByName) {
  OpenOptions options;
  options.own.set("strict");
  EXPECT_TRUE(succeeds(open_model(kFormats, path_, options)));
  for (const std::string_view option : onnx::kFormat.options) {
    OpenOptions foreign;
    foreign.own.set(std::string(option));
    EXPECT_TRUE(fails(open_model(kFormats, path_, foreign), ErrorCode::invalid_argument,
                      std::string(option) + " is an option of ONNX models, not of boxes"));
  }
  EXPECT_TRUE(fails(open_model(kFormats, scratch_.write("m", "x"), options),
                    ErrorCode::invalid_argument, "strict is an option of boxes, not of ONNX"));
}

TEST_F(ModelFileTest, AnOptionOfTwoFilesIsOneOfEitherFormat) {
  const auto box = open_model(kFormats, path_, {}).value();
  FormatOptions options;
  options.set("strict");
  EXPECT_TRUE(succeeds(check_where_known(kFormats, options, *box, *box)));
  options.set("no-checksum");
  EXPECT_TRUE(fails(check_where_known(kFormats, options, *box, *box), ErrorCode::invalid_argument,
                    "no-checksum is an option of ONNX models, not of boxes"));
}

TEST(Selection, GlobsThatMatchNoNameAreNamed) {
  Selection selection{{"a*", "c"}, {"*b", "d?"}};
  EXPECT_TRUE(selection.wants({"aa", ""}));
  EXPECT_FALSE(selection.wants({"ab"}));
  EXPECT_EQ(selection.warnings(),
            (std::vector<std::string>{"include \"c\" matches no quantized tensor",
                                      "exclude \"d?\" matches no quantized tensor"}));
}

TEST_F(ModelFileTest, TensorsAreReadByTheirNames) {
  const auto all = extractor().value();
  ASSERT_EQ(all->tensors().size(), 2U);
  EXPECT_EQ(floats(*all, all->find("w", false).value()).value(),
            (std::vector<float>{0.5F, -1, 6, 8}));
  EXPECT_EQ(floats(*all, all->tensors()[all->index_of("z").value()]).value(),
            (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(floats(*all, all->find("plain", false).value()).value(), (std::vector<float>{7, 8}));
  EXPECT_TRUE(fails(all->index_of("plain"), ErrorCode::invalid_argument, "stored as it is"));
  EXPECT_TRUE(fails(all->find("cache", false), ErrorCode::invalid_argument,
                    "cache: it stays quantized: it is a cache"));
  EXPECT_TRUE(fails(all->find("w2", false), ErrorCode::invalid_argument, "has no tensor"));
}

TEST_F(ModelFileTest, RawTensorsAreTheCodes) {
  const auto all = extractor().value();
  const auto raw = all->all(true).value();
  ASSERT_EQ(raw.size(), 2U);
  EXPECT_EQ(raw[1].type().element, Element::uint4);
  std::string codes;
  ASSERT_TRUE(succeeds(stream(all->file(), raw[1], {}, [&](std::span<const std::byte> part) {
    codes.append(reinterpret_cast<const char*>(part.data()), part.size());
    return Status();
  })));
  EXPECT_EQ(codes, "\x21\x03");
}

TEST_F(ModelFileTest, AStoredTensorLiesWhereItSays) {
  const auto all = extractor().value();
  const Location at = all->tensors()[0].recipe->scale->location.value();
  EXPECT_TRUE(at.file.empty());
  EXPECT_EQ(boxes().substr(static_cast<size_t>(at.offset), static_cast<size_t>(at.length)),
            float_bytes({0.5F, 2}));
}

/// Counts what it is told.
class Told : public InspectSink {
 public:
  Status begin() override { return {}; }
  Status tensor(const TensorInfo& tensor) override {
    names.emplace_back(tensor.name);
    if (tensor.reason.empty()) largest.push_back(tensor.profile.values.extent.greatest);
    return {};
  }
  Status other(const OtherTensor&) override { return {}; }

  std::vector<std::string> names;
  std::vector<double> largest;
};

TEST_F(ModelFileTest, InspectionTellsOfEveryTensor) {
  const auto file = open_model(kFormats, path_, {}).value();
  Told told;
  const InspectTotals totals = inspect(*file, {}, told).value();
  EXPECT_EQ(told.names, (std::vector<std::string>{"w", "z", "cache"}));
  EXPECT_EQ(told.largest, (std::vector<double>{8, 4}));
  EXPECT_EQ(totals.all, 3);
  EXPECT_EQ(totals.dense, 2);
  EXPECT_EQ(totals.elements, 7);
  EXPECT_EQ(totals.bytes, 4 + 8 + 2 + 4 + 1);
}

TEST_F(ModelFileTest, AConversionWritesFloatsAndReportsInTheWordsOfTheFormat) {
  const std::string output = scratch_.path("out.boxes");
  const auto report = convert(kFormats, path_, output, {});
  ASSERT_TRUE(succeeds(report));
  const auto json = to_json(*report);
  EXPECT_EQ(json["converted"][0]["name"], "w");
  EXPECT_EQ(json["left"][0]["reason"], "it is a cache");
  EXPECT_EQ(json["totals"]["converted"], 2);
  for (const char* key : {"folded", "stripped", "inputs_changed"})
    EXPECT_FALSE(json.contains(key)) << key;
  const auto file = open_model(kFormats, output, {}).value();
  DenseTensor w = file->stored("w").value().value();
  std::vector<float> y(4);
  ASSERT_TRUE(succeeds(read(*file, w, {}, std::as_writable_bytes(std::span(y)))));
  EXPECT_EQ(y, (std::vector<float>{0.5F, -1, 6, 8}));
}

TEST_F(ModelFileTest, WhatAConversionRefusesLeavesNothing) {
  const std::string output = scratch_.path("out.boxes");
  ConvertOptions options;
  options.write.require_float = true;
  EXPECT_TRUE(fails(convert(kFormats, path_, output, options), ErrorCode::unsupported, "still"));
  options = {};
  options.open.own.set("strip-qdq");
  EXPECT_TRUE(fails(convert(kFormats, path_, output, options), ErrorCode::invalid_argument,
                    "strip-qdq is an option of ONNX models, not of boxes"));
  options = {};
  options.write.selection.exclude = {"*"};
  options.write.dry_run = true;
  EXPECT_EQ(convert(kFormats, path_, output, options).value().left.size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(output));
  options.write.dry_run = false;
  options.write.overwrite = Overwrite::replace;
  EXPECT_TRUE(fails(convert(kFormats, path_, path_, options), ErrorCode::io, "the input itself"));
}

}  // namespace
}  // namespace dequant::format

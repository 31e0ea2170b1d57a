// Comparing two model files of any format: here one that exists for tests only.
#include "format/diff/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "format/model/boxes.h"
#include "format/npy/scratch.h"

namespace dequant::format {
namespace {

using ::testing::ElementsAre;
using testing::kBoxes;
using testing::Scratch;

constexpr std::array<const Format*, 1> kFormats{&kBoxes};

std::string bytes_of(std::initializer_list<float> floats) {
  std::string out;
  for (const float f : floats) out.append(reinterpret_cast<const char*>(&f), sizeof f);
  return out;
}

TEST(DiffModels, HoldsComputedTensorsAgainstStoredOnes) {
  const Scratch scratch;
  const std::string a =
      scratch.write("a.boxes",
                    "BOXES 1\n"
                    R"([{"name":"w","type":"int8","shape":[2,2],"at":0,"axis":0,)"
                    R"("scale":{"type":"float32","at":4}},)"
                    R"({"name":"same","type":"float32","shape":[1],"at":4},)"
                    R"({"name":"flat","type":"float32","shape":[2],"at":4},)"
                    R"({"name":"mine","type":"float32","shape":[1],"at":4},)"
                    R"({"name":"cache","type":"int8","shape":[1],"at":0,"left":"it is a cache"}])"
                    "\n" +
                        std::string("\x01\xFE\x03\x04", 4) + bytes_of({0.5F, 2}));
  const std::string b = scratch.write("b.boxes",
                                      "BOXES 1\n"
                                      R"([{"name":"yours","type":"float32","shape":[1],"at":0},)"
                                      R"({"name":"w","type":"float32","shape":[2,2],"at":0},)"
                                      R"({"name":"flat","type":"float32","shape":[1,2],"at":0},)"
                                      R"({"name":"same","type":"float32","shape":[1],"at":0}])"
                                      "\n" +
                                          bytes_of({0.5F, -1, 6, 10}));
  const auto file_a = open_model(kFormats, a, {}).value();
  const auto file_b = open_model(kFormats, b, {}).value();
  int64_t told = 0;
  DiffOptions options;
  options.progress = [&](int64_t done, int64_t total) -> Status {
    EXPECT_EQ(total, 2 * (16 + 4));
    told = done;
    return {};
  };
  const auto found = diff(*file_a, *file_b, options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(told, 40);
  EXPECT_FALSE(found->exact());
  ASSERT_EQ(found->tensors.size(), 2u);
  EXPECT_EQ(found->tensors[0].name, "w") << "the worst first";
  EXPECT_EQ(found->tensors[0].difference.identical, 3);
  EXPECT_EQ(found->tensors[0].difference.max_abs, 2);
  EXPECT_THAT(found->tensors[0].difference.worst->index, ElementsAre(1, 1));
  EXPECT_TRUE(found->tensors[1].difference.exact());
  ASSERT_EQ(found->skipped.size(), 1u);
  EXPECT_EQ(found->skipped[0].reason, "a has the shape [2], and b [1, 2]");
  EXPECT_THAT(found->only_in_a, ElementsAre("mine"));
  EXPECT_THAT(found->only_in_b, ElementsAre("yours"));
}

TEST(DiffModels, AFileIsExactlyItself) {
  const Scratch scratch;
  const std::string path = scratch.write(
      "a.boxes",
      "BOXES 1\n"
      R"([{"name":"w","type":"int8","shape":[4],"at":0,"scale":{"type":"float32","at":4}}])"
      "\n" +
          std::string("\x01\xFE\x03\x04", 4) + bytes_of({0.5F}));
  const auto a = open_model(kFormats, path, {}).value();
  const auto b = open_model(kFormats, path, {}).value();
  const auto found = diff(*a, *b, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->exact());
  EXPECT_EQ(found->tensors.size(), 1u);
}

}  // namespace
}  // namespace dequant::format

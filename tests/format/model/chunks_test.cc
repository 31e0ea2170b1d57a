// Strided plans and packed codes in chunks: the floats of one run() over the whole tensor, whether
// chunks read neighbouring codes, whole dimensions at once, or codes that are held in memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>

#include "cuda/device/device_host.h"
#include "cuda/device/load.h"
#include "format/model/stream.h"

namespace dequant::format {
namespace {

using Bytes = std::vector<std::byte>;
using enum Element;

/// Packed codes in memory, and how many bytes of them were read.
class MemoryReader : public StoredReader {
 public:
  MemoryReader(Element element, int64_t count, const Bytes& bytes, std::atomic<int64_t>& read,
               bool seekable)
      : StoredReader(element, count), bytes_(bytes), read_(read), seekable_(seekable) {}

  bool seekable() const override { return seekable_; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    const Range bytes = bytes_of(element_, elements);
    EXPECT_LE(static_cast<size_t>(bytes.end), bytes_.size());
    EXPECT_EQ(static_cast<size_t>(bytes.end - bytes.begin), out.size());
    std::memcpy(out.data(), bytes_.data() + bytes.begin, out.size());
    read_ += static_cast<int64_t>(out.size());
    return {};
  }
  Status finish() override { return {}; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "memory"; }

  const Bytes& bytes_;
  std::atomic<int64_t>& read_;
  const bool seekable_;
};

struct Case {
  const char* description;
  Plan plan;
  bool all_codes_once = false;  ///< no code is read more often than once, slack aside
  int64_t row = 1;              ///< chunks end with a row
};

Plan strided(Element input, Element output, std::vector<Dimension> dimensions) {
  Plan plan{.input = input, .output = output, .granularity = Granularity::strided};
  plan.dimensions = std::move(dimensions);
  return plan;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  // FP8 weights in blocks of 128 x 128; the last blocks are short in both directions.
  all.push_back(
      {"blocks on two axes",
       strided(float8e4m3fn, bfloat16, {{576, 1000, 8, 0, 1000, 128}, {1000, 1, 1, 0, 1, 128}}),
       true});
  // GPTQ: eight codes of a word follow one another along the columns of y, words along its rows.
  Plan gptq =
      strided(uint4, float16, {{1024, 8, 1, 1, 2048}, {256, 8192, 0, 0, 8}, {8, 1, 0, 0, 1}});
  gptq.has_zero_point = true;
  gptq.parameters.zero_point_offset = 1;
  gptq.dimensions[1].group_index = 8;
  gptq.dimensions[2].group_index = 1;
  gptq.parameters.group_index = {16, 1024, 1024};
  all.push_back({"a transpose with a group index", gptq, true});
  // gpt-oss: the two inner dimensions of each expert are transposed.
  all.push_back(
      {"a transpose within each expert",
       strided(
           float4e2m1, bfloat16,
           {{6, 360 * 640, 360 * 20, 0, 640 * 360}, {640, 1, 1, 0, 360, 32}, {360, 640, 20, 0, 1}}),
       true});
  // GPTQ of 3 bits: words of an output run down a column; the words of a group's zero points do
  // not.
  Plan words = strided(uint8, bfloat16, {{400, 960, 1, 1, 960}, {960, 1, 400, 400, 1, 128}});
  words.has_zero_point = true;
  words.parameters.x_packing = {CodeOrder::stream, 3, 960, 400};
  words.parameters.zero_point = uint8;
  words.parameters.zero_point_packing = {CodeOrder::stream, 3, 400, 0};
  words.parameters.zero_point_offset = 1;
  words.parameters.zero_point_overflow = ZeroPointOverflow::wrap;
  all.push_back({"words down columns", words, true, 960});
  // AWQ: rows of words are columns of y.
  Plan awq = strided(uint8, float16, {{320, 1, 1, 1, 1100}, {1100, 320, 320, 320, 1, 100}});
  awq.has_zero_point = true;
  awq.parameters.x_packing = {CodeOrder::interleaved, 4, 320, 0};
  awq.parameters.zero_point_packing = awq.parameters.x_packing;
  awq.parameters.zero_point = uint8;
  all.push_back({"rows that are columns", awq, true, 1100});
  // compressed-tensors with act-order: the group of each column is in an index.
  Plan indexed = strided(uint8, bfloat16, {{320, 1104, 8, 8, 1104}, {1104, 1, 0, 0, 1, 1, 1}});
  indexed.parameters.x_packing = {CodeOrder::stream, 4, 1104, 0};
  indexed.parameters.group_index = {.groups = 8, .scale = 1, .zero_point = 1};
  all.push_back({"rows of words with a group index", indexed, true, 1104});
  // MLX of 5 bits: rows are streams, and a bias is added.
  Plan rows{.input = uint8,
            .output = bfloat16,
            .has_zero_point = true,
            .granularity = Granularity::blocked,
            .outer = 999,
            .axis = 320,
            .block = 64};
  rows.parameters.x_packing = {CodeOrder::stream, 5, 320, 0};
  rows.parameters.zero_point = bfloat16;
  rows.parameters.zero_point_role = ZeroPointRole::add_after;
  all.push_back({"rows of words", rows, true});
  // bitsandbytes: values are in a table.
  Plan table{.input = uint8,
             .output = float16,
             .granularity = Granularity::blocked,
             .axis = 400'001,
             .block = 64};
  table.parameters.codebook = true;
  table.parameters.x_packing = {CodeOrder::high_first, 4, 0, 0};
  all.push_back({"a table of values", table, true});
  // HQQ: codes of a word are far apart.
  Plan slabs{.input = uint8, .output = float16, .granularity = Granularity::per_axis};
  slabs.axis = 6000;
  slabs.inner = 64;
  slabs.parameters.x_packing = {CodeOrder::slabs_high_first, 3, 0, 600 * 64};
  all.push_back({"slabs", slabs});
  return all;
}

struct Inputs {
  Bytes x;
  Bytes scale;
  Bytes zero_point;
  Bytes tensor_scale;
  Bytes group_index;
  Bytes codebook;
};

Inputs random_inputs(const Plan& plan) {
  std::mt19937 random(7);
  const Extents e = extents(plan);
  Inputs in;
  const auto fill = [&](Bytes& bytes, Element element, int64_t count) {
    bytes.resize(static_cast<size_t>(packed_bytes(element, count).value()));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  };
  fill(in.x, uint8, x_bytes_of(plan, {0, e.x}).end);
  fill(in.zero_point, uint8, zero_point_bytes_of(plan, {0, e.zero_point}).end);
  const auto copy = [](Bytes& bytes, const auto& numbers) {
    const auto stored = std::as_bytes(std::span(numbers));
    bytes.assign(stored.begin(), stored.end());
  };
  std::vector<float> scales(static_cast<size_t>(e.scale));
  for (float& s : scales) s = static_cast<float>(random() % 1000) * 0x1p-12F;
  copy(in.scale, scales);
  std::vector<int32_t> groups(static_cast<size_t>(e.group_index));
  for (int32_t& g : groups) {
    g = static_cast<int32_t>(random() % static_cast<uint32_t>(plan.parameters.group_index.groups));
  }
  copy(in.group_index, groups);
  std::vector<float> values(static_cast<size_t>(e.codebook));
  for (float& f : values) f = static_cast<float>(random() % 1000) - 500;
  copy(in.codebook, values);
  return in;
}

class StridedChunks : public ::testing::TestWithParam<std::tuple<size_t, bool>> {
 protected:
  const Case case_ = cases()[std::get<0>(GetParam())];
  const bool seekable_ = std::get<1>(GetParam());
  const Plan& plan_ = case_.plan;
  const Inputs in_ = random_inputs(plan_);
  std::atomic<int64_t> codes_read_{0};
  std::atomic<int64_t> parameters_read_{0};

  RecipeReaders readers() {
    const Extents e = extents(plan_);
    const auto reader = [&](Element element, int64_t count, const Bytes& bytes, auto& read) {
      return std::make_unique<MemoryReader>(element, count, bytes, read, seekable_);
    };
    RecipeReaders out;
    const auto bytes_in = [](const Bytes& bytes) { return static_cast<int64_t>(bytes.size()); };
    out.codes =
        reader(plan_.input, has_packed_codes(plan_) ? bytes_in(in_.x) : e.x, in_.x, codes_read_);
    out.scale = reader(plan_.scale, e.scale, in_.scale, parameters_read_);
    if (plan_.has_zero_point) {
      const bool packed = has_packed_zero_points(plan_);
      out.zero_point =
          reader(zero_point_element(plan_), packed ? bytes_in(in_.zero_point) : e.zero_point,
                 in_.zero_point, parameters_read_);
    }
    if (e.group_index != 0)
      out.group_index = reader(int32, e.group_index, in_.group_index, parameters_read_);
    if (e.codebook != 0) out.codebook = reader(float32, e.codebook, in_.codebook, parameters_read_);
    return out;
  }

  Bytes whole() const {
    Bytes y(static_cast<size_t>(packed_bytes(plan_.output, extents(plan_).y).value()));
    EXPECT_TRUE(run(plan_, {.x = in_.x,
                            .scale = in_.scale,
                            .zero_point = in_.zero_point,
                            .y = y,
                            .tensor_scale = in_.tensor_scale,
                            .group_index = in_.group_index,
                            .codebook = in_.codebook}));
    return y;
  }

  void expect_codes_read_once() const {
    if (!case_.all_codes_once) return;
    EXPECT_LE(codes_read_, 5 * static_cast<int64_t>(in_.x.size()) / 4 + 4096) << case_.description;
  }
};

TEST_P(StridedChunks, OfAStreamAreTheWholeTensor) {
  Bytes y;
  ASSERT_TRUE(stream(plan_, readers(), {.memory = 1}, [&](std::span<const std::byte> part) {
    y.insert(y.end(), part.begin(), part.end());
    return Status();
  }));
  EXPECT_EQ(y, whole());
  expect_codes_read_once();
}

TEST_P(StridedChunks, InMemoryOfTheCallerAreTheWholeTensor) {
  Bytes y(whole().size());
  ASSERT_TRUE(fill(plan_, readers(), {.memory = 1}, y));
  EXPECT_EQ(y, whole());
  expect_codes_read_once();
}

/// A ring of three buffers has threads; in one of 8 KiB all tensors have many bands.
constexpr std::array<std::pair<size_t, size_t>, 2> kRings{{{1, 1 << 16}, {3, 1 << 13}}};

TEST_P(StridedChunks, OnADeviceAreTheWholeTensor) {
  for (const auto& [slots, bytes] : kRings) {
    const auto ring = cuda::Ring::make(cuda::devices(), slots, bytes).value();
    Bytes y(whole().size());
    ASSERT_TRUE(cuda::load(*ring, plan_, readers(), y, nullptr, default_executor()));
    cuda::host_settle();
    EXPECT_EQ(y, whole()) << case_.description << ", " << slots << " buffers";
  }
}

TEST_P(StridedChunks, OnADeviceLeaveNothingWhereItFails) {
  const auto ring = cuda::Ring::make(cuda::devices(), 3, 1 << 13).value();
  Bytes y(whole().size());
  const auto before = cuda::host_counts();
  for (const int64_t calls : {1, 2, 3, 7, 20}) {
    cuda::host_fail_after(calls);
    const Status status = cuda::load(*ring, plan_, readers(), y, nullptr, default_executor());
    cuda::host_fail_after(0);
    EXPECT_FALSE(status) << calls;
    cuda::host_settle();
    EXPECT_EQ(cuda::host_counts().device_bytes, before.device_bytes);
    EXPECT_EQ(cuda::host_counts().events, before.events);
  }
  ASSERT_TRUE(cuda::load(*ring, plan_, readers(), y, nullptr, default_executor()));
  cuda::host_settle();
  EXPECT_EQ(y, whole()) << case_.description;
}

TEST_P(StridedChunks, OfSeveralThreadsAreTheWholeTensor) {
  Bytes y(whole().size());
  const StreamOptions options{.memory = 1};
  ASSERT_TRUE(
      Scatter(options).run(plan_, readers(), [&](int64_t at, std::span<const std::byte> part) {
        std::memcpy(y.data() + at, part.data(), part.size());
        return Status();
      }));
  EXPECT_EQ(y, whole());
  expect_codes_read_once();
}

// A chunk of AWQ that ended within a row was dequantized code by code there: a conversion took
// several times as long.
TEST_P(StridedChunks, EndWithARowWhereOneCutIsSlow) {
  for (const int64_t output_bytes : {int64_t{20'000}, int64_t{100'000}}) {
    Chunks chunks(plan_, readers(), {0, element_count(plan_)}, output_bytes, 1 << 20, nullptr);
    ASSERT_TRUE(chunks.open(default_executor()));
    Chunk chunk;
    int64_t count = 0;
    while (chunks.next(chunk).value()) {
      ++count;
      EXPECT_EQ(chunk.elements.begin % case_.row, 0) << case_.description;
    }
    EXPECT_GE(count, 3) << case_.description;
  }
}

INSTANTIATE_TEST_SUITE_P(, StridedChunks,
                         ::testing::Combine(::testing::Range<size_t>(0, cases().size()),
                                            ::testing::Bool()),
                         [](const auto& test) {
                           return fmt::format("{}{}", std::get<0>(test.param),
                                              std::get<1>(test.param) ? "" : "InOrder");
                         });

}  // namespace
}  // namespace dequant::format

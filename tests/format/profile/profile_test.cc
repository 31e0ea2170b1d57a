// What is counted of codes and values, against counting one by one; whose scale is whose.
#include "format/profile/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "dequant/codes.h"
#include "format/profile/group_runs.h"
#include "format/profile/scale_profile.h"

namespace dequant::format {
namespace {

/// Some elements of a dequantized tensor, their codes and values.
struct Chunk {
  Range elements;
  std::vector<std::byte> codes;
  std::vector<std::byte> output;
};

/// Random codes, and random floats as if they were their values.
std::vector<Chunk> random_chunks(Element element, std::vector<int64_t> counts) {
  std::mt19937 random(3);
  std::vector<Chunk> out;
  int64_t begin = 0;
  for (const int64_t count : counts) {
    Chunk s;
    s.elements = {begin, begin + count};
    begin += count;
    s.codes.resize(static_cast<size_t>((count * bits(element) + 7) / 8));
    for (auto& byte : s.codes) byte = static_cast<std::byte>(random());
    for (int64_t i = 0; i < count; ++i) {
      const float value =
          random() % 5 == 0 ? 0 : static_cast<float>(static_cast<int>(random() % 999) - 400);
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      s.output.insert(s.output.end(), bytes, bytes + sizeof value);
    }
    out.push_back(std::move(s));
  }
  return out;
}

Profile profile(const Plan& plan, const std::vector<Chunk>& chunks) {
  Profiler profiler(plan, true);
  for (const Chunk& s : chunks) {
    profiler.add(s.elements, s.output);
    profiler.add_codes(s.codes, s.elements.end - s.elements.begin);
  }
  return profiler.finish();
}

TEST(ProfileTest, CountsTheCodesOfEveryType) {
  for (const Element element : elements()) {
    if (!is_input(element)) continue;
    SCOPED_TRACE(name(element));
    const auto chunks = random_chunks(element, {64, 8, 41});
    Plan plan;
    plan.input = element;
    plan.inner = 113;
    const CodeProfile codes = profile(plan, chunks).codes;
    // Codes in the order of their values, by the values themselves.
    std::map<double, int64_t> times;
    std::set<double> possible;
    for (const Chunk& s : chunks) {
      for (int64_t i = 0; i < s.elements.end - s.elements.begin; ++i) {
        const double value = value_of(element, load_code(element, s.codes, i));
        if (std::isfinite(value)) ++times[value];
      }
    }
    EXPECT_EQ(number_at(element, codes.least), times.begin()->first);
    EXPECT_EQ(number_at(element, codes.greatest), times.rbegin()->first);
    EXPECT_EQ(codes.at_least, times.begin()->second);
    EXPECT_EQ(codes.at_greatest, times.rbegin()->second);
    if (bits(element) > 16) continue;
    EXPECT_EQ(codes.used, static_cast<int64_t>(times.size()));
    for (uint32_t code = 0; code < 1u << bits(element); ++code) {
      const double value = value_of(element, code);
      if (std::isfinite(value)) possible.insert(value);
    }
    EXPECT_EQ(codes.possible, static_cast<int64_t>(possible.size()));
    EXPECT_EQ(number_at(element, codes.lowest), *possible.begin());
    EXPECT_EQ(number_at(element, codes.highest), *possible.rbegin());
  }
}

TEST(ProfileTest, CountsValuesNaNAndInfinitiesApart) {
  Plan plan;
  plan.inner = 8;
  Chunk s;
  s.elements = {0, 8};
  s.codes.resize(8);
  const std::vector<float> values{-0.0F, 0, 2, -3, INFINITY, -INFINITY, NAN, -NAN};
  s.output.resize(32);
  std::memcpy(s.output.data(), values.data(), 32);
  const ValueProfile v = profile(plan, {s}).values;
  EXPECT_EQ(v.zeros, 2);
  EXPECT_EQ(v.infinities, 2);
  EXPECT_EQ(v.extent.nans, 2);
  EXPECT_EQ(v.extent.numbers, 6);
  EXPECT_EQ(v.extent.least, -INFINITY);
  EXPECT_EQ(v.extent.greatest, INFINITY);
  EXPECT_EQ(v.finite.least(), -3);
  EXPECT_EQ(v.finite.greatest(), 2);
}

TEST(ProfileTest, KnowsTheBoundsOfFiniteValues) {
  Plan plan;
  plan.inner = 113;
  const auto chunks = random_chunks(Element::uint8, {64, 8, 41});
  Extent extent;
  for (const Chunk& s : chunks) {
    for (size_t i = 0; i < s.output.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, s.output.data() + i, 4);
      extent.add(value);
    }
  }
  const ValueProfile v = profile(plan, chunks).values;
  EXPECT_EQ(v.extent.least, extent.least);
  EXPECT_EQ(v.extent.greatest, extent.greatest);
  EXPECT_EQ(v.extent.numbers, 113);
}

TEST(ProfileTest, NoScaleOfAnEmptyTensorIsSilent) {
  Plan plan;
  plan.granularity = Granularity::per_axis;
  plan.outer = 0;
  plan.axis = 5;
  const Profile found = profile(plan, {});
  EXPECT_FALSE(found.has_groups);
  EXPECT_EQ(found.silent, 0);
  EXPECT_TRUE(found.first_silent.empty());
}

TEST(ScaleProfileTest, CountsScalesThatAreNoNumbers) {
  ScaleProfile scales;
  int64_t index = 0;
  for (const double scale : {1.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 2.0})
    scales.add(scale, index++);
  for (int i = 0; i < 9; ++i) scales.add(std::nan(""), index++);
  EXPECT_EQ(scales.first_nans, (std::vector<int64_t>{1, 5, 6, 7, 8}));
  EXPECT_EQ(scales.first_infinities, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(scales.extent.nans, 10);
  EXPECT_EQ(scales.infinities, 2);
}

/// The scales of all elements of a strided plan, dimension by dimension.
std::vector<int64_t> strided_scales(const Plan& p) {
  std::vector<int64_t> scales{0};
  for (const Dimension& d : p.dimensions) {
    std::vector<int64_t> more;
    for (const int64_t outer : scales) {
      for (int64_t i = 0; i < d.size; ++i) {
        const int64_t from_end = (d.size - 1) / d.block - i / d.block;
        more.push_back(outer + (d.scale < 0 ? from_end * -d.scale : i / d.block * d.scale));
      }
    }
    scales = more;
  }
  return scales;
}

Plan strided(const std::vector<Dimension>& dimensions) {
  Plan p{.granularity = Granularity::strided, .dimensions = dimensions};
  int64_t y = 1;
  for (size_t d = dimensions.size(); d-- > 0; y *= dimensions[d].size)
    p.dimensions[d].x = p.dimensions[d].y = y;
  return p;
}

/// The scale of an element by the definition of its granularity.
int64_t scale_of(const Plan& p, int64_t i) {
  const int64_t in = i % p.inner;
  const int64_t on = i / p.inner % p.axis;
  const int64_t out = i / (p.inner * p.axis);
  if (p.granularity == Granularity::per_tensor) return 0;
  if (p.granularity == Granularity::per_axis) return on;
  if (p.granularity == Granularity::strided) return strided_scales(p)[static_cast<size_t>(i)];
  return (out * ((p.axis + p.block - 1) / p.block) + on / p.block) * p.inner + in;
}

std::vector<Plan> grouped_plans() {
  std::vector<Plan> plans;
  for (const auto granularity :
       {Granularity::per_tensor, Granularity::per_axis, Granularity::blocked}) {
    for (const int64_t outer : {1, 3}) {
      for (const int64_t axis : {2, 5, 16}) {
        for (const int64_t inner : {1, 4}) {
          for (const int64_t block : {1, 3, 16}) {
            if (granularity != Granularity::blocked && block > 1) continue;
            Plan p;
            p.granularity = granularity;
            p.outer = granularity == Granularity::per_tensor ? 1 : outer;
            p.axis = granularity == Granularity::per_tensor ? 1 : axis;
            p.inner = granularity == Granularity::per_tensor ? outer * axis * inner : inner;
            p.block = block;
            plans.push_back(p);
          }
        }
      }
    }
  }
  // Blocks of two dimensions, a stride of several scales, gaps between scales, scales counted down.
  plans.push_back(
      strided({{.size = 5, .scale = 3, .block = 2}, {.size = 7, .scale = 1, .block = 3}}));
  plans.push_back(strided({{.size = 4, .scale = 1}, {.size = 6, .scale = 4}}));
  plans.push_back(strided({{.size = 4, .scale = 3}, {.size = 6, .scale = 1, .block = 3}}));
  plans.push_back(strided({{.size = 3, .scale = -2}, {.size = 2, .scale = -1}, {.size = 4}}));
  return plans;
}

TEST(GroupRunsTest, NameTheScaleOfEveryElement) {
  for (const Plan& p : grouped_plans()) {
    SCOPED_TRACE(to_string(p));
    const int64_t count = element_count(p);
    for (int64_t begin = 0; begin < count; begin += 8) {
      int64_t next = 0;
      for_each_group_run(p, {begin, count},
                         [&](int64_t at, int64_t n, int64_t scale, int64_t step) {
                           EXPECT_EQ(at, next);
                           next += n;
                           for (int64_t i = 0; i < n; ++i)
                             EXPECT_EQ(scale + i * step, scale_of(p, begin + at + i));
                         });
      EXPECT_EQ(next, count - begin);
    }
  }
}

TEST(ProfileTest, FindsTheLargestValueOfEachScaleAndThoseWithoutAny) {
  for (const Plan& p : grouped_plans()) {
    if (scale_count(p) < 2) continue;
    SCOPED_TRACE(to_string(p));
    const int64_t count = element_count(p);
    auto chunks = random_chunks(Element::uint8, count > 8 ? std::vector<int64_t>{8, count - 8}
                                                          : std::vector<int64_t>{count});
    std::vector<std::optional<float>> largest(static_cast<size_t>(scale_count(p)));
    for (Chunk& s : chunks) {
      for (int64_t i = s.elements.begin; i < s.elements.end; ++i) {
        std::byte* bytes = s.output.data() + (i - s.elements.begin) * 4;
        float value = 0;
        if (scale_of(p, i) == 1) std::memcpy(bytes, &value, 4);  // a dead one
        std::memcpy(&value, bytes, 4);
        auto& most = largest[static_cast<size_t>(scale_of(p, i))];
        most = std::max(most.value_or(0), std::abs(value));
      }
    }
    Profiler profiler(p, true);
    for (const Chunk& s : chunks) {
      profiler.add(s.elements, s.output);
      profiler.add_codes(s.codes, s.elements.end - s.elements.begin);
    }
    const Profile found = profiler.finish();
    ASSERT_TRUE(found.has_groups);
    for (size_t i = 0; i < largest.size(); ++i) {
      EXPECT_EQ(profiler.largest(static_cast<int64_t>(i)), largest[i]) << i;
    }
    EXPECT_EQ(found.silent, std::count(largest.begin(), largest.end(), 0.0F));
    EXPECT_EQ(found.groups, std::count_if(largest.begin(), largest.end(),
                                          [](const auto& most) { return most.has_value(); }));
    EXPECT_NE(std::find(found.first_silent.begin(), found.first_silent.end(), 1),
              found.first_silent.end());
  }
}

}  // namespace
}  // namespace dequant::format

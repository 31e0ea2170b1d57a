// The shapes of the cells.
#include "bench/measure/shapes.h"

#include <algorithm>
#include <array>

namespace dequant::bench {
namespace {

constexpr int64_t kRow = 4096;  // elements of a row in most shapes
constexpr int64_t kGap = 64;    // elements between padded rows
constexpr int64_t kRest = 0;    // kInner: all remaining elements

/// A packed tensor x of the shape [outer, axis, inner].
template <Granularity kGranularity, int64_t kAxis, int64_t kInner, int64_t kBlock = 1>
void packed(Plan& plan, int64_t elements) {
  plan.granularity = kGranularity;
  plan.axis = std::clamp<int64_t>(elements / std::max<int64_t>(kInner, 1), 1, kAxis);
  const int64_t left = elements / plan.axis;
  plan.inner = kInner == kRest ? left : std::min(kInner, left);
  plan.outer = left / plan.inner;
  plan.block = kBlock;
}

void make_strided(Plan& plan, std::vector<Dimension> dimensions) {
  plan.granularity = Granularity::strided;
  plan.dimensions = std::move(dimensions);
  for (Dimension& d : plan.dimensions) {
    if (!plan.has_zero_point) d.zero_point = 0;
  }
}

int64_t rows(int64_t elements) { return std::max<int64_t>(elements / kRow, 1); }
int64_t images(int64_t elements) { return std::max<int64_t>(elements / kRow / 64, 1); }

using enum Granularity;

constexpr std::array kPacked{
    Shape{"per_tensor", packed<per_tensor, 1, kRest>},
    Shape{"per_axis_first", packed<per_axis, 256, kRest>},
    Shape{"per_axis_middle", packed<per_axis, 64, 1024>},
    Shape{"per_axis_last", packed<per_axis, kRow, 1>},
    Shape{"blocked_16_last", packed<blocked, kRow, 1, 16>},
    Shape{"blocked_32_last", packed<blocked, kRow, 1, 32>},
    Shape{"blocked_128_last", packed<blocked, kRow, 1, 128>},
    Shape{"blocked_32_middle", packed<blocked, 64, 1024, 32>},
};

constexpr std::array kOfRanges{
    Shape{"per_tensor", packed<per_tensor, 1, kRest>},
    Shape{"per_axis_middle", packed<per_axis, 64, 1024>},
    Shape{"per_axis_last", packed<per_axis, kRow, 1>},
};

// Dimensions are {size, x, scale, zero point, y}.
constexpr std::array kStrided{
    Shape{"padded_x_scale_per_row",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{rows(n), kRow + kGap, 1, 1, kRow}, {kRow, 1, 0, 0, 1}});
          }},
    Shape{"padded_x_scale_per_column",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{rows(n), kRow + kGap, 0, 0, kRow}, {kRow, 1, 1, 1, 1}});
          }},
    Shape{"padded_x_scale_but_for_middle",
          [](Plan& plan, int64_t n) {
            constexpr int64_t kPadded = kRow + kGap;
            make_strided(plan, {{images(n), 64 * kPadded, kRow, kRow, 64 * kRow},
                                {64, kPadded, 0, 0, kRow},
                                {kRow, 1, 1, 1, 1}});
          }},
    Shape{"padded_x",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{rows(n), kRow + kGap, 0, 0, kRow}, {kRow, 1, 0, 0, 1}});
          }},
    Shape{"padded_y",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{rows(n), kRow, 0, 0, kRow + kGap}, {kRow, 1, 0, 0, 1}});
          }},
    Shape{"padded_x_of_64",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{rows(n) * kRow / 64, 96, 0, 0, 64}, {64, 1, 0, 0, 1}});
          }},
    Shape{"nhwc_to_nchw",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{images(n), 64 * kRow, 0, 0, 64 * kRow},
                                {64, 1, 1, 1, kRow},
                                {kRow, 64, 0, 0, 1}});
          }},
    Shape{"nchw_to_nhwc",
          [](Plan& plan, int64_t n) {
            make_strided(plan, {{images(n), 64 * kRow, 0, 0, 64 * kRow},
                                {kRow, 1, 0, 0, 64},
                                {64, kRow, 1, 1, 1}});
          }},
};

/// Eight dimensions of which no two can be merged: x has a gap of 8 elements after each dimension,
/// and every second dimension has stride 0 of the scales. The innermost dimension has the size
/// kInnermost, the next six have the size 4.
template <int64_t kInnermost>
void rank_8(Plan& plan, int64_t elements) {
  std::vector<Dimension> dimensions(8);
  Dimension next{kInnermost, 1, 1, 1, 1};
  int64_t left = elements;
  for (size_t i = dimensions.size(); i-- > 0;) {
    const bool outermost = i == 0;
    next.size = outermost ? std::max<int64_t>(left, 1) : i == 7 ? kInnermost : 4;
    Dimension& d = dimensions[i] = next;
    const bool repeats = i % 2 == 0;
    if (repeats) d.scale = d.zero_point = 0;
    left /= d.size;
    next.x = d.x * d.size + 8;
    if (!repeats) next.scale = next.zero_point = d.scale * d.size;
    next.y = d.y * d.size;
  }
  make_strided(plan, std::move(dimensions));
}

constexpr std::array kCliffs{
    Shape{"axis_1e6_of_3", packed<per_axis, 1000000, 3>, "per_axis_middle"},
    Shape{"blocks_of_1", packed<blocked, kRow, 1, 1>, "blocked_16_last"},
    Shape{"axis_last_of_64", packed<per_axis, 64, 1>, "per_axis_last"},
    Shape{"axis_last_of_16384", packed<per_axis, 16384, 1>, "per_axis_last"},
    Shape{"axis_of_1_inner_1", packed<per_axis, 1, 1>, "per_tensor"},
    Shape{"axis_of_1_inner_64", packed<per_axis, 1, 64>, "per_tensor"},
    Shape{"rank_8", rank_8<64>, "padded_x_scale_per_column", "strided"},
    Shape{"rank_8_of_4", rank_8<4>, "nhwc_to_nchw", "strided"},
};

}  // namespace

std::span<const Shape> packed_shapes() noexcept { return kPacked; }
std::span<const Shape> strided_shapes() noexcept { return kStrided; }
std::span<const Shape> shapes_of_ranges() noexcept { return kOfRanges; }
std::span<const Shape> cliff_shapes() noexcept { return kCliffs; }

}  // namespace dequant::bench

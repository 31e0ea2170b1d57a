// Shapes of DequantizeLinear: a list where errors are likely, and random shapes.
#include <algorithm>
#include <array>
#include <iterator>

#include "conformance/vectors/linear.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using Shapes = std::vector<LinearShape>;

/// Odd counts, so that packed tensors end within a byte; and empty tensors.
Shapes per_tensor_shapes(bool scale_of_rank_1) {
  Shapes list{{"scalar", {}, {}},
              {"one", {1}, {}},
              {"three", {3}, {}},
              {"five_by_three", {5, 3}, {}},
              {"rank_5", {3, 1, 2, 1, 3}, {}},
              {"empty", {0}, {}},
              {"empty_in_the_middle", {2, 0, 3}, {}}};
  if (!scale_of_rank_1) return list;
  list.push_back({"scalar_scale_of_rank_1", {}, {1}});
  list.push_back({"scale_of_rank_1", {3}, {1}});
  list.push_back(
      {.name = "only_zero_point_of_rank_1", .x = {3}, .scale = {}, .zero_point = Sizes{1}});
  list.push_back({.name = "only_scale_of_rank_1", .x = {3}, .scale = {1}, .zero_point = Sizes{}});
  return list;
}

Shapes per_axis_shapes() {
  Shapes list{{"default_axis", {2, 3}, {3}},
              {"rank_1", {5}, {5}, 0},
              {"odd_rows", {3, 5}, {3}, 0},
              {"odd_columns", {3, 5}, {5}, -1},
              {"axis_of_one", {3, 1, 2}, {1}, 1},
              {"empty_axis", {2, 0}, {0}, 1},
              {"empty_beside_the_axis", {0, 3}, {3}, 1}};
  const Sizes x{2, 3, 1, 3, 2};
  for (int64_t axis = 0; axis < 5; ++axis) {
    list.push_back({fmt::format("rank_5_axis_{}", axis), x, {x[static_cast<size_t>(axis)]}, axis});
    list.push_back({fmt::format("rank_5_axis_minus_{}", 5 - axis),
                    x,
                    {x[static_cast<size_t>(axis)]},
                    axis - 5});
  }
  return list;
}

Sizes blocks_of(Sizes x, int64_t axis, int64_t block) {
  int64_t& size = x[static_cast<size_t>(axis)];
  size = (size + block - 1) / block;
  return x;
}

/// Blocks of 1, short last blocks, blocks longer than the axis.
Shapes blocked_shapes() {
  Shapes list{{"default_axis", {2, 5}, {2, 3}, {}, 2},
              {"rank_1", {7}, {3}, 0, 3},
              {"rank_1_one_block", {5}, {1}, 0, 5},
              {"empty_axis", {2, 0}, {2, 0}, 1, 2},
              {"empty_beside_the_axis", {0, 5}, {0, 3}, 1, 2}};
  const Sizes x{3, 5, 4};
  for (int64_t axis = 0; axis < 3; ++axis) {
    for (const int64_t block : {1, 2, 3, 5, 9}) {
      list.push_back({fmt::format("rank_3_axis_{}_by_{}", axis, block), x,
                      blocks_of(x, axis, block), block % 2 == 0 ? axis : axis - 3, block});
    }
  }
  const Sizes deep{2, 1, 3, 2, 3};
  for (int64_t axis = 0; axis < 5; ++axis) {
    list.push_back({fmt::format("rank_5_axis_{}", axis), deep, blocks_of(deep, axis, 2), axis, 2});
  }
  return list;
}

/// At most 5 dimensions and few elements; sometimes a dimension is 0.
Sizes random_shape(Random& random) {
  constexpr int64_t kMostElements = 120;
  Sizes shape;
  int64_t count = 1;
  for (int64_t rank = random.in(0, 5); rank > 0; --rank) {
    const int64_t most = std::min<int64_t>(random.in(1, 9), kMostElements / count);
    shape.push_back(random.in(1, std::max<int64_t>(most, 1)));
    count *= shape.back();
  }
  if (!shape.empty() && random.in(0, 39) == 0) {
    shape[static_cast<size_t>(random.in(0, static_cast<int64_t>(shape.size()) - 1))] = 0;
  }
  return shape;
}

LinearShape random_linear_shape(Random& random, const LinearRules& rules) {
  LinearShape s{"", random_shape(random), {}};
  const auto rank = static_cast<int64_t>(s.x.size());
  const int64_t choice = random.in(0, rules.block_size ? 2 : rules.axis ? 1 : 0);
  if (rank == 0 || choice == 0) {
    if (rules.axis && random.coin()) s.scale = {1};
    return s;
  }
  const int64_t axis = random.in(0, rank - 1);
  const int64_t size = s.x[static_cast<size_t>(axis)];
  s.scale = {size};
  if (choice == 2) {
    s.block_size = random.in(1, size + 1);
    s.scale = blocks_of(s.x, axis, *s.block_size);
    // No single block of all of x: the list has that shape, which some implementations refuse.
    if (s.scale == Sizes{1}) s.block_size.reset();
  }
  if (axis != 1 || random.coin()) s.axis = random.coin() ? axis : axis - rank;
  return s;
}

}  // namespace

std::string granularity_of(const LinearShape& shape) {
  if (shape.block_size) return "blocked";
  return shape.scale.empty() || shape.scale == Sizes{1} ? "per_tensor" : "per_axis";
}

Case linear_case(const Collector& out, std::string name, Element x, Element scale,
                 const LinearShape& shape, bool zero_point) {
  Case c = out.begin(std::move(name));
  Random random = out.random(c.name);
  c.inputs["x"] = random_codes(random, x, shape.x);
  c.inputs["scale"] = random_scales(random, scale, shape.scale);
  if (zero_point) {
    c.inputs["zero_point"] = random_zero_points(random, x, shape.zero_point.value_or(shape.scale));
  }
  if (shape.axis) c.attributes["axis"] = *shape.axis;
  if (shape.block_size) c.attributes["block_size"] = *shape.block_size;
  return narrowed(std::move(c));
}

void add_linear_shapes(Collector& out, const LinearRules& rules) {
  Shapes shapes = per_tensor_shapes(rules.axis);
  const auto append = [&](Shapes more) {
    std::move(more.begin(), more.end(), std::back_inserter(shapes));
  };
  if (rules.axis) append(per_axis_shapes());
  if (rules.block_size) append(blocked_shapes());
  for (const Element x : rules.x) {
    bool zero_point = true;
    for (const LinearShape& shape : shapes) {
      const std::string granularity = granularity_of(shape);
      out.accept(linear_case(out, fmt::format("{}/shapes/{}/{}", name(x), granularity, shape.name),
                             x, Element::float32, shape, zero_point || shape.zero_point),
                 granularity);
      zero_point = !zero_point;
    }
  }
}

void add_linear_random(Collector& out, const LinearRules& rules, int64_t count) {
  constexpr std::array kOutputs{Element::float32, Element::float16, Element::bfloat16};
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("random/{:05}", i);
    Random random = out.random(name + " node");
    const Element x = random.of(rules.x);
    const Element scale = random.of(rules.scale);
    const LinearShape shape = random_linear_shape(random, rules);
    Case c = linear_case(out, name, x, scale, shape, random.coin());
    if (rules.output_dtype && (!is_output(scale) || random.coin())) {
      c.attributes["output_dtype"] = std::string(dequant::name(random.of(kOutputs)));
    }
    out.accept(std::move(c), granularity_of(shape));
  }
}

}  // namespace dequant::conformance::vectors

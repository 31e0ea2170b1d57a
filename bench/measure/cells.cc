// The enumeration of the cells.
#include "bench/measure/cells.h"

#include <array>
#include <initializer_list>

#include "bench/measure/shapes.h"
#include "dequant/element.h"

namespace dequant::bench {
namespace {

constexpr std::array kOutputs{Element::float32, Element::float16, Element::bfloat16};

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

void add(std::vector<Cell>& cells, std::string_view group, std::span<const Shape> shapes,
         std::span<const Element> inputs = elements()) {
  for (const Element x : inputs) {
    if (!is_input(x)) continue;
    for (const Element y : kOutputs) {
      for (const Shape& shape : shapes) {
        std::string neighbour;
        if (!shape.neighbour.empty()) {
          neighbour = joined({shape.neighbour_group, name(x), name(y), shape.neighbour});
        }
        cells.push_back({.name = joined({group, name(x), name(y), shape.name}),
                         .input = x,
                         .output = y,
                         .granularity = std::string(shape.name),
                         .neighbour = std::move(neighbour),
                         .lay = shape.lay});
      }
    }
  }
}

/// The shapes that TensorFlow supports for a rule.
std::span<const Shape> shapes_of(Rule rule) {
  switch (rule) {
    case Rule::min_combined:
    case Rule::scaled:
    case Rule::scaled_narrow_range: return shapes_of_ranges();
    default: return shapes_of_ranges().first(1);
  }
}

void add_ranges(std::vector<Cell>& cells) {
  using enum Rule;
  using enum Element;
  constexpr std::array kRules{
      min_combined,         min_first,        scaled, scaled_narrow_range, documented_min_combined,
      documented_min_first, documented_scaled};
  for (const Element x : {uint8, int8, uint16, int16, int32}) {
    for (const Element y : {float32, bfloat16}) {
      for (const Rule rule : kRules) {
        if (y == bfloat16 && rule != min_combined) continue;
        for (const Shape& shape : shapes_of(rule)) {
          const bool per_tensor = &shape == &shapes_of_ranges().front();
          cells.push_back({.name = joined({"ranges", name(x), name(y), name(rule),
                                           per_tensor ? std::string_view() : shape.name}),
                           .input = x,
                           .output = y,
                           .rule = rule,
                           .granularity = std::string(shape.name),
                           .neighbour = {},
                           .lay = shape.lay});
        }
      }
    }
  }
}

}  // namespace

Plan Cell::plan(int64_t elements) const {
  Plan plan;
  plan.input = input;
  plan.output = output;
  plan.rule = rule;
  plan.scale = takes_ranges(rule) ? Element::float32 : output;
  plan.has_zero_point = !takes_ranges(rule) && kind(input) != Kind::floating;
  lay(plan, elements);
  return plan;
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  add(cells, "", packed_shapes());
  add(cells, "strided", strided_shapes());
  add_ranges(cells);
  add(cells, "cliff", cliff_shapes());
  constexpr std::array kLayoutInputs{Element::uint8};
  constexpr std::array kArithmeticInputs{Element::uint4, Element::int8, Element::float8e4m3fn};
  add(cells, "checkpoint", layout_shapes(), kLayoutInputs);
  constexpr std::array kTransposedInputs{Element::float4e2m1};
  add(cells, "checkpoint", arithmetic_shapes(), kArithmeticInputs);
  add(cells, "checkpoint", transposed_shapes(), kTransposedInputs);
  constexpr std::array kUint4{Element::uint4};
  add(cells, "checkpoint", uint4_shapes(), kUint4);
  constexpr std::array kInt4{Element::int4};
  add(cells, "checkpoint", int4_shapes(), kInt4);
  add(cells, "gguf", block_shapes(), kLayoutInputs);
  return cells;
}

}  // namespace dequant::bench

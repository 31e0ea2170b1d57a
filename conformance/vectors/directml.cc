// The systematic cases of DirectML.
#include "conformance/vectors/directml.h"

#include "conformance/vectors/directml_node.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

struct ShapeCase {
  std::string granularity;
  std::string name;
  DirectmlShapes shapes;
};

/// Scale and zero point have the sizes of x, as the older operator requires. Elements share them by
/// strides of zero.
const std::vector<ShapeCase>& element_wise_layouts() {
  static const Sizes s{2, 3, 2, 3};
  static const Layout packed{s};
  static const Layout one{s, Sizes{0, 0, 0, 0}};
  static const Layout channel{s, Sizes{0, 1, 0, 0}};
  static const Layout column{s, Sizes{0, 0, 0, 1}};
  static const std::vector<ShapeCase> list{
      {"per_element", "packed", {packed, packed, packed}},
      {"per_element", "explicit_strides", {{s, Sizes{18, 6, 3, 1}}, packed, packed}},
      {"per_tensor", "packed", {packed, one, one}},
      {"per_tensor", "zero_point_packed", {packed, one, packed}},
      {"per_axis", "channels", {packed, channel, channel}},
      {"per_axis", "columns", {packed, column, channel}},
      {"padded", "rows", {{s, Sizes{30, 10, 5, 1}}, channel, channel}},
      {"padded", "images", {{s, Sizes{40, 12, 4, 1}}, {s, Sizes{19, 6, 3, 1}}, one}},
      {"permuted", "channels_last", {{s, Sizes{18, 1, 9, 3}}, channel, channel}},
      {"permuted", "reversed_dimensions", {{s, Sizes{1, 2, 6, 12}}, {s, Sizes{1, 2, 6, 12}}, one}},
      {"permuted", "padded", {{s, Sizes{1, 30, 2, 5}}, packed, {s, Sizes{18, 6, 1, 2}}}},
      {"broadcast", "rows_of_x", {{s, Sizes{0, 3, 0, 1}}, channel, packed}},
      {"broadcast", "one_of_x", {one, packed, packed}},
      {"overlapping", "windows", {{s, Sizes{6, 2, 1, 1}}, channel, one}},
  };
  return list;
}

/// Scale and zero point have sizes of their own, which divide the sizes of x.
const std::vector<ShapeCase>& dequantize_layouts() {
  static const Sizes s{2, 3, 4, 6};
  static const Layout packed{s};
  static const Layout one{{1, 1, 1, 1}};
  static const Layout channel{{1, 3, 1, 1}};
  static const Layout blocks{{2, 3, 4, 2}};
  static const Layout all_axes{{1, 3, 2, 2}};
  static const std::vector<ShapeCase> list{
      {"per_tensor", "sizes", {packed, one, one}},
      {"per_tensor", "strides", {packed, {s, Sizes{0, 0, 0, 0}}, one}},
      {"per_axis", "channels", {packed, channel, channel}},
      {"per_axis", "zero_point_of_all", {packed, channel, one}},
      {"per_element", "packed", {packed, packed, packed}},
      {"blocked", "last_axis", {packed, blocks, blocks}},
      {"blocked", "third_axis", {packed, {{2, 3, 2, 6}}, {{2, 3, 2, 6}}}},
      {"blocked", "first_axis", {packed, {{1, 3, 4, 6}}, {{1, 3, 4, 6}}}},
      {"blocked", "all_axes", {packed, all_axes, all_axes}},
      {"blocked", "coarser_zero_point", {packed, blocks, {{1, 1, 2, 1}}}},
      {"blocked", "zero_stride", {packed, {{2, 3, 4, 2}, Sizes{0, 0, 2, 1}}, blocks}},
      {"padded", "rows", {{s, Sizes{84, 28, 7, 1}}, blocks, blocks}},
      {"padded", "sides", {packed, {{2, 3, 4, 2}, Sizes{36, 12, 3, 1}}, blocks}},
      {"permuted", "channels_last", {{s, Sizes{72, 1, 18, 3}}, blocks, all_axes}},
      {"permuted", "sides", {packed, {{1, 3, 2, 2}, Sizes{1, 1, 3, 6}}, all_axes}},
      {"broadcast", "rows_of_x", {{s, Sizes{0, 6, 0, 1}}, blocks, blocks}},
      {"overlapping", "windows", {{s, Sizes{8, 3, 1, 1}}, all_axes, all_axes}},
  };
  return list;
}

/// All codes of x with one scale; then edge_scales() and edge_codes() as zero points, a row for
/// each.
void add_edges(Collector& out, const DirectmlRules& rules, const std::string& prefix, Element x,
               Element scale, bool zero_point) {
  const char* suffix = zero_point ? "_zero_point" : "";
  const Codes codes = all_codes(x);
  const Sizes flat{1, 1, 1, static_cast<int64_t>(codes.size())};
  const Layout one = rules.blocks ? Layout{{1, 1, 1, 1}} : Layout{flat, Sizes{0, 0, 0, 0}};
  Case all = directml_case(out, fmt::format("{}/per_tensor/codes{}", prefix, suffix), rules, x,
                           scale, {{flat}, one, one}, zero_point);
  all.inputs["x"].bits = codes;
  Random random = out.random(all.name);
  all.inputs["scale"].bits = {plain_scale(random, scale)};
  out.accept(narrowed(std::move(all)), "per_tensor");

  const Codes scales = edge_scales(scale);
  const auto rows = static_cast<int64_t>(scales.size());
  const Codes columns = edge_codes(x);
  const Sizes table{1, 1, rows, static_cast<int64_t>(columns.size())};
  const Layout by_row = rules.blocks ? Layout{{1, 1, rows, 1}} : Layout{table, Sizes{0, 0, 1, 0}};
  Case edges = directml_case(out, fmt::format("{}/per_axis/edges{}", prefix, suffix), rules, x,
                             scale, {{table}, by_row, by_row}, zero_point);
  edges.inputs["x"].bits = repeated(x, scales.size(), columns).bits;
  edges.inputs["scale"].bits = scales;
  if (zero_point) edges.inputs["zero_point"].bits = one_per_row(x, {rows}, columns).bits;
  out.accept(narrowed(std::move(edges)), "per_axis");
}

/// DirectML does not document the result of differences that need more than 32 bits. This library
/// computes the difference exactly and rounds it to float32.
void add_wide_differences(Collector& out, const DirectmlRules& rules, Element x, Element scale) {
  if (bits(x) != 32) return;
  const Codes codes = edge_codes(x);
  const auto rows = static_cast<int64_t>(codes.size());
  const Sizes table{1, 1, rows, rows};
  const Layout by_row{table, Sizes{0, 0, 1, 0}};
  Case c = directml_case(
      out, fmt::format("{}/{}/wide_differences/{}", rules.title, name(x), name(scale)), rules, x,
      scale, {{table}, by_row, by_row}, true);
  c.inputs["x"].bits = repeated(x, codes.size(), codes).bits;
  c.inputs["zero_point"].bits = codes;
  out.accept(std::move(c), "per_axis");
}

void add_types(Collector& out, const DirectmlRules& rules, Element x, Element scale) {
  const std::string prefix = fmt::format("{}/{}/{}", rules.title, name(x), name(scale));
  for (const bool zero_point : {false, true}) {
    if (!zero_point && rules.needs_zero_point) continue;
    add_edges(out, rules, prefix, x, scale, zero_point);
    for (const ShapeCase& shape : rules.blocks ? dequantize_layouts() : element_wise_layouts()) {
      const std::string name = fmt::format("{}/{}/{}{}", prefix, shape.granularity, shape.name,
                                           zero_point ? "_zero_point" : "");
      out.accept(directml_case(out, name, rules, x, scale, shape.shapes, zero_point),
                 shape.granularity);
    }
  }
}

/// A node of each rank, with random shapes.
void add_ranks(Collector& out, const DirectmlRules& rules) {
  if (!rules.any_rank) return;
  for (const Element x : rules.x) {
    for (int64_t rank = 1; rank <= 8; ++rank) {
      const std::string name = fmt::format("{}/{}/rank_{}", rules.title, dequant::name(x), rank);
      Random random = out.random(name + " shape");
      const DirectmlShapes shapes = random_shapes(random, rules, rank);
      out.accept(directml_case(out, name, rules, x, Element::float32, shapes, true), "any_layout");
    }
  }
}

}  // namespace

void add_directml(Collector& out, const std::string& level) {
  const auto operators = directml_rules(level);
  for (const DirectmlRules& rules : operators) {
    for (const Element x : rules.x) {
      for (const Element scale : rules.scale) {
        add_types(out, rules, x, scale);
        add_wide_differences(out, rules, x, scale);
      }
    }
    add_ranks(out, rules);
  }
  for (const DirectmlRules& rules : operators) add_directml_refusals(out, rules);
  const auto newest = directml_rules("6_4");
  for (size_t i = operators.size(); i < newest.size(); ++i) {
    refuse_directml_operator(out, newest[i]);
  }
}

}  // namespace dequant::conformance::vectors

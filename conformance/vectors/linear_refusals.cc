// Nodes that DequantizeLinear must refuse. Each violates one rule of its version and no other rule.
#include "conformance/vectors/linear.h"

#include <algorithm>
#include <limits>

#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;

class LinearRefusals {
 public:
  LinearRefusals(Collector& out, const LinearRules& rules) : out_(out), rules_(rules) {}

  void types() {
    for (const Element e : elements()) {
      if (!has(rules_.x, e)) out_.refuse(node(plain_, false, e), "x_type", name(e));
      if (!has(rules_.scale, e)) out_.refuse(node(plain_, false, uint8, e), "scale_type", name(e));
    }
    Case c = node(plain_, true);
    c.inputs["zero_point"].type = "int8";
    out_.refuse(c, "zero_point_type");
  }

  /// A zero point that is not zero, for types whose zero point must be zero.
  void zero_point_values() {
    for (const Element e : rules_.x) {
      if (kind(e) != Kind::floating) continue;
      Case c = node(plain_, true, e);
      const auto with = [&](uint64_t code, std::string_view variant) {
        c.inputs["zero_point"].bits = {code};
        out_.refuse(c, "zero_point_value", fmt::format("{}_{}", name(e), variant));
      };
      with(1, "smallest");
      if (bits(e) == 6) with(0x20, "minus_zero");
      if (bits(e) < 8) continue;
      const bool only_negative_zero = e == float8e4m3fnuz || e == float8e5m2fnuz;
      with(only_negative_zero ? 0x80 : 0x7F, "nan");
    }
  }

  void attributes() {
    Case c = node(plain_, false);
    c.attributes["block"] = int64_t{2};
    out_.refuse(c, "unknown_attribute");
    const auto absent = [&](const char* attribute, CaseAttribute value) {
      Case without = node(plain_, false);
      without.attributes[attribute] = std::move(value);
      out_.refuse(without, "no_such_attribute", attribute);
    };
    if (!rules_.axis) absent("axis", int64_t{0});
    if (!rules_.block_size) absent("block_size", int64_t{0});
    if (!rules_.output_dtype) absent("output_dtype", std::string("float32"));
  }

  void output_types() {
    if (!rules_.output_dtype) return;
    for (const Element e : elements()) {
      if (is_output(e)) continue;
      Case c = node(plain_, false);
      c.attributes["output_dtype"] = std::string(name(e));
      out_.refuse(c, "output_dtype", name(e));
    }
    if (has(rules_.scale, float8e8m0)) {
      out_.refuse(node(plain_, false, uint8, float8e8m0), "output_dtype_missing");
    }
  }

  /// Wrong shapes per axis and per tensor.
  void shapes() {
    if (!rules_.axis) {
      shape({"scale_of_rank_1", {2, 3}, {3}});
      return;
    }
    constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
    constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
    shape({"axis/rank", {2, 3}, {3}, 2});
    shape({"axis/below_minus_rank", {2, 3}, {3}, -3});
    shape({"axis/lowest", {2, 3}, {3}, kLowest});
    shape({"axis/highest", {2, 3}, {3}, kHighest});
    shape({"axis/default_of_rank_1", {3}, {3}});
    shape({"axis/of_a_scalar", {}, {3}, 0});
    shape({"scale_shape/one_too_few", {2, 3}, {2}, 1});
    shape({"scale_shape/one_too_many", {2, 3}, {4}, 1});
    shape({"scale_shape/of_another_axis", {2, 3}, {2}});
    shape({"scale_shape/none", {2, 3}, {0}, 1});
    shape({"scale_shape/rank_2", {2, 3}, {2, 3}, 1});
    shape({"scale_shape/rank_2_of_one", {2, 3}, {1, 1}, 1});
    zero_point({"zero_point_shape/one_too_few", {2, 3}, {3}, 1, {}, Sizes{2}});
    zero_point({"zero_point_shape/one_too_many", {2, 3}, {3}, 1, {}, Sizes{4}});
    zero_point({"zero_point_shape/scalar", {2, 3}, {3}, 1, {}, Sizes{}});
    zero_point({"zero_point_shape/of_slices", {2, 3}, {}, 1, {}, Sizes{3}});
    zero_point({"zero_point_shape/rank_2", {2, 3}, {3}, 1, {}, Sizes{1, 3}});
  }

  void blocks() {
    if (!rules_.block_size) return;
    shape({"block_size/negative", {2, 5}, {2, 3}, 1, -2});
    shape({"block_size/too_small", {2, 5}, {2, 3}, 1, 1});
    shape({"block_size/too_large", {2, 5}, {2, 3}, 1, 3});
    shape({"block_size/of_a_scalar", {}, {}, {}, 2});
    shape({"block_size/scale_of_rank_1", {2, 5}, {3}, 1, 2});
    shape({"block_size/scale_is_scalar", {2, 5}, {}, 1, 2});
    shape({"block_size/scale_of_rank_3", {2, 5}, {1, 2, 3}, 1, 2});
    shape({"block_size/one_block_too_few", {2, 5}, {2, 2}, 1, 2});
    shape({"block_size/one_block_too_many", {2, 5}, {2, 4}, 1, 2});
    shape({"block_size/other_dimension", {2, 5}, {1, 3}, 1, 2});
    shape({"block_size/axis_rank", {2, 5}, {2, 3}, 2, 2});
    shape({"block_size/axis_below_minus_rank", {2, 5}, {2, 3}, -3, 2});
    shape({"block_size/default_axis_of_rank_1", {5}, {3}, {}, 2});
    zero_point({"zero_point_shape/of_elements", {2, 5}, {2, 3}, 1, 2, Sizes{2, 5}});
    zero_point({"zero_point_shape/blocks_of_another_axis", {2, 5}, {2, 3}, 1, 2, Sizes{3, 2}});
    zero_point({"zero_point_shape/scalar_of_blocks", {2, 5}, {2, 3}, 1, 2, Sizes{}});
  }

 private:
  Case node(const LinearShape& s, bool zero_point, Element x = uint8, Element scale = float32) {
    return linear_case(out_, "reject", x, scale, s, zero_point);
  }

  /// The rule is the part of the name before a slash, or the whole name.
  void refuse(const LinearShape& s, bool zero_point) {
    const size_t slash = std::min(s.name.find('/'), s.name.size());
    const std::string variant = s.name.substr(std::min(slash + 1, s.name.size()));
    out_.refuse(node(s, zero_point), s.name.substr(0, slash), variant);
  }
  void shape(const LinearShape& s) { refuse(s, false); }
  void zero_point(const LinearShape& s) { refuse(s, true); }

  const LinearShape plain_{"", {3}, {}};

  Collector& out_;
  const LinearRules& rules_;
};

}  // namespace

void add_linear_refusals(Collector& out, const LinearRules& rules) {
  LinearRefusals refusals(out, rules);
  refusals.types();
  refusals.zero_point_values();
  refusals.attributes();
  refusals.output_types();
  refusals.shapes();
  refusals.blocks();
}

}  // namespace dequant::conformance::vectors

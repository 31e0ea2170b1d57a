// Nodes that DirectML's operators must refuse. Each violates one rule of its feature level.

#include "conformance/vectors/directml_node.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;

class DirectmlRefusals {
 public:
  DirectmlRefusals(Collector& out, const DirectmlRules& rules) : out_(out), rules_(rules) {}

  void types() {
    for (const Element e : elements()) {
      if (!has(rules_.x, e)) refuse(node(plain(), e), "x_type", name(e));
      if (!has(rules_.scale, e)) refuse(node(plain(), uint8, e), "scale_type", name(e));
    }
    Case c = node(plain());
    c.inputs["zero_point"].type = "int8";
    refuse(c, "zero_point_type");
  }

  void ranks() {
    const auto rank = [&](size_t n) {
      refuse(node(all({Sizes(n, 1)})), "rank", fmt::format("{}", n));
    };
    for (const size_t n : rules_.any_rank ? Ranks{0, 9} : Ranks{0, 1, 2, 3, 5, 8, 9}) rank(n);
    DirectmlShapes shapes = plain();
    shapes.scale = {{1, 2, 3}};
    refuse(node(shapes), "rank_of_side", "scale");
    shapes = plain();
    shapes.zero_point = {{1, 1, 1, 2, 3}};
    refuse(node(shapes), "rank_of_side", "zero_point");
  }

  void sizes() {
    refuse(node(all({{1, 1, 0, 3}})), "size_of_zero");
    if (rules_.blocks) {
      param_sizes("not_a_divisor", {1, 1, 2, 2});
      param_sizes("not_a_divisor_outside", {1, 2, 2, 3});
      param_sizes("larger", {1, 1, 4, 3});
      return;
    }
    param_sizes("scalar", {1, 1, 1, 1});
    param_sizes("vector", {1, 1, 1, 3});
    param_sizes("larger", {1, 1, 4, 3});
  }

  void strides() {
    for (const std::string_view which : {"x", "scale", "zero_point"}) {
      wrong_strides(which, "past_the_data", {6, 6, 3, 9});
      wrong_strides(which, "negative", {6, 6, 3, -1});
      wrong_strides(which, "beyond_32_bits", {6, 6, int64_t{1} << 32, 1});
      // The last index is 2^32 + 1, which 32 bits hold as 1.
      wrong_strides(which, "index_wraps", {6, 6, 0xFFFFFFFF, 1});
    }
  }

  void quantization() {
    const auto typed = [&](const char* type, bool zero_point, std::string_view variant) {
      Case c = node(plain(), uint8, float32, zero_point);
      c.attributes["quantization_type"] = std::string(type);
      refuse(c, "quantization_type", variant);
    };
    if (!rules_.blocks) {
      typed("SCALE_ZERO_POINT", true, "of_an_operator_without");
      if (rules_.needs_zero_point) refuse(node(plain(), uint8, float32, false), "no_zero_point");
      return;
    }
    typed("NONE", false, "none");
    typed("NONE", true, "none_with_zero_point");
    typed("SCALE", true, "one_tensor_too_many");
    typed("SCALE_ZERO_POINT", false, "one_tensor_too_few");
  }

 private:
  using Ranks = std::vector<size_t>;

  static DirectmlShapes all(const Layout& layout) { return {layout, layout, layout}; }
  static DirectmlShapes plain() { return all({{1, 1, 2, 3}}); }

  Case node(const DirectmlShapes& shapes, Element x = uint8, Element scale = float32,
            bool zero_point = true) {
    return directml_case(out_, "reject", rules_, x, scale, shapes, zero_point);
  }

  void refuse(const Case& c, std::string_view rule, std::string_view variant = {}) {
    out_.refuse(c, fmt::format("{}/{}", rules_.title, rule), variant);
  }

  void param_sizes(std::string_view variant, const Sizes& wrong) {
    DirectmlShapes shapes = plain();
    shapes.scale = {wrong};
    refuse(node(shapes), "scale_sizes", variant);
    shapes = plain();
    shapes.zero_point = {wrong};
    refuse(node(shapes), "zero_point_sizes", variant);
  }

  /// Six elements are stored, whatever the strides are.
  void wrong_strides(std::string_view which, std::string_view variant, const Sizes& wrong) {
    Case c = node(plain());
    c.inputs[std::string(which)].strides = wrong;
    refuse(c, "strides", fmt::format("{}_{}", variant, which));
  }

  Collector& out_;
  const DirectmlRules& rules_;
};

}  // namespace

void add_directml_refusals(Collector& out, const DirectmlRules& rules) {
  DirectmlRefusals refusals(out, rules);
  refusals.types();
  refusals.ranks();
  refusals.sizes();
  refusals.strides();
  refusals.quantization();
}

void refuse_directml_operator(Collector& out, const DirectmlRules& rules) {
  const Layout layout{{1, 1, 2, 3}};
  out.refuse(directml_case(out, "reject", rules, uint8, float32, {layout, layout, layout}, true),
             fmt::format("{}/operator_of_a_later_level", rules.title));
}

}  // namespace dequant::conformance::vectors

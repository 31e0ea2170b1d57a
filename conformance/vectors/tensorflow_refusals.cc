// Nodes that TensorFlow's Dequantize must refuse. Each violates one rule of its version.
#include "conformance/vectors/tensorflow_refusals.h"

#include "conformance/vectors/tensorflow_node.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using tensorflow::Mode;

class TensorflowRefusals {
 public:
  explicit TensorflowRefusals(Collector& out) : out_(out) {}

  /// Types of x that are no quantized types of TensorFlow, and wrong types of ranges and outputs.
  void types() {
    for (const Element e : elements()) {
      Case c = node({2, 3}, {}, {});
      c.inputs["x"].type = name(e);
      for (uint64_t& code : c.inputs["x"].bits) code = 0;
      out_.refuse(c, "input_type", name(e));
    }
    for (const char* range : {"min_range", "max_range"}) {
      Case c = node({2, 3}, {}, {});
      c.inputs[range] = {"float16", {}, {0x3C00}, {}};
      out_.refuse(c, "range_type", range);
    }
  }

  void ranges_per_tensor() {
    sizes("none_per_tensor", {2, 3}, {}, {0});
    sizes("two_per_tensor", {2, 3}, {}, {2});
    sizes("one_for_each_element", {2, 3}, {}, {2, 3});
  }

  void ranges_per_axis() {
    sizes("one_too_few", {2, 3}, 1, {2});
    sizes("one_too_many", {2, 3}, 1, {4});
    sizes("none", {2, 3}, 1, {0});
    sizes("one_for_all_slices", {2, 3}, 1, {});
    sizes("of_another_axis", {2, 3}, 0, {3});
  }

  void axes() {
    axis("below_minus_1", {2, 3}, -2);
    axis("rank", {2, 3}, 2);
    axis("beyond_rank", {2, 3}, 3);
    axis("of_a_scalar", {}, 0);
    Case c = node({2, 3}, {.mode = Mode::min_first, .axis = 1}, {3});
    out_.refuse(c, "min_first_of_slices");
  }

  void dtypes() {
    for (const Mode mode : {Mode::min_first, Mode::scaled}) {
      Case c = node({2, 3}, {.mode = mode, .dtype = Element::bfloat16}, {});
      out_.refuse(c, "bfloat16_mode", tensorflow::name(mode));
    }
    for (const Element e : {Element::float16, Element::int8}) {
      out_.refuse(node({2, 3}, {.dtype = e}, {}), "dtype", name(e));
    }
    Case c = node({2, 3}, {.documented = true}, {});
    out_.refuse(c, "documented_after_1_4");
  }

  void attributes_of_later_versions() {
    out_.refuse(node({2, 3}, {.axis = 0}, {2}), "no_such_attribute", "axis");
    out_.refuse(node({2, 3}, {.narrow_range = true}, {}), "no_such_attribute", "narrow_range");
    out_.refuse(node({2, 3}, {.dtype = Element::bfloat16}, {}), "no_such_attribute", "dtype");
  }

  void unknown_attribute() {
    Case c = node({2, 3}, {}, {});
    c.attributes["ensure_minimum_range"] = 0.01;
    out_.refuse(c, "unknown_attribute");
  }

 private:
  Case node(const Sizes& x, const TensorflowNode& node, const Sizes& range) {
    Case c = tensorflow_case(out_, "reject", node);
    Random random = out_.random(c.name);
    c.inputs["x"] = quantized(random_codes(random, node.x, x));
    c.inputs["min_range"] = tensor_of(Element::float32, range, [] { return 0xBF800000u; });
    c.inputs["max_range"] = tensor_of(Element::float32, range, [] { return 0x3F800000u; });
    return c;
  }

  /// That shape for both ranges, then for one of the two.
  void sizes(std::string_view variant, const Sizes& x, std::optional<int64_t> axis,
             const Sizes& wrong) {
    const TensorflowNode sliced{.axis = axis};
    const Sizes right = axis ? Sizes{x[static_cast<size_t>(*axis)]} : Sizes{};
    out_.refuse(node(x, sliced, wrong), "range_size", variant);
    for (const char* range : {"min_range", "max_range"}) {
      Case c = node(x, sliced, right);
      c.inputs[range] = tensor_of(Element::float32, wrong, [] { return 0x3F800000u; });
      out_.refuse(c, "range_size", fmt::format("{}_only_{}", variant, range));
    }
  }

  /// A wrong axis with ranges for a size of 2, and with ranges per tensor.
  void axis(std::string_view variant, const Sizes& x, int64_t value) {
    out_.refuse(node(x, {.axis = value}, {2}), "axis", variant);
    out_.refuse(node(x, {.axis = value}, {}), "axis", fmt::format("{}_per_tensor", variant));
  }

  Collector& out_;
};

}  // namespace

void add_tensorflow_refusals(Collector& out, bool today) {
  TensorflowRefusals refusals(out);
  refusals.types();
  refusals.ranges_per_tensor();
  refusals.unknown_attribute();
  if (!today) {
    refusals.attributes_of_later_versions();
    return;
  }
  refusals.ranges_per_axis();
  refusals.axes();
  refusals.dtypes();
}

}  // namespace dequant::conformance::vectors

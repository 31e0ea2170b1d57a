// The rules of each version, and the cases of all types of a version.
#include "conformance/vectors/linear.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;

/// The output types that a type of scale allows, with output_dtype or without.
std::vector<Element> outputs_of(const LinearRules& rules, Element scale) {
  if (rules.output_dtype) return {float32, float16, bfloat16};
  return {scale};
}

/// Scales and zero points of that shape: each row has the next of edge_scales() and edge_codes().
void set_params(Case& c, Random& random, Element x, Element scale, const Sizes& shape,
                bool zero_point) {
  c.inputs["scale"] = one_per_row(scale, shape, edge_scales(scale));
  if (!zero_point) return;
  if (kind(x) == Kind::floating) {
    c.inputs["zero_point"] = random_zero_points(random, x, shape);
  } else {
    c.inputs["zero_point"] = one_per_row(x, shape, edge_codes(x));
  }
}

/// The cases of one choice of types, with or without a zero point.
class TypeCases {
 public:
  TypeCases(Collector& out, const LinearRules& rules, Element x, Element scale, Element output,
            bool zero_point)
      : out_(out), x_(x), scale_(scale), output_(output), zero_point_(zero_point) {
    explicit_ = rules.output_dtype && (output != scale || zero_point);
  }

  /// all_codes() of x with one plain scale.
  void per_tensor() {
    const Codes codes = all_codes(x_);
    Case c = begin("per_tensor");
    size_t i = 0;
    Random random = out_.random(c.name);
    c.inputs["x"] = tensor_of(x_, {static_cast<int64_t>(codes.size())}, [&] { return codes[i++]; });
    c.inputs["scale"] = tensor_of(scale_, {}, [&] { return plain_scale(random, scale_); });
    if (zero_point_) c.inputs["zero_point"] = random_zero_points(random, x_, {});
    out_.accept(narrowed(std::move(c)), "per_tensor");
  }

  /// edge_codes() of x with each of edge_scales(), a node each: for versions without an axis.
  void per_tensor_scales() {
    const Codes codes = edge_codes(x_);
    for (const uint64_t scale : edge_scales(scale_)) {
      Case c = begin(fmt::format("per_tensor_scale_{:08x}", scale));
      Random random = out_.random(c.name);
      c.inputs["x"] = repeated(x_, 1, codes);
      c.inputs["scale"] = tensor_of(scale_, {}, [&] { return scale; });
      if (zero_point_) c.inputs["zero_point"] = random_zero_points(random, x_, {});
      out_.accept(narrowed(std::move(c)), "per_tensor");
    }
  }

  /// edge_codes() of x with each of edge_scales().
  void per_axis() {
    Case c = begin("per_axis");
    Random random = out_.random(c.name);
    const size_t rows = edge_scales(scale_).size();
    c.attributes["axis"] = int64_t{0};
    c.inputs["x"] = repeated(x_, rows, edge_codes(x_));
    set_params(c, random, x_, scale_, {static_cast<int64_t>(rows)}, zero_point_);
    out_.accept(narrowed(std::move(c)), "per_axis");
  }

  /// The same in blocks of 2 and 1 on the last axis.
  void blocked() {
    Case c = begin("blocked");
    Random random = out_.random(c.name);
    const auto rows = static_cast<int64_t>(edge_scales(scale_).size());
    c.attributes["axis"] = int64_t{1};
    c.attributes["block_size"] = int64_t{2};
    c.inputs["x"] = random_codes(random, x_, {rows, 5});
    set_params(c, random, x_, scale_, {rows, 3}, zero_point_);
    out_.accept(narrowed(std::move(c)), "blocked");
  }

 private:
  Case begin(const std::string& what) const {
    Case c = out_.begin(fmt::format("{}/{}/{}/{}{}", name(x_), name(scale_), name(output_), what,
                                    zero_point_ ? "_zero_point" : ""));
    if (explicit_) c.attributes["output_dtype"] = std::string(name(output_));
    return c;
  }

  Collector& out_;
  Element x_;
  Element scale_;
  Element output_;
  bool zero_point_;
  bool explicit_ = false;  // output_dtype is given even where it is the scale's type
};

/// Integers of 32 bits and zero points whose differences need more than 32 bits. The standard does
/// not define the result. This library computes the difference exactly and rounds it to float32.
void add_wide_differences(Collector& out, const LinearRules& rules) {
  if (std::find(rules.x.begin(), rules.x.end(), int32) == rules.x.end()) return;
  const Codes codes = edge_codes(int32);
  for (const Element scale : rules.scale) {
    if (!is_output(scale)) continue;  // no output type is that of such a scale
    Case c = out.begin(fmt::format("int32/wide_differences/{}", name(scale)));
    Random random = out.random(c.name);
    const auto scales = [&](Sizes shape) {
      return tensor_of(scale, std::move(shape), [&] { return plain_scale(random, scale); });
    };
    if (rules.axis) {
      const Sizes rows{static_cast<int64_t>(codes.size())};
      c.attributes["axis"] = int64_t{0};
      c.inputs["x"] = repeated(int32, codes.size(), codes);
      c.inputs["scale"] = scales(rows);
      c.inputs["zero_point"] = one_per_row(int32, rows, codes);
      out.accept(std::move(c), "per_axis");
      continue;
    }
    const std::string prefix = c.name;
    for (const uint64_t zero_point : {0x00000001u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
      c.name = fmt::format("{}/zero_point_{:08x}", prefix, zero_point);
      c.inputs["x"] = repeated(int32, 1, codes);
      c.inputs["scale"] = scales({});
      c.inputs["zero_point"] = tensor_of(int32, {}, [&] { return zero_point; });
      out.accept(c, "per_tensor");
    }
  }
}

/// -0 as the zero point of a float type.
void add_minus_zero_points(Collector& out, const LinearRules& rules) {
  for (const Element x : rules.x) {
    const auto zero_point = minus_zero(x);
    if (!zero_point) continue;
    Case c = linear_case(out, fmt::format("{}/minus_zero_point", name(x)), x, float32,
                         {"", {5}, {}}, true);
    c.inputs["zero_point"].bits = {*zero_point};
    out.accept(std::move(c), "per_tensor");
  }
}

}  // namespace

LinearRules onnx_rules(int64_t opset) {
  LinearRules rules{.x = {uint8, int8, int32}, .scale = {float32}};
  const auto append = [](std::vector<Element>& list, std::initializer_list<Element> more) {
    list.insert(list.end(), more);
  };
  rules.axis = opset >= 13;
  if (opset >= 19) {
    append(rules.x, {float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz});
    append(rules.scale, {float16, bfloat16});
  }
  if (opset >= 21) append(rules.x, {int16, uint16, int4, uint4});
  rules.block_size = opset >= 21;
  if (opset >= 23) append(rules.x, {float4e2m1});
  rules.output_dtype = opset >= 23;
  if (opset >= 24) append(rules.scale, {float8e8m0});
  if (opset >= 25) append(rules.x, {int2, uint2});
  if (opset >= 28) append(rules.x, {float6e2m3, float6e3m2});
  return rules;
}

LinearRules microsoft_rules() {
  return {.x = {uint8, int8, int16, uint16, int32, int4, uint4},
          .scale = {float32, float16},
          .axis = true};
}

void add_linear_types(Collector& out, const LinearRules& rules) {
  for (const Element x : rules.x) {
    for (const Element scale : rules.scale) {
      for (const Element output : outputs_of(rules, scale)) {
        for (const bool zero_point : {false, true}) {
          TypeCases cases(out, rules, x, scale, output, zero_point);
          cases.per_tensor();
          if (!rules.axis) cases.per_tensor_scales();
          if (rules.axis) cases.per_axis();
          if (rules.block_size) cases.blocked();
        }
      }
    }
  }
  add_wide_differences(out, rules);
  add_minus_zero_points(out, rules);
}

}  // namespace dequant::conformance::vectors

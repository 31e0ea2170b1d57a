// Operators that read and write quantized activations.
#include "format/onnx/operators/arithmetic.h"

#include <algorithm>
#include <cstring>

#include "format/io/errors.h"
#include "format/onnx/evaluation/attributes.h"
#include "format/onnx/operators/attention.h"
#include "format/onnx/operators/linear.h"
#include "format/onnx/operators/scales.h"
#include "format/onnx/original_name.h"

namespace dequant::format::onnx {
namespace {

/// The first opset with DequantizeLinear and QuantizeLinear, and with several scales of these.
constexpr int64_t kFirstOpset = 10;
constexpr int64_t kFirstPerAxis = 13;
/// The first opset with Constant.value_floats.
constexpr int64_t kFirstFloats = 12;

/// Inputs whose nodes are in the memory that is counted for any operator.
constexpr size_t kFewInputs = 2;
/// Bytes of memory for each input of a node with more inputs, and for each pair of these inputs: a
/// node is written again whenever one of its inputs gets another name.
constexpr int64_t kInputMemory = 1280;
constexpr int64_t kPairMemory = 8;

std::string_view standard(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

/// The inputs of the float operator for this node, those that repeat included. Inputs at the end
/// that the node does not have are left out.
std::vector<FloatInput> inputs_of(const ArithmeticOperator& op, const Node& node) {
  std::vector<FloatInput> inputs(op.inputs.begin(), op.inputs.end());
  while (op.repeat > 0) {
    FloatInput next = inputs.back();
    for (size_t FloatInput::*i : {&FloatInput::codes, &FloatInput::scale, &FloatInput::zero_point})
      next.*i += op.repeat;
    if (next.codes >= node.inputs.size()) break;
    inputs.push_back(next);
  }
  while (!inputs.empty() && node.input(inputs.back().codes).empty()) inputs.pop_back();
  return inputs;
}

/// The distance of the inputs that a row's input stands for; 0: it stands for one.
size_t step_of(const ArithmeticOperator& op, const FloatInput& input) {
  return &input == &op.inputs.back() ? op.repeat : 0;
}

class Expander {
 public:
  Expander(const ArithmeticOperator& op, Operands& in, Constants& constants, Rewire& rewire,
           Node& place)
      : op_(op), in_(in), constants_(constants), rewire_(rewire), place_(place) {}

  Result<std::vector<Node*>> run() {
    DEQUANT_CHECK(check());
    if (!in_.reason().empty()) return std::vector<Node*>();
    if (op_.repeat > 0) DEQUANT_CHECK(take_memory(in_.node().inputs.size() / op_.repeat));
    MadeNode made{
        .op_type = op_.becomes, .domain = op_.becomes_domain, .name = in_.node().name.str()};
    for (const FloatInput& input : inputs_of(op_, in_.node())) {
      DEQUANT_TRY(std::string name, take(input));
      if (!in_.reason().empty()) return std::vector<Node*>();
      made.inputs.push_back(std::move(name));
    }
    for (const CarriedAttribute& a : op_.attributes) DEQUANT_CHECK(carry(a, made));
    DEQUANT_CHECK(put(std::move(made)));
    if (!in_.reason().empty()) return std::vector<Node*>();
    return rewire_.expand(in_.graph(), place_, nodes_);
  }

 private:
  int64_t opset() const { return in_.graph().opsets.onnx.value_or(0); }

  Status take_memory(size_t inputs) {
    const auto n = static_cast<int64_t>(inputs);
    return inputs <= kFewInputs ? Status() : in_.model().take(n * (kInputMemory + n * kPairMemory));
  }

  Status check() {
    const int64_t since = std::max(op_.since, kFirstOpset);
    if (opset() < since) {
      in_.refuse(fmt::format("{} and pairs need ai.onnx opset {}; the model imports {}",
                             op_.becomes, since,
                             opset() == 0 ? std::string("none") : std::to_string(opset())));
    }
    if (in_.model().has_training) in_.refuse("the model has training information");
    const size_t outputs = in_.node().outputs.size();
    if (outputs < 1 || in_.node().output(0).empty() || (op_.output && outputs > 1))
      in_.refuse(fmt::format("{} outputs, where 1 is allowed", outputs));
    return op_.check == nullptr || !in_.reason().empty() ? Status() : op_.check(in_);
  }

  std::string label(std::string_view what) const { return rewire_.label(in_.node(), what); }

  /// The name of an input as the float operator reads it, whose nodes are added.
  Result<std::string> take(const FloatInput& input) {
    if (input.kind == FloatInput::Kind::same || !in_.has(input.codes)) return in_.name(input.codes);
    if (input.kind == FloatInput::Kind::bias) return take_bias(input);
    DEQUANT_TRY(const Resolved codes,
                constants_.resolve(in_.graph(), in_.node().input(input.codes)));
    const bool is_one = input.may_have_no_scale && !in_.has(input.scale) && !codes.constant;
    if (is_one && opset() < kFirstFloats) {
      in_.refuse(fmt::format("a Constant of floats needs ai.onnx opset {}; the model imports {}",
                             kFirstFloats, opset()));
      return std::string();
    }
    if (is_one) nodes_.push_back(scales_of(input, {1.0F}));
    MadeNode d = dequantize(input.codes, is_one ? nodes_.back().outputs[0] : in_.name(input.scale),
                            codes.constant.has_value());
    if (in_.has(input.zero_point)) d.inputs.push_back(in_.name(input.zero_point));
    if (is_one) {
      DEQUANT_CHECK(check_zero_point(in_, input.zero_point));
    } else if (codes.constant) {
      DEQUANT_CHECK(check_constant(d, input));
    } else if (!is_dynamic(input)) {
      DEQUANT_CHECK(check_pair(in_, input.scale, input.zero_point));
    }
    nodes_.push_back(d);
    return d.outputs[0];
  }

  /// Adds an attribute of the node to the float operator, or the input that it is there.
  Status carry(const CarriedAttribute& carried, MadeNode& made) {
    if (opset() >= carried.input_since) {
      const Attribute* a = in_.node().attribute(carried.name);
      if (a == nullptr) return {};
      if (!a->reference.empty())
        in_.refuse(fmt::format("{} is an attribute of its function", carried.name));
      DEQUANT_TRY(const auto ints, read_ints(in_.model(), in_.node(), carried.name));
      MadeNode constant{
          .op_type = "Constant",
          .outputs = {rewire_.fresh_name(fmt::format("{}_{}", in_.node().output(0), carried.name))},
          .attributes = {ints_attribute(in_.model().store, "value_ints", *ints)},
          .name = label("Constant")};
      made.inputs.push_back(constant.outputs[0]);
      nodes_.push_back(std::move(constant));
      return {};
    }
    DEQUANT_TRY(auto attribute, carried_attribute(in_.model(), in_.node(), carried.name));
    if (!attribute && carried.otherwise)
      attribute = int_attribute(in_.model().store, carried.name, *carried.otherwise);
    if (attribute) made.attributes.push_back(*std::move(attribute));
    return {};
  }

  MadeNode dequantize(size_t codes, std::string scale, bool constant) {
    const std::string stored = in_.name(codes);
    const std::string_view original = constant ? original_name(stored) : std::string_view();
    std::string name = original.empty() ? stored + "_dequantized" : std::string(original);
    return {.op_type = "DequantizeLinear",
            .inputs = {stored, std::move(scale)},
            .outputs = {rewire_.fresh_name(std::move(name))},
            .name = label(fmt::format("DequantizeLinear_{}", codes))};
  }

  /// A Constant with the scales of an input.
  MadeNode scales_of(const FloatInput& input, const std::vector<float>& scales) {
    return {.op_type = "Constant",
            .outputs = {rewire_.fresh_name(in_.name(input.codes) + "_scale")},
            .attributes = {floats_attribute(in_.model().store, "value_floats", scales)},
            .name = label("Constant")};
  }

  /// True for codes of a DynamicQuantizeLinear with the scale and the zero point of the same node.
  bool is_dynamic(const FloatInput& input) const {
    const auto output_of = [&](size_t i) -> const Definition* {
      const Definition* d = rewire_.scopes().find(in_.graph(), in_.node().input(i));
      return d != nullptr && d->node != nullptr && d->node->is("DynamicQuantizeLinear") ? d
                                                                                        : nullptr;
    };
    const Definition* codes = output_of(input.codes);
    const Definition* scale = output_of(input.scale);
    const Definition* zero = output_of(input.zero_point);
    if (codes == nullptr || scale == nullptr || zero == nullptr) return false;
    const Node& n = *codes->node;
    return scale->node == &n && zero->node == &n && n.output(0) == in_.node().input(input.codes) &&
           n.output(1) == in_.node().input(input.scale) &&
           n.output(2) == in_.node().input(input.zero_point);
  }

  /// Codes that become floats: the made node must have a plan.
  Status check_constant(MadeNode& d, const FloatInput& input) {
    DEQUANT_TRY(const auto scale, in_.constant(input.scale));
    if (!scale) return {};
    const auto scales = element_count(scale->type().shape);
    if (input.scales_of_output && !scale->type().shape.empty())
      return take_scales_of_output(d, input, *scale);
    if (!scales || *scales != 1) {
      if (!input.axis) {
        in_.refuse(
            fmt::format("{}: several scales where one is allowed", escaped(in_.name(input.scale))));
        return {};
      }
      d.attributes = {int_attribute(in_.model().store, "axis", axis_of(input))};
      if (opset() < kFirstPerAxis) d.domain = "com.microsoft";
    }
    Node& probe = rewire_.unattached(d, in_.node());
    DEQUANT_TRY(Decision decision, constants_.consider(in_.graph(), probe));
    if (!decision.dequantization) in_.refuse(std::move(decision.reason));
    return {};
  }

  /// Gives a node the scales of a Conv's output channels, as a Constant with one axis at most.
  Status take_scales_of_output(MadeNode& d, const FloatInput& input, const Constant& scale) {
    DEQUANT_TRY(const auto codes, in_.constant(input.codes));
    if (!codes) return {};
    DEQUANT_TRY(const std::vector<float> scales, read_scales_of_output(in_, input, *codes, scale));
    if (!in_.reason().empty()) return {};
    const Shape channels = codes->type().shape.first(1);
    DEQUANT_TRY(const bool zero,
                needs_zero_point(in_, input.zero_point, scales.size() == 1 ? Shape() : channels));
    if (!zero) d.inputs.resize(2);
    nodes_.push_back(scales_of(input, scales));
    d.inputs[1] = nodes_.back().outputs[0];
    if (scales.size() == 1) return {};
    d.attributes = {int_attribute(in_.model().store, "axis", *input.axis)};
    if (opset() < kFirstPerAxis) d.domain = "com.microsoft";
    return {};
  }

  /// The axis of several scales; -1 and -2 change places where the matrix is transposed.
  int64_t axis_of(const FloatInput& input) {
    const bool transposed = !input.transposed.empty() && in_.integer(input.transposed, 0) != 0;
    return transposed ? -3 - *input.axis : *input.axis;
  }

  /// int32 codes, whose scales are products of two others.
  Result<std::string> take_bias(const FloatInput& input) {
    DEQUANT_TRY(const auto codes, in_.constant(input.codes));
    DEQUANT_TRY(const auto one, in_.constant(input.scale));
    DEQUANT_TRY(const auto other, in_.constant(input.other_scale));
    if (!in_.reason().empty()) return std::string();
    DEQUANT_TRY(const TensorData a, in_.data(*one));
    DEQUANT_TRY(const TensorData b, in_.data(*other));
    const TensorType type = codes->type();
    if (type.element != Element::int32 || a.element != Element::float32 ||
        b.element != Element::float32) {
      in_.refuse(fmt::format("{}: {}{} is no bias of int32 with scales of float32",
                             escaped(in_.name(input.codes)), name(type.element),
                             text_of(type.shape)));
      return std::string();
    }
    const float factor = input.factor.empty() ? 1 : in_.real(input.factor, 1.0F);
    const std::vector<float> scales = products(a, b, factor);
    const int64_t last = type.shape.empty() ? 1 : type.shape.back();
    if (scales.size() != 1 && static_cast<int64_t>(scales.size()) != last) {
      in_.refuse(fmt::format("{}: {} scales for the shape {}", escaped(in_.name(input.codes)),
                             scales.size(), text_of(type.shape)));
      return std::string();
    }
    MadeNode constant = scales_of(input, scales);
    MadeNode d = dequantize(input.codes, constant.outputs[0], true);
    if (scales.size() > 1) {
      d.attributes = {int_attribute(in_.model().store, "axis", -1)};
      if (opset() < kFirstPerAxis) d.domain = "com.microsoft";
    }
    nodes_.push_back(std::move(constant));
    nodes_.push_back(d);
    return d.outputs[0];
  }

  /// The products of a factor, one number and each of others, rounded to float32 in this order.
  static std::vector<float> products(const TensorData& a, const TensorData& b, float factor) {
    const auto floats = [](const TensorData& data) {
      std::vector<float> out(data.bytes.size() / sizeof(float));
      std::memcpy(out.data(), data.bytes.data(), out.size() * sizeof(float));
      return out;
    };
    std::vector<float> x = floats(a);
    std::vector<float> y = floats(b);
    if (x.size() != 1) x.swap(y);
    if (x.size() != 1) return {};
    for (float& s : y) s *= factor * x[0];
    return y;
  }

  /// Adds the float operator, and what quantizes its output.
  Status put(MadeNode made) {
    const std::string y = in_.node().output(0).str();
    const bool quantizes = op_.output && (!op_.output->optional || in_.has(op_.output->scale));
    for (const Name& output : in_.node().outputs) made.outputs.push_back(output.text.str());
    if (quantizes) made.outputs = {rewire_.fresh_name(y + "_float")};
    if (op_.plus > 0 && in_.has(op_.plus)) {
      MadeNode sum{.op_type = "Add", .outputs = made.outputs, .name = label("Add")};
      made.outputs = {rewire_.fresh_name(y + "_product")};
      sum.inputs = {made.outputs[0], in_.name(op_.plus)};
      nodes_.push_back(std::exchange(made, std::move(sum)));
    }
    nodes_.push_back(made);
    if (!quantizes) return {};
    if (!in_.has(op_.output->zero_point)) {
      // A QuantizeLinear without one writes uint8, the operator maybe int8.
      in_.refuse("its output has no zero point, which would have the type of the output");
      return {};
    }
    DEQUANT_CHECK(check_pair(in_, op_.output->scale, op_.output->zero_point));
    MadeNode q{
        .op_type = "QuantizeLinear",
        .inputs = {made.outputs[0], in_.name(op_.output->scale), in_.name(op_.output->zero_point)},
        .outputs = {y},
        .name = label("QuantizeLinear")};
    nodes_.push_back(std::move(q));
    return {};
  }

  const ArithmeticOperator& op_;
  Operands& in_;
  Constants& constants_;
  Rewire& rewire_;
  Node& place_;
  std::vector<MadeNode> nodes_;
};

}  // namespace

const ArithmeticOperator* arithmetic_operator(const Node& node) {
  for (const auto& table : {linear_operators(), attention_operators()}) {
    for (const ArithmeticOperator& op : table) {
      if (node.op_type() == op.type && standard(node.domain()) == op.domain) return &op;
    }
  }
  return nullptr;
}

bool any_of_codes(const ArithmeticOperator& op, const Node& node,
                  const std::function<bool(Text)>& wanted) {
  for (const FloatInput& input : op.inputs) {
    const size_t repeat = step_of(op, input);
    const size_t step = repeat > 0 ? repeat : node.inputs.size() + 1;
    for (size_t i = input.codes; i < node.inputs.size(); i += step) {
      if (input.kind != FloatInput::Kind::same && wanted(node.input(i))) return true;
    }
  }
  return false;
}

bool is_parameter(const Node& node, size_t input) {
  const ArithmeticOperator* op = arithmetic_operator(node);
  if (op == nullptr) return false;
  if (op->output && (input == op->output->scale || input == op->output->zero_point)) return true;
  return std::any_of(op->inputs.begin(), op->inputs.end(), [&](const FloatInput& i) {
    const size_t step = step_of(*op, i);
    const auto is = [&](size_t first) {
      return input == first || (step > 0 && input > first && (input - first) % step == 0);
    };
    return i.kind != FloatInput::Kind::same && (is(i.scale) || is(i.zero_point));
  });
}

Result<std::vector<Node*>> expand(const ArithmeticOperator& op, Operands& in, Constants& constants,
                                  Rewire& rewire, Node* place) {
  return Expander(op, in, constants, rewire, place == nullptr ? in.node() : *place).run();
}

}  // namespace dequant::format::onnx

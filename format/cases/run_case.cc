// A case becomes a node, the node a plan, the plan a tensor to judge.
#include "format/cases/run_case.h"

#include <algorithm>
#include <charconv>

#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "format/io/codes.h"
#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// The node said no, which is what some cases ask for; other errors are not the node's.
bool is_refusal(const Error& error) {
  return error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported;
}

Result<int64_t> version_number(const Case& c) {
  int64_t number = 0;
  const char* end = c.version.data() + c.version.size();
  const auto [stop, problem] = std::from_chars(c.version.data(), end, number);
  if (problem == std::errc() && stop == end) return number;
  return failure(ErrorCode::malformed, "version: \"{}\" is not a number", escaped(c.version));
}

Result<TensorType> tensor_type(std::string_view what, const CaseTensor& tensor) {
  const auto element = element_from_name(tensor.type);
  if (element) return TensorType{*element, tensor.shape};
  return failure(ErrorCode::malformed, "{}: type \"{}\" is not an element type of this dialect",
                 what, escaped(tensor.type));
}

/// The inputs by name, borrowed from the case.
struct Inputs {
  TensorType x;
  TensorType scale;
  std::optional<TensorType> zero_point;
};

Result<Inputs> find_inputs(const Case& c) {
  for (const auto& [name, tensor] : c.inputs) {
    if (name != "x" && name != "scale" && name != "zero_point") {
      return failure(ErrorCode::malformed, "inputs.{}: the dialect has x, scale and zero_point",
                     escaped(name));
    }
  }
  Inputs inputs;
  for (const auto& [name, type] : {std::pair{"x", &inputs.x}, std::pair{"scale", &inputs.scale}}) {
    const auto found = c.inputs.find(name);
    if (found == c.inputs.end())
      return failure(ErrorCode::malformed, "inputs: there is no {}", name);
    DEQUANT_TRY(*type, tensor_type(name, found->second));
  }
  if (const auto found = c.inputs.find("zero_point"); found != c.inputs.end()) {
    DEQUANT_TRY(inputs.zero_point, tensor_type("zero_point", found->second));
  }
  return inputs;
}

/// The attribute as the node takes it: integers, and output_dtype by the name of a type.
template <class Node>
Status set(Node& node, const std::string& name, const CaseAttribute& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* number = std::get_if<int64_t>(&value);
  Node copy = node;
  DEQUANT_CHECK(set_attribute(copy, name, 0));  // an unknown name is refused, whatever its value
  if (name != "output_dtype") {
    if (number == nullptr)
      return failure(ErrorCode::malformed, "attributes.{}: not an integer", name);
    return set_attribute(node, name, *number);
  }
  const auto element = text == nullptr ? std::nullopt : element_from_name(*text);
  if (!element)
    return failure(ErrorCode::malformed, "attributes.{}: not the name of an element type", name);
  return set_attribute(node, name, onnx_code(*element));
}

template <class Node>
Result<Plan> plan_of(const Case& c, Node node) {
  DEQUANT_TRY(const Inputs inputs, find_inputs(c));
  node.x = inputs.x;
  node.x_scale = inputs.scale;
  node.x_zero_point = inputs.zero_point;
  for (const auto& [name, value] : c.attributes) DEQUANT_CHECK(set(node, name, value));
  return dequantize_linear(node);
}

Result<Plan> plan_of(const Case& c) {
  DEQUANT_TRY(const int64_t version, version_number(c));
  if (c.dialect == "onnx") {
    onnx::DequantizeLinear node;
    node.opset = version;
    return plan_of(c, node);
  }
  microsoft::DequantizeLinear node;
  node.version = version;
  return plan_of(c, node);
}

Result<TensorData> materialize(std::string_view what, const CaseTensor& tensor) {
  const auto wrong = [&](Error error) {
    error.code = ErrorCode::malformed;
    return in(what, std::move(error));
  };
  auto type = tensor_type(what, tensor);
  if (!type) return std::move(type).error();
  const Element element = type->element;
  const auto count = element_count(tensor.shape);
  if (!count) return wrong(count.error());
  if (*count != static_cast<int64_t>(tensor.bits.size())) {
    return failure(ErrorCode::malformed, "{}: {} codes for the {} elements of {}", what,
                   tensor.bits.size(), *count, describe_index(tensor.shape));
  }
  const auto size = packed_bytes(element, *count);
  if (!size) return wrong(size.error());
  TensorData data{element, tensor.shape, std::vector<std::byte>(static_cast<size_t>(*size))};
  for (size_t i = 0; i < tensor.bits.size(); ++i) {
    if ((tensor.bits[i] >> bits(element)) != 0) {
      return failure(ErrorCode::malformed, "{}: bits[{}]: {} is no code of {}", what, i,
                     tensor.bits[i], name(element));
    }
    store_code(element, data.bytes, static_cast<int64_t>(i), static_cast<uint32_t>(tensor.bits[i]));
  }
  return data;
}

/// A node that was said no to, where that may be what the case wants.
Outcome refused(const Case& c, const Error& error) {
  return {c.name,
          c.expect ? Verdict::failed : Verdict::passed,
          fmt::format("refused: {}", error.message),
          {}};
}

/// Runs the plan on the inputs of the case and judges its output.
Result<Outcome> run_plan(const Case& c, const Plan& plan) {
  DEQUANT_TRY(const TensorData x, materialize("x", c.inputs.at("x")));
  DEQUANT_TRY(const TensorData scale, materialize("scale", c.inputs.at("scale")));
  TensorData zero;
  if (plan.has_zero_point) {
    DEQUANT_TRY(zero, materialize("zero_point", c.inputs.at("zero_point")));
  }
  DEQUANT_TRY(const int64_t size, packed_bytes(plan.output, element_count(plan)));
  // What is not written shows, and so does what is written by a run that fails.
  constexpr std::byte kUnwritten{0xA5};
  TensorData y{plan.output, x.shape, std::vector<std::byte>(static_cast<size_t>(size), kUnwritten)};
  if (Status done = run(plan, {x.bytes, scale.bytes, zero.bytes, y.bytes}); !done) {
    if (!is_refusal(done.error())) return std::move(done).error();
    const auto unwritten =
        static_cast<size_t>(std::count(y.bytes.begin(), y.bytes.end(), kUnwritten));
    if (unwritten == y.bytes.size()) return refused(c, done.error());
    return Outcome{c.name, Verdict::failed, "refused, but y was written to", {}};
  }
  if (!c.expect) return Outcome{c.name, Verdict::failed, "not refused: y was computed", {}};
  DEQUANT_TRY(const TensorData expected, materialize("expect.y", *c.expect));
  Outcome outcome = judge("y", y, expected, {c.ulp, c.ignore_zero_sign});
  outcome.name = c.name;
  return outcome;
}

}  // namespace

Result<Outcome> run_case(const Case& c) {
  if (c.dialect != "onnx" && c.dialect != "microsoft") {
    return Outcome{
        c.name, Verdict::skipped, fmt::format("dialect {} is not in this version", c.dialect), {}};
  }
  auto plan = plan_of(c);
  if (plan) return run_plan(c, *plan);
  if (is_refusal(plan.error())) return refused(c, plan.error());
  return std::move(plan).error();
}

}  // namespace dequant::format

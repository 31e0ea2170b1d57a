// The inputs and attributes of a quantized operator.
#include "format/onnx/operators/operands.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/constant_reader.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMostOperand = int64_t{64} << 20;

}  // namespace

Result<std::optional<Constant>> Operands::constant(size_t input) {
  std::optional<Constant> none;
  if (!has(input)) {
    refuse(fmt::format("input {} is missing", input));
    return none;
  }
  DEQUANT_TRY(Resolved r, constants_.resolve(graph_, node_.input(input)));
  if (!r.constant) {
    refuse(std::move(r.reason));
    return none;
  }
  if (!r.constant->readable()) {
    refuse(fmt::format("{} has data type {}, which dequant does not read",
                       escaped(node_.input(input)), r.constant->data_type()));
    return none;
  }
  DEQUANT_TRY(const auto reader, open_constant(model_, files_, *r.constant, kMostOperand));
  return std::move(r.constant);
}

Result<TensorData> Operands::data(const Constant& constant) const {
  return read_constant(model_, files_, constant, kMostOperand);
}

int64_t Operands::integer(std::string_view name, std::optional<int64_t> otherwise) {
  const Attribute* a = attribute(name, AttributeType::int_, otherwise.has_value());
  return a == nullptr ? otherwise.value_or(0) : a->i;
}

float Operands::real(std::string_view name, std::optional<float> otherwise) {
  const Attribute* a = attribute(name, AttributeType::float_, otherwise.has_value());
  if (a == nullptr) return otherwise.value_or(0);
  return a->floats.empty() ? 0 : a->floats[0];  // protobuf leaves out a zero
}

void Operands::need_opset(std::string_view type, int64_t since) {
  const int64_t opset = graph_.opsets.onnx.value_or(0);
  if (opset < since)
    refuse(fmt::format("its {} needs opset {}; the model imports {}", type, since, opset));
}

const Attribute* Operands::attribute(std::string_view name, AttributeType type, bool otherwise) {
  const Attribute* a = node_.attribute(name);
  if (a == nullptr) {
    if (!otherwise) refuse(fmt::format("it has no attribute {}", name));
    return nullptr;
  }
  if (!a->reference.empty()) refuse(fmt::format("{} is an attribute of its function", name));
  if (a->type == static_cast<int32_t>(type) || a->type == 0) return a;
  refuse(fmt::format("{} is not {}", name, type == AttributeType::int_ ? "an integer" : "a float"));
  return nullptr;
}

std::string text_of(Shape shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool same_shape(Shape a, Shape b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace dequant::format::onnx

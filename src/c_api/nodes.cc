// Converting nodes of C to nodes of C++, and planning these.
#include <optional>
#include <span>
#include <vector>

#include "c_api/boundary.h"
#include "c_api/element.h"
#include "c_api/plan.h"
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/tensorflow.h"
#include "dequant/webnn.h"

namespace dequant::c_api {
namespace {

/// Dimensions of a shape that are read at most; no dialect allows so many.
constexpr uint32_t kMaxRank = 64;

Result<TensorType> tensor_of(std::string_view name, const dequant_tensor& tensor) {
  const auto element = to_element(tensor.element);
  if (!element) {
    return invalid(name, ": ", number_of(tensor.element), " is the number of no element");
  }
  if (tensor.rank > kMaxRank) {
    return Error{ErrorCode::limit, concat(name, ": rank ", tensor.rank, " is above ", kMaxRank)};
  }
  if (tensor.rank > 0 && tensor.shape == nullptr) {
    return invalid(name, ": shape is null, but rank is ", tensor.rank);
  }
  return TensorType{*element, Shape(tensor.shape, tensor.rank)};
}

/// Tensors and options of a scheme that are read at most; no scheme has so many.
constexpr size_t kMostOfAScheme = 64;

/// A list of a scheme node: `count` entries from `first` on.
template <class Entry>
Result<std::span<const Entry>> list_of(std::string_view name, const Entry* first, size_t count) {
  if (count > kMostOfAScheme)
    return Error{ErrorCode::limit,
                 concat(name, ": ", count, " entries, more than ", kMostOfAScheme)};
  if (count > 0 && first == nullptr) return invalid(name, ": null, with ", count, " entries");
  return std::span<const Entry>(first, count);
}

Result<std::string_view> text_of(std::string_view name, const char* text) {
  if (text == nullptr) return invalid(name, ": null");
  return std::string_view(text);
}

Result<std::optional<TensorType>> optional_tensor_of(std::string_view name,
                                                     const dequant_tensor& tensor) {
  if (number_of(tensor.element) == DEQUANT_NO_ELEMENT) {
    if (tensor.rank == 0 && tensor.shape == nullptr) return std::optional<TensorType>{};
    return invalid(name, ": has a shape but no element; an absent tensor has neither");
  }
  DEQUANT_TRY(const TensorType type, tensor_of(name, tensor));
  return std::optional(type);
}

std::optional<int64_t> optional_of(const int64_t* value) {
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

/// The number of a field as an enumerator of C++, whose enumerators run from 0 to `last` as in C.
template <class Enum, class Field>
Result<Enum> enumerator(std::string_view name, const Field& field, Enum last) {
  const int32_t number = number_of(field);
  if (number >= 0 && number <= static_cast<int32_t>(last)) return static_cast<Enum>(number);
  return invalid(name, ": ", number, " is none of 0 to ", static_cast<int32_t>(last));
}

using tensorflow::Mode;
using tensorflow::Semantics;
static_assert(static_cast<int>(Mode::min_combined) == DEQUANT_MIN_COMBINED);
static_assert(static_cast<int>(Mode::min_first) == DEQUANT_MIN_FIRST);
static_assert(static_cast<int>(Mode::scaled) == DEQUANT_SCALED);
static_assert(static_cast<int>(Semantics::kernel) == DEQUANT_KERNEL);
static_assert(static_cast<int>(Semantics::documented) == DEQUANT_DOCUMENTED);

Result<tensorflow::Version> version_of(const dequant_tensorflow_version& field) {
  const int32_t number = number_of(field);
  if (number == DEQUANT_TENSORFLOW_2) return tensorflow::Version::r2;
  if (number == DEQUANT_TENSORFLOW_R1_4) return tensorflow::Version::r1_4;
  return invalid("version: ", number, " is none of 0 to 1");
}

Result<tensorflow::Axis> axis_of(const dequant_tensorflow& node) {
  if (node.raw_axis != nullptr && node.python_axis != nullptr) {
    return invalid("raw_axis: ", *node.raw_axis, " is given, and python_axis ", *node.python_axis,
                   " too; an axis has one of the two readings");
  }
  if (node.raw_axis != nullptr) return tensorflow::Axis{tensorflow::RawAxis{*node.raw_axis}};
  return tensorflow::Axis{tensorflow::PythonAxis{optional_of(node.python_axis)}};
}

Result<Plan> plan_of(const dequant_onnx& c) {
  onnx::DequantizeLinear node;
  node.opset = c.opset;
  DEQUANT_TRY(node.x, tensor_of("x", c.x));
  DEQUANT_TRY(node.x_scale, tensor_of("x_scale", c.x_scale));
  DEQUANT_TRY(node.x_zero_point, optional_tensor_of("x_zero_point", c.x_zero_point));
  node.axis = optional_of(c.axis);
  node.block_size = optional_of(c.block_size);
  node.output_dtype = optional_of(c.output_dtype);
  return onnx::dequantize_linear(node);
}

Result<Plan> plan_of(const dequant_microsoft& c) {
  microsoft::DequantizeLinear node;
  node.version = c.version;
  DEQUANT_TRY(node.x, tensor_of("x", c.x));
  DEQUANT_TRY(node.x_scale, tensor_of("x_scale", c.x_scale));
  DEQUANT_TRY(node.x_zero_point, optional_tensor_of("x_zero_point", c.x_zero_point));
  node.axis = optional_of(c.axis);
  return microsoft::dequantize_linear(node);
}

Result<Plan> plan_of(const dequant_tensorflow& c) {
  tensorflow::Dequantize node;
  DEQUANT_TRY(node.version, version_of(c.version));
  DEQUANT_TRY(node.input, tensor_of("input", c.input));
  DEQUANT_TRY(node.min_range, tensor_of("min_range", c.min_range));
  DEQUANT_TRY(node.max_range, tensor_of("max_range", c.max_range));
  DEQUANT_TRY(node.mode, enumerator("mode", c.mode, Mode::scaled));
  if (c.narrow_range != 0 && c.narrow_range != 1) {
    return invalid("narrow_range: ", c.narrow_range, " is neither 0 nor 1");
  }
  node.narrow_range = c.narrow_range == 1;
  DEQUANT_TRY(node.axis, axis_of(c));
  if (number_of(c.dtype) != DEQUANT_NO_ELEMENT) {
    const auto dtype = to_element(c.dtype);
    if (!dtype) return invalid("dtype: ", number_of(c.dtype), " is the number of no element");
    node.dtype = *dtype;
  }
  DEQUANT_TRY(node.semantics, enumerator("semantics", c.semantics, Semantics::documented));
  return tensorflow::dequantize(node);
}

Result<Plan> plan_of(const dequant_webnn& c) {
  webnn::DequantizeLinear node;
  DEQUANT_TRY(node.input, tensor_of("input", c.input));
  DEQUANT_TRY(node.scale, tensor_of("scale", c.scale));
  DEQUANT_TRY(node.zero_point, tensor_of("zero_point", c.zero_point));
  return webnn::dequantize_linear(node);
}

Result<SchemeNodePlan> plan_of(const dequant_scheme& c) {
  DEQUANT_TRY(const std::string_view scheme, text_of("name", c.name));
  DEQUANT_TRY(const auto tensors, list_of("tensors", c.tensors, c.tensor_count));
  DEQUANT_TRY(const auto options, list_of("options", c.options, c.option_count));
  std::vector<SchemeTensor> types;
  for (const dequant_scheme_tensor& tensor : tensors) {
    DEQUANT_TRY(const std::string_view name, text_of("name of a tensor", tensor.name));
    DEQUANT_TRY(const TensorType type, tensor_of(name, tensor.type));
    types.push_back({name, type});
  }
  std::vector<SchemeOption> settings;
  for (const dequant_scheme_option& option : options) {
    DEQUANT_TRY(const std::string_view name, text_of("name of an option", option.name));
    DEQUANT_TRY(const std::string_view value, text_of(name, option.value));
    settings.push_back({name, value});
  }
  const auto output = to_element(c.output);
  if (!output) return invalid("output: ", number_of(c.output), " is the number of no element");
  DEQUANT_TRY(SchemePlan dense, plan_scheme({scheme, types, settings, *output}));
  return SchemeNodePlan{std::move(dense), tensors.size()};
}

/// `name` is the name of the struct.
template <class Node>
dequant_code plan_node(std::string_view name, const Node* node, dequant_plan** plan,
                       dequant_error* error) {
  if (plan != nullptr) *plan = nullptr;
  return guarded(error, [&]() -> Status {
    if (plan == nullptr) return invalid("plan: null, where the plan is to go");
    DEQUANT_CHECK(check_struct(name, node));
    DEQUANT_TRY(auto made, plan_of(*node));
    return give(std::move(made), plan);
  });
}

}  // namespace
}  // namespace dequant::c_api

using dequant::c_api::plan_node;

dequant_code dequant_plan_onnx(const dequant_onnx* node, dequant_plan** plan,
                               dequant_error* error) {
  return plan_node("dequant_onnx", node, plan, error);
}

dequant_code dequant_plan_microsoft(const dequant_microsoft* node, dequant_plan** plan,
                                    dequant_error* error) {
  return plan_node("dequant_microsoft", node, plan, error);
}

dequant_code dequant_plan_tensorflow(const dequant_tensorflow* node, dequant_plan** plan,
                                     dequant_error* error) {
  return plan_node("dequant_tensorflow", node, plan, error);
}

dequant_code dequant_plan_webnn(const dequant_webnn* node, dequant_plan** plan,
                                dequant_error* error) {
  return plan_node("dequant_webnn", node, plan, error);
}

dequant_code dequant_plan_scheme(const dequant_scheme* node, dequant_plan** plan,
                                 dequant_error* error) {
  return plan_node("dequant_scheme", node, plan, error);
}

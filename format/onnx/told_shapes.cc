// The shapes of values, as far as a model tells them.
#include "format/onnx/told_shapes.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/fields.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of memory for an entry of the index of values.
constexpr int64_t kEntryMemory = 64;

/// The size of a TensorShapeProto.Dimension.
Result<int64_t> read_size(Source& source, Span dimension) {
  int64_t size = kUnknownSize;
  DEQUANT_CHECK(
      for_each_field(source, Message::dimension, dimension, [&](const Field& f) -> Status {
        if (f.number == field::dimension::dim_param) size = kUnknownSize;
        if (f.number == field::dimension::dim_value)
          size = std::max(static_cast<int64_t>(f.value), kUnknownSize);
        return {};
      }));
  return size;
}

}  // namespace

Result<std::optional<Sizes>> ToldShapes::of(const Graph& graph, std::string_view name) {
  const Definition* d = scopes_.find(graph, name);
  if (d == nullptr) return std::optional<Sizes>();
  if (const Initializer* i = d->initializer(); i != nullptr)
    return std::optional(Sizes(i->tensor.dims.begin(), i->tensor.dims.end()));
  DEQUANT_TRY(const Values* values, values_of(*d->graph));
  const auto found = values->find(name);
  if (found == values->end()) return std::optional<Sizes>();
  return told_shape(model_, *found->second);
}

/// The values of a graph by their names, so that many values are found in linear time.
Result<const ToldShapes::Values*> ToldShapes::values_of(const Graph& graph) {
  const auto [entry, is_new] = values_.try_emplace(&graph);
  Values& values = entry->second;
  if (!is_new) return &values;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const Value& v : *list) {
      DEQUANT_CHECK(model_.take(kEntryMemory));
      values.try_emplace(v.name, &v);
    }
  }
  return &values;
}

Result<std::optional<Sizes>> told_shape(const Model& model, const Value& value) {
  Source source = model.source.window(value.whole);
  std::optional<Sizes> sizes;
  const auto shape = [&](const Field& f) -> Status {
    if (f.number != field::shape::dim || sizes->size() > kMostDimensions) return {};
    DEQUANT_TRY(const int64_t size, read_size(source, f.payload));
    sizes->push_back(size);
    return {};
  };
  const auto tensor = [&](const Field& f) -> Status {
    if (f.number != field::tensor_type::shape) return {};
    if (!sizes) sizes.emplace();
    return for_each_field(source, Message::shape, f.payload, shape);
  };
  const auto type = [&](const Field& f) -> Status {
    if (f.number != field::type::tensor_type) return {};
    return for_each_field(source, Message::tensor_type, f.payload, tensor);
  };
  const auto info = [&](const Field& f) -> Status {
    if (f.number != field::value::type) return {};
    return for_each_field(source, Message::type, f.payload, type);
  };
  Cursor outer(source, value.whole);
  Field whole;
  DEQUANT_TRY(const bool found, outer.next(whole));
  if (!found) return sizes;
  DEQUANT_CHECK(for_each_field(source, Message::value, whole.payload, info));
  if (sizes && sizes->size() > kMostDimensions) sizes.reset();
  return sizes;
}

}  // namespace dequant::format::onnx

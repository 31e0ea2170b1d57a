// Nodes that replace a node of the model.
#include "format/onnx/made_node.h"

#include "format/onnx/encode.h"
#include "format/onnx/wire.h"

namespace dequant::format::onnx {

MadeAttribute int_attribute(Store& store, std::string_view name, int64_t value) {
  Attribute read;
  read.name = store.text(name);
  read.i = value;
  read.type = static_cast<int32_t>(AttributeType::int_);
  return {read, int_attribute(name, value)};
}

MadeAttribute floats_attribute(Store& store, std::string_view name, std::span<const float> values) {
  Attribute read;
  read.name = store.text(name);
  read.floats = store.array(values);
  read.type = static_cast<int32_t>(AttributeType::floats);
  return {read, floats_attribute(name, values)};
}

MadeAttribute ints_attribute(Store& store, std::string_view name, std::span<const int64_t> values) {
  Attribute read;  // the structure in memory has no lists of integers
  read.name = store.text(name);
  read.type = static_cast<int32_t>(AttributeType::ints);
  return {read, ints_attribute(name, values)};
}

Result<std::optional<MadeAttribute>> carried_attribute(Model& model, const Node& node,
                                                       std::string_view name) {
  const std::optional<MadeAttribute> none;
  Cursor cursor(model.source, model.frame(node.frame).payload());
  size_t at = 0;  // attributes are in the order of their fields
  for (Field field;;) {
    DEQUANT_TRY(const bool more, cursor.next(field));
    if (!more) return none;
    if (field.number != field::node::attribute || field.wire != Wire::bytes) continue;
    if (at == node.attributes.size()) break;
    const Attribute& read = node.attributes[at++];
    if (read.name == name) return std::optional(MadeAttribute{read, field.whole});
  }
  return Error{ErrorCode::malformed, "the model changed while being read"};
}

}  // namespace dequant::format::onnx

// New protobuf messages: tensors and nodes that take the place of others.
#include "format/onnx/encode.h"

#include <iterator>
#include <protozero/buffer_string.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "format/onnx/model.h"

namespace dequant::format::onnx {
namespace {

protozero::data_view view(std::string_view text) { return {text.data(), text.size()}; }

std::string head(uint32_t number, int64_t length) {
  std::string out;
  protozero::add_varint_to_buffer(&out, uint64_t{number} << 3 | 2);
  protozero::add_varint_to_buffer(&out, static_cast<uint64_t>(length));
  return out;
}

/// dims, data_type and name of a TensorProto.
std::string tensor_head(std::string_view name, TensorType type) {
  std::string out;
  protozero::pbf_writer tensor(out);
  for (const int64_t d : type.shape) tensor.add_int64(1, d);
  tensor.add_int32(2, onnx_code(type.element));
  tensor.add_string(8, view(name));
  return out;
}

}  // namespace

Pieces field_of(uint32_t number, Pieces message) {
  Pieces out;
  out.emplace_back(head(number, size_of(message)));
  out.insert(out.end(), std::make_move_iterator(message.begin()),
             std::make_move_iterator(message.end()));
  return out;
}

std::string text_field(uint32_t number, std::string_view text) {
  std::string out;
  protozero::pbf_writer(out).add_string(number, view(text));
  return out;
}

Pieces computed_tensor(std::string_view name, TensorType type, Computed data) {
  return {tensor_head(name, type) + head(static_cast<uint32_t>(DataField::raw_data), data.bytes),
          data};
}

std::string external_fields(const Place& place) {
  std::string out;
  protozero::pbf_writer tensor(out);
  const auto entry = [&](std::string_view key, const std::string& value) {
    protozero::pbf_writer e(tensor, 13);
    e.add_string(1, view(key));
    e.add_string(2, value);
  };
  entry("location", place.location);
  entry("offset", std::to_string(place.offset));
  entry("length", std::to_string(place.length));
  return out;
}

Pieces external_tensor(std::string_view name, TensorType type, const Place& place) {
  std::string out = tensor_head(name, type) + external_fields(place);
  protozero::pbf_writer(out).add_enum(14, 1);
  return {std::move(out)};
}

Pieces scalar_tensor(std::string_view name, Element element, std::span<const std::byte> code) {
  std::string out = tensor_head(name, {element, {}});
  protozero::pbf_writer(out).add_bytes(static_cast<uint32_t>(DataField::raw_data),
                                       reinterpret_cast<const char*>(code.data()), code.size());
  return {std::move(out)};
}

std::string node_message(std::string_view name, std::string_view op_type,
                         const std::vector<std::string_view>& inputs, std::string_view output) {
  std::string out;
  protozero::pbf_writer node(out);
  for (const std::string_view input : inputs) node.add_string(kNodeInput, view(input));
  node.add_string(2, view(output));
  if (!name.empty()) node.add_string(3, view(name));
  node.add_string(4, view(op_type));
  return out;
}

Pieces constant_node(std::string_view name, std::string_view output, Pieces tensor) {
  Pieces attribute{text_field(1, "value")};
  for (Piece& p : field_of(5, std::move(tensor))) attribute.push_back(std::move(p));
  std::string type;
  protozero::pbf_writer(type).add_enum(20, static_cast<int32_t>(AttributeType::tensor));
  attribute.emplace_back(std::move(type));

  Pieces node{node_message(name, "Constant", {}, output)};
  for (Piece& p : field_of(5, std::move(attribute))) node.push_back(std::move(p));
  return node;
}

std::string float_attribute(std::string_view name, float value) {
  std::string out;
  {
    protozero::pbf_writer node(out);
    protozero::pbf_writer attribute(node, 5);
    attribute.add_string(1, view(name));
    attribute.add_float(2, value);
    attribute.add_enum(20, static_cast<int32_t>(AttributeType::float_));
  }
  return out;
}

}  // namespace dequant::format::onnx

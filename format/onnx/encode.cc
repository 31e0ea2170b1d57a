// Writing protobuf messages: new tensors and nodes.
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
  protozero::add_varint_to_buffer(&out, tag_of(number, Wire::bytes));
  protozero::add_varint_to_buffer(&out, static_cast<uint64_t>(length));
  return out;
}

/// dims, data_type and name of a TensorProto.
std::string tensor_head(std::string_view name, TensorType type) {
  std::string out;
  protozero::pbf_writer tensor(out);
  for (const int64_t d : type.shape) tensor.add_int64(field::tensor::dims, d);
  tensor.add_int32(field::tensor::data_type, onnx_code(type.element));
  tensor.add_string(field::tensor::name, view(name));
  return out;
}

/// An attribute whose value `add` writes, as a field of NodeProto.
template <class Add>
std::string attribute(std::string_view name, AttributeType type, Add&& add) {
  std::string out;
  {
    protozero::pbf_writer node(out);
    protozero::pbf_writer message(node, field::node::attribute);
    message.add_string(field::attribute::name, view(name));
    add(message);
    message.add_enum(field::attribute::type, static_cast<int32_t>(type));
  }
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
  return {tensor_head(name, type) + head(field::tensor::raw_data, data.bytes), data};
}

Pieces raw_data_field(Beside data) { return {head(field::tensor::raw_data, data.bytes), data}; }

std::string external_fields(const ExternalRange& range) {
  std::string out;
  protozero::pbf_writer tensor(out);
  const auto entry = [&](std::string_view key, const std::string& value) {
    protozero::pbf_writer e(tensor, field::tensor::external_data);
    e.add_string(field::entry::key, view(key));
    e.add_string(field::entry::value, value);
  };
  entry("location", range.location);
  entry("offset", std::to_string(range.offset));
  entry("length", std::to_string(range.length));
  return out;
}

Pieces external_tensor(std::string_view name, TensorType type, const ExternalRange& range) {
  std::string out = tensor_head(name, type) + external_fields(range);
  protozero::pbf_writer(out).add_enum(field::tensor::data_location,
                                      static_cast<int32_t>(DataLocation::external));
  return {std::move(out)};
}

Pieces scalar_tensor(std::string_view name, Element element, std::span<const std::byte> code) {
  std::string out = tensor_head(name, {element, {}});
  protozero::pbf_writer(out).add_bytes(field::tensor::raw_data,
                                       reinterpret_cast<const char*>(code.data()), code.size());
  return {std::move(out)};
}

std::string node_message(std::string_view name, std::string_view op_type,
                         const std::vector<std::string_view>& inputs, std::string_view output) {
  std::string out;
  protozero::pbf_writer node(out);
  for (const std::string_view input : inputs) node.add_string(field::node::input, view(input));
  node.add_string(field::node::output, view(output));
  if (!name.empty()) node.add_string(field::node::name, view(name));
  node.add_string(field::node::op_type, view(op_type));
  return out;
}

Pieces constant_node(std::string_view name, std::string_view output, Pieces tensor) {
  Pieces attribute{text_field(field::attribute::name, "value")};
  for (Piece& p : field_of(field::attribute::t, std::move(tensor)))
    attribute.push_back(std::move(p));
  std::string type;
  protozero::pbf_writer(type).add_enum(field::attribute::type,
                                       static_cast<int32_t>(AttributeType::tensor));
  attribute.emplace_back(std::move(type));

  Pieces node{node_message(name, "Constant", {}, output)};
  for (Piece& p : field_of(field::node::attribute, std::move(attribute)))
    node.push_back(std::move(p));
  return node;
}

std::string cast_node(std::string_view name, std::string_view input, std::string_view output,
                      Element to) {
  return node_message(name, "Cast", {input}, output) + int_attribute("to", onnx_code(to));
}

std::string int_attribute(std::string_view name, int64_t value) {
  return attribute(name, AttributeType::int_,
                   [&](protozero::pbf_writer& a) { a.add_int64(field::attribute::i, value); });
}

std::string float_attribute(std::string_view name, float value) {
  return attribute(name, AttributeType::float_,
                   [&](protozero::pbf_writer& a) { a.add_float(field::attribute::f, value); });
}

std::string ints_attribute(std::string_view name, std::span<const int64_t> values) {
  return attribute(name, AttributeType::ints, [&](protozero::pbf_writer& a) {
    for (const int64_t value : values) a.add_int64(field::attribute::ints, value);
  });
}

std::string floats_attribute(std::string_view name, std::span<const float> values) {
  return attribute(name, AttributeType::floats, [&](protozero::pbf_writer& a) {
    for (const float value : values) a.add_float(field::attribute::floats, value);
  });
}

}  // namespace dequant::format::onnx

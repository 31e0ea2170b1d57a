// Writing protobuf messages: new tensors and nodes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/tensor.h"
#include "format/onnx/edit.h"

namespace dequant::format::onnx {

/// The location of a tensor's data in the data file of the output.
struct ExternalRange {
  std::string location;
  int64_t offset = 0;
  int64_t length = 0;
};

/// A field with a message: its tag and length, then `message`.
Pieces field_of(uint32_t number, Pieces message);

/// A field with a string.
std::string text_field(uint32_t number, std::string_view text);

/// A TensorProto whose raw data is computed while it is written.
Pieces computed_tensor(std::string_view name, TensorType type, Computed data);

/// The field raw_data of a TensorProto.
Pieces raw_data_field(Beside data);

/// A TensorProto whose data is in the data file.
Pieces external_tensor(std::string_view name, TensorType type, const ExternalRange& range);

/// A TensorProto of one number, without dimensions; `code` has its bytes.
Pieces scalar_tensor(std::string_view name, Element element, std::span<const std::byte> code);

/// The external_data fields of a TensorProto.
std::string external_fields(const ExternalRange& range);

/// A NodeProto of the ai.onnx domain, without attributes.
std::string node_message(std::string_view name, std::string_view op_type,
                         const std::vector<std::string_view>& inputs, std::string_view output);

/// A Constant node with a TensorProto as its value.
Pieces constant_node(std::string_view name, std::string_view output, Pieces tensor);

/// A Cast node of the ai.onnx domain, of opset 6 or newer.
std::string cast_node(std::string_view name, std::string_view input, std::string_view output,
                      Element to);

/// An integer attribute, as a field of NodeProto.
std::string int_attribute(std::string_view name, int64_t value);

/// A float attribute, as a field of NodeProto.
std::string float_attribute(std::string_view name, float value);

/// An attribute that lists integers, as a field of NodeProto.
std::string ints_attribute(std::string_view name, std::span<const int64_t> values);

/// An attribute that lists floats, as a field of NodeProto.
std::string floats_attribute(std::string_view name, std::span<const float> values);

}  // namespace dequant::format::onnx

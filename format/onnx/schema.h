// The message types of ONNX and the types of their fields, as protobuf's parser has them.
#pragma once

#include <cstdint>

#include "format/onnx/wire.h"

namespace dequant::format::onnx {

/// A message type.
enum class Message : uint8_t {
  unknown,  ///< all its fields are unknown
  model,
  opset,
  graph,
  node,
  attribute,
  tensor,
  segment,
  entry,  ///< StringStringEntryProto
  sparse_tensor,
  type,
  tensor_type,  ///< TypeProto.Tensor and TypeProto.SparseTensor
  shape,
  dimension,
  sequence_type,  ///< TypeProto.Sequence and TypeProto.Optional
  map_type,
  opaque_type,
  value,
  annotation,
  training,
  function,
  configuration,
  node_configuration,
  sharding,
  device_group,
  sharded_dimension,
  simple_sharding,
  count
};

/// The type of a field.
enum class Content : uint8_t {
  unknown,
  varint,
  float_,
  bytes,    ///< strings too
  varints,  ///< repeated, packed or not
  floats,
  doubles,
  message
};

/// The type of a field, and of a message field the type of that message.
struct FieldRule {
  Content content = Content::unknown;
  Message message = Message::unknown;

  /// True if protobuf reads the field with this wire type. A field with a wrong wire type is an
  /// unknown field for protobuf.
  bool takes(Wire wire) const {
    switch (content) {
      case Content::unknown: return false;
      case Content::varint: return wire == Wire::varint;
      case Content::float_: return wire == Wire::fixed32;
      case Content::bytes:
      case Content::message: return wire == Wire::bytes;
      case Content::varints: return wire == Wire::varint || wire == Wire::bytes;
      case Content::floats: return wire == Wire::fixed32 || wire == Wire::bytes;
      case Content::doubles: return wire == Wire::fixed64 || wire == Wire::bytes;
    }
    return false;
  }
};

/// The type of a field by its number; Content::unknown for numbers that the message does not have.
FieldRule rule_of(Message message, uint32_t field);

}  // namespace dequant::format::onnx

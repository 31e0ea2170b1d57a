// The messages of ONNX and what their fields hold, as protobuf's parser sees them.
#pragma once

#include <cstdint>

#include "format/onnx/wire.h"

namespace dequant::format::onnx {

enum class Message : uint8_t {
  unknown,  ///< no field of it is known
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

enum class Content : uint8_t {
  unknown,
  varint,
  float_,
  bytes,    ///< texts too
  varints,  ///< repeated, packed or not
  floats,
  doubles,
  message
};

struct FieldRule {
  Content content = Content::unknown;
  Message message = Message::unknown;  ///< of a message which

  /// Protobuf takes a field of another wire type than its number should have for an unknown one.
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

/// The rule of a field of any number.
FieldRule rule_of(Message message, uint32_t field);

}  // namespace dequant::format::onnx

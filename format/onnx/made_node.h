// Nodes that replace a node of the model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/status.h"
#include "format/onnx/edit.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// An attribute of a made node.
struct MadeAttribute {
  Attribute read;  ///< as read_model() reads it
  Piece field;     ///< the field of NodeProto
};

/// A node to be made; names are those of values in its graph.
struct MadeNode {
  std::string_view op_type = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<MadeAttribute> attributes = {};
  std::string_view domain = {};
  std::string name = {};
};

/// An integer attribute.
MadeAttribute int_attribute(Store& store, std::string_view name, int64_t value);

/// A list of floats.
MadeAttribute floats_attribute(Store& store, std::string_view name, std::span<const float> values);

/// A list of integers.
MadeAttribute ints_attribute(Store& store, std::string_view name, std::span<const int64_t> values);

/// The attribute of a node of the file, as it stands there; nothing where the node has none of that
/// name. Fails with malformed or io.
Result<std::optional<MadeAttribute>> carried_attribute(Model& model, const Node& node,
                                                       std::string_view name);

}  // namespace dequant::format::onnx

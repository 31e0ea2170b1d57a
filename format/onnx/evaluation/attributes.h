// Lists and texts of attributes, which are not part of the structure in memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// The integers of an attribute (AttributeProto.ints), read from the file; nothing where the node
/// has no such attribute. Fails with malformed or io, and with limit for more than 4096.
Result<std::optional<std::vector<int64_t>>> read_ints(const Model& model, const Node& node,
                                                      std::string_view name);

/// The text of an attribute (AttributeProto.s), likewise.
Result<std::optional<std::string>> read_string(const Model& model, const Node& node,
                                               std::string_view name);

/// The integer of an attribute, or `otherwise`. Fails with invalid_argument for another type.
Result<int64_t> int_attribute(const Node& node, std::string_view name, int64_t otherwise);

}  // namespace dequant::format::onnx

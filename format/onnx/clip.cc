// Clip nodes that limit numbers to the range of a removed pair.
#include "format/onnx/clip.h"

#include "format/io/errors.h"
#include "format/onnx/encode.h"

namespace dequant::format::onnx {

std::string ClipWriter::put(Graph& graph, Node& node, const std::string& source,
                            const PairRange& range, Element type) {
  const std::string output = node.output(0).str();
  const auto low_value = static_cast<float>(range.low);
  const auto high_value = static_cast<float>(range.high);
  Pieces before;
  std::string message;
  std::vector<std::string> inputs{source};
  if (graph.opsets.onnx.value_or(0) < 11) {  // the limits are attributes, of float32 only
    message = node_message(node.name, "Clip", {}, output) + float_attribute("min", low_value) +
              float_attribute("max", high_value);
  } else {
    const std::string low = rewire_.fresh_name(output + "_min");
    const std::string high = rewire_.fresh_name(output + "_max");
    before = scalar(node, low, type, range.low_bytes);
    for (Piece& p : scalar(node, high, type, range.high_bytes)) before.push_back(std::move(p));
    inputs = {source, low, high};
    message = node_message(node.name, "Clip", {}, output);
  }
  rewire_.replace_node(graph, node, std::move(message), inputs, std::move(before));
  return fmt::format("Clip to [{}, {}]", low_value, high_value);
}

/// The field of a Constant node with one number, which is written before `node`.
Pieces ClipWriter::scalar(const Node& node, const std::string& name, Element element,
                          std::span<const std::byte> code) const {
  return field_of(rewire_.field_number(node),
                  constant_node("", name, scalar_tensor(name, element, code)));
}

}  // namespace dequant::format::onnx

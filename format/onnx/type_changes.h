// Changing the declared element types of values that were quantized.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "format/model/report.h"
#include "format/onnx/quantizer.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// True for an input, output or inner value whose element type can be changed.
inline bool can_set_type(const Value& value) { return value.elem_type_field.size() == 2; }

/// Changes types of values to float types.
class TypeChanges {
 public:
  TypeChanges(Rewire& rewire, QuantizerFacts& facts) : rewire_(rewire), facts_(facts) {}

  /// Changes the type of an input or output of the model, for which can_set_type() is true, and
  /// adds it to `changed`, with the parameters of the node, along `moved_axis` where that is given.
  /// Fails with malformed or io.
  Status change(const Graph& graph, const Node& node, Value& value, Element to,
                std::vector<ChangedValue>& changed, std::optional<int64_t> moved_axis = {});

  /// Notes the new type of a value.
  void set_later(const Graph& graph, std::string_view name, Element type) {
    later_.emplace(std::pair(&graph, name), type);
  }

  /// Sets the noted types in the model in memory, where it tells types. Must be called once.
  void apply();

  /// Enters them in the edit, without values whose nodes are gone. Must be called when no further
  /// nodes will be removed.
  void finish();

 private:
  void write(const Value& value);

  Rewire& rewire_;
  QuantizerFacts& facts_;
  std::map<std::pair<const Graph*, std::string_view>, Element> later_;
  std::vector<std::pair<const Graph*, const Value*>> applied_;
};

}  // namespace dequant::format::onnx

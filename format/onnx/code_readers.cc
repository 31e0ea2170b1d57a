// The nodes that read codes.
#include "format/onnx/code_readers.h"

#include "format/onnx/code_chain.h"
#include "format/onnx/moving.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of memory for a value whose readers are known.
constexpr int64_t kReadingMemory = 96;

}  // namespace

/// The nodes that read a value itself. Adds the values that others make of it to `behind`.
CodeReading CodeReaders::direct(const Open& value, std::vector<Open>& behind) const {
  CodeReading reading;
  for (const Use& u : rewire_.uses_of(*value.graph, value.name)) {
    if (u.annotation()) continue;
    const MovingOperator* op = u.node == nullptr ? nullptr : moving_operator(*u.node);
    if (op != nullptr && carries_input(*op, u.input)) {
      for (size_t i = 0; i < carried_outputs(*op, *u.node); ++i)
        behind.push_back({u.graph, u.node->output(i), false});
    } else if (u.node != nullptr && u.input == 0 && may_pass_codes(*u.node)) {
      behind.push_back({u.graph, u.node->output(0), false});
    } else if (u.node == nullptr || !u.node->is_dequantize() || u.input != 0) {
      reading.as_codes = true;
      return reading;
    } else if (reading.dequantize == nullptr) {
      reading.dequantize = u.node;
    }
  }
  return reading;
}

Result<CodeReading> CodeReaders::of(const Graph& graph, Text name) {
  // A list avoids recursion along long chains.
  std::vector<Open> todo{{&graph, name, false}};
  std::vector<Open> behind;
  while (!todo.empty()) {
    const Open value = todo.back();
    if (known_.contains(find(value))) {
      todo.pop_back();
      continue;
    }
    behind.clear();
    CodeReading reading = direct(value, behind);
    if (!value.ready && !reading.as_codes && !behind.empty()) {
      todo.back().ready = true;
      todo.insert(todo.end(), behind.begin(), behind.end());
      continue;
    }
    for (const Open& next : behind) {
      if (reading.as_codes) break;
      const CodeReading& more = known_[find(next)];
      reading.as_codes = more.as_codes;
      if (reading.dequantize == nullptr) reading.dequantize = more.dequantize;
    }
    DEQUANT_CHECK(model_.take(kReadingMemory));
    known_[find(value)] = reading;
    todo.pop_back();
  }
  return known_[rewire_.scopes().find(graph, name)];
}

}  // namespace dequant::format::onnx

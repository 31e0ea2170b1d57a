// The nodes that read a constant.
#include "format/onnx/readers.h"

#include <vector>

namespace dequant::format::onnx {

void Readers::for_each(const std::function<void(const Reader&)>& visit) const {
  std::vector<const Definition*> todo{scopes_.find(graph_, name_)};
  while (!todo.empty()) {  // ends: build() found no cycle
    const Definition* d = todo.back();
    todo.pop_back();
    if (d == nullptr) continue;
    scopes_.for_each_use(*d, [&](const Use& use) {
      if (use.node == nullptr) return;
      if (use.node->is("Identity") && use.node->inputs.size() == 1) {
        todo.push_back(scopes_.find(*use.graph, use.node->output(0)));
      } else {
        visit({*use.node, use.input, *use.graph});
      }
    });
  }
}

}  // namespace dequant::format::onnx

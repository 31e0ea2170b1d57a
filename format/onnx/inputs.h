// The tensors and files of a model.
#pragma once

#include <string>

#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Calls visit(const Tensor&) for every initializer and every tensor of an attribute.
template <class Visit>
void for_each_tensor(const Scopes& scopes, Visit&& visit) {
  for (const Graph* g : scopes.graphs()) {
    for (const Initializer& i : g->initializers) visit(i.tensor);
    for (const Node& n : g->nodes) {
      for (const Attribute& a : n.attributes) {
        if (a.tensor) visit(*a.tensor);
      }
    }
  }
}

/// Fails with io if `output` is the model's file or one of its data files, which not even --force
/// may replace.
Status check_output(const Model& model, const Scopes& scopes, const std::string& output);

}  // namespace dequant::format::onnx

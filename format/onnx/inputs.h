// The files and tensors that a model is made of.
#pragma once

#include <string>

#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Calls visit(const Tensor&) for every tensor of the model.
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

/// Not even --force replaces the input or one of its data files: fails with io if `output` is one.
Status check_output(const Model& model, const Scopes& scopes, const std::string& output);

}  // namespace dequant::format::onnx

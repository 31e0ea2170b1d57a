// The nodes that read a constant.
#pragma once

#include <functional>
#include <string_view>

#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// A node that reads a constant as one of its inputs.
struct Reader {
  const Node& node;
  size_t input;
  const Graph& graph;  ///< of the node
};

/// The nodes that read the constant of a name, directly or through Identity nodes. There may be
/// very many, so no list of them is made.
class Readers {
 public:
  Readers(const Scopes& scopes, const Graph& graph, std::string_view name)
      : scopes_(scopes), graph_(graph), name_(name) {}

  /// Calls `visit` for each of these nodes, once for each input that reads the constant.
  void for_each(const std::function<void(const Reader&)>& visit) const;

 private:
  const Scopes& scopes_;
  const Graph& graph_;
  std::string_view name_;
};

}  // namespace dequant::format::onnx

// Names of constants: TFLite's tensors may have none, or that of another tensor.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "format/tflite/model.h"

namespace dequant::format::tflite {

/// Gives each constant a name of its own. The subgraphs must outlive it.
class Names {
 public:
  /// The tensor with that name that was added, where it is the same constant: subgraphs share their
  /// weights so. Null: there is none.
  const Tensor* known(const Subgraph& graph, const Tensor& tensor) const;

  /// The name of a tensor: that of the file, or "name@place" where it is empty, no UTF-8, that of
  /// an earlier tensor, or reserved in safetensors files.
  std::string add(const Subgraph& graph, const Tensor& tensor, const std::string& place);

 private:
  struct Place {
    const Subgraph* graph;
    const Tensor* tensor;
  };

  std::unordered_map<std::string_view, Place> first_;  ///< by the names of the file
  std::unordered_set<std::string> given_;
};

}  // namespace dequant::format::tflite

// Names of constants: TFLite's tensors may have none, or that of another tensor.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "format/tflite/model.h"

namespace dequant::format::tflite {

/// Gives equal bytes of the flatbuffer equal numbers. Each range is looked at once: many tables may
/// have one long text.
class Interned {
 public:
  /// The bytes must outlive this object.
  size_t number_of(std::string_view bytes);

 private:
  /// By addresses and lengths.
  std::map<std::pair<const char*, size_t>, size_t> ranges_;
  std::map<std::string_view, size_t> contents_;
};

/// Gives each constant a name of its own. The subgraphs must outlive it.
class Names {
 public:
  /// The tensor with that name that was added, where it is the same constant: subgraphs share their
  /// weights so. Null: there is none.
  const Tensor* known(const Subgraph& graph, const Tensor& tensor);

  /// The name of a tensor: that of the file, or "name@place" where it is empty, no UTF-8, that of
  /// an earlier tensor, or reserved in safetensors files.
  std::string add(const Subgraph& graph, const Tensor& tensor, const std::string& place);

 private:
  struct Place {
    const Subgraph* graph;
    const Tensor* tensor;
  };

  bool same(const Place& a, const Place& b);

  Interned bytes_;
  std::unordered_map<size_t, Place> first_;  ///< by the numbers of the names of the file
  std::set<std::string> given_;
};

}  // namespace dequant::format::tflite

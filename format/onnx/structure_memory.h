// Counting the memory of a model's structure while it is read, and comparing it with the limit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "format/io/errors.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Counts the bytes of the model's store and of objects outside of it, such as those that Scopes
/// needs later for each graph, name and use.
class StructureMemory {
 public:
  StructureMemory(Model& model, StructureLimit limit) : model_(model), limit_(limit) {}

  void add_frame() { outside_ += sizeof(Frame); }
  void add_node() { outside_ += sizeof(Node*); }
  void add_use() { outside_ += sizeof(Use); }
  void add_graph() { outside_ += 3 * sizeof(Graph*); }
  void add_function() { outside_ += kFunction; }
  void add_operator() { outside_ += kOperator; }
  /// Counts a name that a graph defines; names of inner graphs are in a hash table.
  void add_definition(const Graph& graph) {
    outside_ += sizeof(Definition) + (&graph == &model_.graph ? 0 : kTableEntry);
  }
  /// Counts a field that is kept until all fields of its message are read.
  void add_field() { outside_ += 2 * sizeof(Field); }
  /// Counts bytes of the file that are tensor data.
  void add_data(int64_t bytes) { data_ += bytes; }

  /// Fails with limit when the memory used so far and `scratch` bytes of temporary memory are more
  /// than allowed for the structure in the first `at` bytes of the file.
  Status check(int64_t at, int64_t scratch) const {
    const int64_t structure = at - data_;
    if (used() + scratch <= allowed(structure)) return {};
    return failure(
        ErrorCode::limit,
        "the structure takes more than {} MiB of memory at byte {}, the most for {} bytes "
        "of it; a larger mem allows more",
        (allowed(structure) + kProcess) >> 20, at, structure);
  }

  /// Sets Model::room and Model::memory_limit. Must be called when the structure has been read.
  void finish() const {
    const int64_t most = allowed(model_.source.file().size() - data_);
    model_.room = most - used();
    model_.memory_limit = most + kProcess;
  }

 private:
  /// Memory of the process without the structure of a model.
  static constexpr int64_t kProcess = int64_t{14} << 20;
  static constexpr int64_t kLeast = (int64_t{32} << 20) - kProcess;
  static constexpr int64_t kTimes = 8;
  static constexpr size_t kTableEntry = 64;
  static constexpr size_t kOperator = 96;
  static constexpr size_t kFunction = 200;

  int64_t used() const { return model_.store.bytes() + static_cast<int64_t>(outside_); }
  int64_t allowed(int64_t structure) const {
    return std::max(kLeast + kTimes * structure, limit_.memory - kProcess);
  }

  Model& model_;
  const StructureLimit limit_;
  size_t outside_ = 0;
  int64_t data_ = 0;
};

}  // namespace dequant::format::onnx

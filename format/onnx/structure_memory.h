// How much memory the structure of a model takes while it is read, against the limit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "format/io/errors.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Counts the bytes of the store, and of all that is not in it: what Scopes takes later for each
/// part.
class StructureMemory {
 public:
  StructureMemory(Model& model, StructureLimit limit) : model_(model), limit_(limit) {}

  void add_frame() { besides_ += sizeof(Frame); }
  void add_node() { besides_ += sizeof(Node*); }
  void add_use() { besides_ += sizeof(Use); }
  void add_graph() { besides_ += 3 * sizeof(Graph*); }
  void add_function() { besides_ += kFunction; }
  void add_operator() { besides_ += kOperator; }
  /// Of a name that a graph defines; inner graphs have their names in a table.
  void add_definition(const Graph& graph) {
    besides_ += sizeof(Definition) + (&graph == &model_.graph ? 0 : kTableEntry);
  }
  /// Of a field that is kept until all fields around it are read.
  void add_field() { besides_ += 2 * sizeof(Field); }
  /// Bytes of the file that are data of tensors, and no structure.
  void add_data(int64_t bytes) { data_ += bytes; }

  /// Fails with limit when what was read up to a place of the file, and `scratch` bytes that are
  /// used for now, are more than the bytes of the structure up to there allow.
  Status check(int64_t at, int64_t scratch) const {
    const int64_t structure = at - data_;
    if (used() + scratch <= allowed(structure)) return {};
    return failure(
        ErrorCode::limit,
        "the structure takes more than {} MiB of memory at byte {}, the most for {} bytes "
        "of it; mem allows more",
        (allowed(structure) + kProcess) >> 20, at, structure);
  }

  /// Leaves to the model what the limit allows for more than its structure.
  void finish() const {
    const int64_t most = allowed(model_.source.file().size() - data_);
    model_.room = most - used();
    model_.memory_limit = most + kProcess;
  }

 private:
  /// What the process takes besides the structure of a model.
  static constexpr int64_t kProcess = int64_t{14} << 20;
  static constexpr int64_t kLeast = (int64_t{32} << 20) - kProcess;
  static constexpr int64_t kTimes = 8;
  static constexpr size_t kTableEntry = 64;
  static constexpr size_t kOperator = 96;
  static constexpr size_t kFunction = 200;

  int64_t used() const { return model_.store.bytes() + static_cast<int64_t>(besides_); }
  int64_t allowed(int64_t structure) const {
    return std::max(kLeast + kTimes * structure, limit_.memory - kProcess);
  }

  Model& model_;
  const StructureLimit limit_;
  size_t besides_ = 0;
  int64_t data_ = 0;
};

}  // namespace dequant::format::onnx

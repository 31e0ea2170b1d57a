// The tasks of a conversion: parts of its files that are written independently of each other.
#pragma once

#include <functional>
#include <vector>

#include "format/dense/job.h"
#include "format/model/share.h"

namespace dequant::format::dense {

/// A range of bytes of a file of the output.
struct Task {
  size_t shard = 0;
  Range bytes;
};

/// The part of a tensor that a task writes.
struct Piece {
  const OutputTensor* tensor;
  Range bytes;  ///< of the tensor; padding behind the tensor is written with its end

  bool is_first() const { return bytes.begin == 0; }
  bool is_last() const { return bytes.end == tensor->bytes; }
};

/// Cuts files into tasks of at most `task_bytes` where they are longer: between tensors, and a
/// longer tensor between rows. Where a row is longer than a task, the task has a part of a row; of
/// copied tensors that are not floats, and of rows that no range of codes gives, a task may be
/// longer. The header belongs to the first task of a file. The same job gives the same tasks.
std::vector<Task> tasks_of(Job& job, int64_t task_bytes);

/// The pieces of a task, in the order of the file.
std::vector<Piece> pieces_of(const OutputShard& shard, Range bytes);

/// The tasks of share `index` of `count`, in order: each share has about the same bytes.
std::vector<size_t> share_of(const std::vector<Task>& tasks, int64_t index, int64_t count);

/// Byte ranges of the input that a task reads, sorted and merged; headers are not among them.
std::vector<ReadRange> reads_of(Job& job, const Task& task);

/// Identifies a conversion with these tasks: version, input, options. Fails as Job::input_hash().
Result<std::string> fingerprint_of(const Job& job, const std::vector<Task>& tasks);

}  // namespace dequant::format::dense

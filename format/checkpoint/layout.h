// The files of a dense checkpoint: which tensors each file has, and where.
#pragma once

#include <unordered_set>
#include <vector>

#include "format/checkpoint/groups.h"
#include "format/checkpoint/options.h"
#include "format/dense/layout.h"
#include "format/model/write_options.h"

namespace dequant::format::checkpoint {

using dense::OutputShard;
using dense::OutputTensor;

/// The group of a computed tensor, and the stored tensor of another one.
inline const Group& group_of(const OutputTensor& tensor) {
  return *static_cast<const Group*>(tensor.origin);
}
inline const Entry& entry_of(const OutputTensor& tensor) {
  return *static_cast<const Entry*>(tensor.origin);
}

/// All files with tensors, and what stays as it is.
struct Layout {
  std::vector<OutputShard> shards;
  std::vector<const Group*> not_selected;  ///< groups whose stored tensors are copied
  /// Tensors that Groups::dropped() has and that these groups need.
  std::unordered_set<const Entry*> needed;
};

/// The type that the dense model computes in: that of the options, or else that of its dense
/// tensors, or else that of the configuration, or else float32.
Element computing_dtype(const Groups& groups, const WriteOptions& options);

/// Decides what the output has. The order of tensors is that of the input; a file ends before a
/// tensor that would make its data longer than Options::max_shard_bytes, or where a file of the
/// input ends, by Options::shards_as_input. So the same input and options give the same layout.
/// Fails with limit or malformed as safetensors::NewHeader does, and with unsupported where a
/// tensor of Groups::unread() is selected.
Result<Layout> plan_layout(const Groups& groups, const Options& own, const WriteOptions& options);

}  // namespace dequant::format::checkpoint

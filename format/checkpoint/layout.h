// The files of a dense checkpoint: which tensors each file has, and where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/checkpoint/groups.h"
#include "format/checkpoint/options.h"
#include "format/model/write_options.h"
#include "format/safetensors/writer.h"

namespace dequant::format::checkpoint {

/// One tensor of the output.
struct OutputTensor {
  std::string_view name;
  const Entry* entry;            ///< what is copied, or the codes of the group
  const Group* group = nullptr;  ///< null: the bytes of `entry` are copied
  /// The type of the stored floats, where these are rounded to `output`.
  std::optional<Element> from = {};
  Element output = Element::float32;  ///< the type of floats that are not copied
  const safetensors::DType* dtype = nullptr;
  Shape shape = {};
  int64_t bytes = 0;
  int64_t offset = 0;  ///< in its file
};

/// One file of the output.
struct OutputShard {
  std::string name;
  std::vector<OutputTensor> tensors;  ///< in the order of the file
  std::string header;                 ///< with its length, before the data
  int64_t bytes = 0;                  ///< of the whole file
};

/// All files with tensors, and what stays as it is.
struct Layout {
  std::vector<OutputShard> shards;
  std::vector<const Group*> not_selected;  ///< groups whose stored tensors are copied
  int64_t tensor_bytes = 0;                ///< of all tensors
};

/// The type that the dense model computes in: that of the options, or else that of its dense
/// tensors, or else that of the configuration, or else float32.
Element computing_dtype(const Groups& groups, const WriteOptions& options);

/// Decides what the output has. The order of tensors is that of the input; a file ends before a
/// tensor that would make its data longer than Options::max_shard_bytes, or where a file of the
/// input ends, by Options::shards_as_input. So the same input and options give the same layout.
/// Fails with limit or malformed as safetensors::NewHeader does.
Result<Layout> plan_layout(const Groups& groups, const Options& own, const WriteOptions& options);

}  // namespace dequant::format::checkpoint

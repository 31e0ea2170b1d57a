// The metadata of the files of a dense checkpoint.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "format/checkpoint/layout.h"

namespace dequant::format::checkpoint {

/// Gives each entry of the input's metadata to one file of the output: the first that has tensors
/// of the entry's file, or of a later one. Left out are entries that say how tensors were quantized
/// that are floats now: `_quantization_metadata` of ComfyUI, without the layers that are floats,
/// and `quantization_config` once no tensor is quantized. torchao's entry of a tensor becomes the
/// one that torchao writes for a tensor of floats. `format` is in each file, as its first file of
/// the input has it, or else "pt".
class OutputMetadata {
 public:
  /// Of the layout, only the groups that are not selected count.
  OutputMetadata(const Groups& groups, const Layout& layout);

  /// Of the next file, whose tensors are in the order of the input. Valid as long as this object
  /// and the groups. Of equal keys the first counts. Fails with unsupported where these say
  /// different things of tensors that stay quantized.
  Result<safetensors::NewMetadata> next(const OutputShard& shard, bool is_last);

 private:
  /// A text of the input in the output; nothing: it is left out.
  std::optional<std::string_view> kept(std::string_view key, std::string_view value);
  bool is_dense(std::string_view tensor) const;
  /// Leaves the first entry of each key.
  Status merge(safetensors::NewMetadata& entries) const;

  const Groups& groups_;
  const std::unordered_set<const Group*> not_selected_;
  std::vector<std::string_view> formats_;  ///< of the files of the input
  const bool is_quantized_;                ///< some tensor stays quantized
  size_t next_ = 0;                  ///< the first file whose entries no file of the output has
  std::deque<std::string> written_;  ///< texts that no file of the input has
};

}  // namespace dequant::format::checkpoint

// What ComfyUI's files say of their layers: the format of each, in the metadata of a file or in a
// tensor "X.comfy_quant" beside "X.weight"; and an old marker "scaled_fp8" of whole models.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

class ComfyLayers {
 public:
  /// The key of a file's metadata that has the formats of layers.
  static constexpr std::string_view kMetadata = "_quantization_metadata";

  /// True for "X.comfy_quant", a JSON text, and for "scaled_fp8", which has no numbers that count.
  static bool is_marker(const Entry& entry);
  /// True where files have markers or such metadata.
  static bool are_in(const Shards& shards);
  /// True where the metadata of a file have the formats of layers.
  static bool has_metadata(const Shards& shards);

  /// Reads metadata and markers, of which there may be none. Fails with malformed where texts are
  /// not what ComfyUI reads, contradict each other, or contradict the type of a weight; with
  /// unsupported for a format other than FP8 with one scale of a weight that is not there.
  static Result<ComfyLayers> read(const Groups& groups);

  /// Leaves the weights of formats other than FP8 with one scale, such as MXFP8 and NVFP4, whose
  /// scales are swizzled. Fails as Groups::leave() does.
  Status leave_others(Groups& groups) const;

  /// True for a weight that has a format.
  bool has(const Entry& weight) const { return layers_.contains(std::string(weight.name())); }

  /// The tensor "X.comfy_quant" of a weight that has a format, or null. Fails with malformed where
  /// the weight has a format and more than one scale.
  Result<const Entry*> marker_of(const Entry& weight, const Entry& scale) const;

  /// Drops the markers of whole models.
  static Status drop_markers(Groups& groups);
  /// The markers of whole models without which ComfyUI reads groups that stay quantized without
  /// their scales: it looks for the marker, and takes each "X.scale_weight" behind its prefix.
  static std::vector<const Entry*> needed_markers(const Groups& groups,
                                                  std::span<const Group* const> quantized);
  /// The metadata `text` without the layers whose weight `is_dense`; nothing: no layer is left. A
  /// text that is not what ComfyUI reads stays as it is.
  static std::optional<std::string> without(
      const Groups& groups, std::string_view text,
      const std::function<bool(std::string_view weight)>& is_dense);

 private:
  struct Layer {
    std::string format;
    const Entry* marker = nullptr;  ///< "X.comfy_quant"; null: the metadata have the format
    std::string unread = {};        ///< why dequant does not read the format; empty: it does
  };

  Status read_metadata(const Groups& groups, std::string_view text);
  Status read_marker(const Groups& groups, const Entry& marker, const std::string& module);
  Status add(const Groups& groups, const std::string& module, Layer layer);

  std::unordered_map<std::string, Layer> layers_;  ///< by the name of the weight
};

}  // namespace dequant::format::checkpoint

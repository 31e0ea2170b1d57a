// The metadata of the files of a dense checkpoint.
#include "format/checkpoint/metadata.h"

#include <algorithm>

#include "format/checkpoint/schemes/comfy_layers.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

using safetensors::NewMetadata;

constexpr std::string_view kFormatKey = "format";
/// How the whole file is quantized, as ModelOpt and Nunchaku say it.
constexpr std::string_view kPlainOfTorchao = R"({"_type": "Tensor"})";

const Entry& first_entry(const OutputTensor& tensor) {
  return tensor.computed ? *group_of(tensor).codes.entry : entry_of(tensor);
}

/// The format that a file names; "pt", which transformers demands of files of torch, where it names
/// none.
std::string_view format_of(const Shard& shard) {
  for (const auto& pair : shard.header.metadata()) {
    if (pair.key() == kFormatKey) return pair.value();
  }
  return "pt";
}

}  // namespace

OutputMetadata::OutputMetadata(const Groups& groups, const Layout& layout)
    : groups_(groups),
      not_selected_(layout.not_selected.begin(), layout.not_selected.end()),
      is_quantized_(!layout.not_selected.empty() || !groups.unknown().empty() ||
                    !groups.unread().empty()) {
  for (const Shard& shard : groups.shards().files()) formats_.push_back(format_of(shard));
}

Result<NewMetadata> OutputMetadata::next(const OutputShard& shard, bool is_last) {
  const std::vector<Shard>& files = groups_.shards().files();
  size_t first = files.size() - 1;
  size_t last = 0;
  for (const OutputTensor& tensor : shard.tensors) {
    first = std::min<size_t>(first, first_entry(tensor).shard);
    last = std::max<size_t>(last, first_entry(tensor).shard);
  }
  if (shard.tensors.empty()) first = 0;
  const size_t end = is_last ? files.size() : last + 1;
  NewMetadata entries{{kFormatKey, formats_[first]}};
  const bool several = next_ + 1 < end;
  for (; next_ < end; ++next_) {
    for (const auto& pair : files[next_].header.metadata()) {
      if (pair.key() == kFormatKey) continue;
      if (const auto value = kept(pair.key(), pair.value()))
        entries.emplace_back(pair.key(), *value);
    }
  }
  if (several) DEQUANT_CHECK(merge(entries));
  return entries;
}

std::optional<std::string_view> OutputMetadata::kept(std::string_view key, std::string_view value) {
  if (key == kQuantizationConfig) return is_quantized_ ? std::optional(value) : std::nullopt;
  if (key == ComfyLayers::kMetadata) {
    if (!is_quantized_) return {};
    auto text = ComfyLayers::without(groups_, value,
                                     [this](std::string_view tensor) { return is_dense(tensor); });
    if (!text) return {};
    return written_.emplace_back(*std::move(text));
  }
  if (!is_entry_of_torchao(value)) return value;
  const Group* group = groups_.find_group(key);
  if (group != nullptr && group->scheme == kTorchao.name && is_dense(key)) return kPlainOfTorchao;
  // That of no tensor here, as of another scheme that config.json names, would be all that is left.
  return is_quantized_ ? std::optional(value) : std::nullopt;
}

bool OutputMetadata::is_dense(std::string_view tensor) const {
  const Group* group = groups_.find_group(tensor);
  return group != nullptr && !not_selected_.contains(group);
}

Status OutputMetadata::merge(NewMetadata& entries) const {
  const auto key_of = [&](size_t i) { return entries[i].first; };
  const safetensors::NameIndex index(entries.size(), key_of);
  NewMetadata first;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [key, value] = entries[i];
    const size_t same = *index.find(key, key_of);
    if (same == i) first.push_back(entries[i]);
    const bool differ = value != entries[same].second;
    if (!differ || (key != kQuantizationConfig && key != ComfyLayers::kMetadata)) continue;
    return failure(ErrorCode::unsupported,
                   "metadata {}: files of the input have different texts, which say how tensors "
                   "are quantized that stay so, and a file of the output would have one: shards "
                   "as-input keeps the files of the input",
                   key);
  }
  entries = std::move(first);
  return {};
}

}  // namespace dequant::format::checkpoint

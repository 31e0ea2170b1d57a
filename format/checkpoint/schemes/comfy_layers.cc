// What ComfyUI's files say of their layers.
#include "format/checkpoint/schemes/comfy_layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kMarker = ".comfy_quant";
constexpr std::string_view kModelMarker = "scaled_fp8";
/// Behind the module: a scale in files that have this marker.
constexpr std::string_view kOldScale = ".scale_weight";
constexpr const char* kLayers = "layers";
constexpr int64_t kMostMarkerBytes = int64_t{1} << 16;

/// A format whose weights have one scale, and the type of these weights.
struct ScaledFormat {
  std::string_view name;
  std::string_view dtype;
};
/// ModelOpt writes the same metadata, where it calls the first one "fp8".
constexpr std::array kScaled{ScaledFormat{"float8_e4m3fn", "F8_E4M3"},
                             ScaledFormat{"float8_e5m2", "F8_E5M2"},
                             ScaledFormat{"fp8", "F8_E4M3"}};

/// Formats with scales of blocks, which ComfyUI's own quantizers store in the order of matrix
/// units: tiles of 128 rows by 4 blocks. Files do not say so, and the shape of the scales does not
/// show it: in row-major order the scales would have the same shape.
constexpr std::array<std::string_view, 2> kSwizzled{"mxfp8", "nvfp4"};

/// What ComfyUI takes off the names of tensors before it looks for a layer of the metadata; these
/// have the names with it or without.
constexpr std::array<std::string_view, 5> kPrefixes{"", "model.diffusion_model.", "model.model.",
                                                    "net.", "model."};

/// The name of the weight of a layer of the metadata.
std::string weight_of(const Groups& groups, const std::string& layer) {
  const std::string name = layer + std::string(kWeight);
  for (const std::string_view prefix : kPrefixes) {
    std::string whole = std::string(prefix) + name;
    if (groups.find(whole) != nullptr) return whole;
  }
  return name;
}

/// True for what belongs to a weight, by its name behind the module: ".weight_scale_2".
bool is_part(std::string_view end) {
  return end.starts_with(".weight_") || end == kOldScale || end == kMarker;
}

std::string why_unread(const std::string& format) {
  const bool swizzled = std::find(kSwizzled.begin(), kSwizzled.end(), format) != kSwizzled.end();
  return fmt::format("its format in ComfyUI is \"{}\", {}", escaped(format),
                     swizzled ? "whose scales are swizzled, which dequant does not read"
                              : "not one that dequant reads: float8_e4m3fn or float8_e5m2");
}

/// "scaled_fp8", or "model.diffusion_model.scaled_fp8", of no element or two: ComfyUI reads the
/// type and the number of elements, not their values.
bool is_model_marker(const Entry& entry) {
  const std::string_view name = entry.name();
  const bool named = name == kModelMarker || (name.ends_with(kModelMarker) &&
                                              name[name.size() - kModelMarker.size() - 1] == '.');
  const bool floats = entry.dtype().starts_with("F8_") || entry.dtype() == "F32";
  return named && floats && entry.shape().size() == 1 && entry.shape()[0] <= 2;
}

}  // namespace

bool ComfyLayers::is_marker(const Entry& entry) {
  return (entry.name().ends_with(kMarker) && entry.dtype() == "U8") || is_model_marker(entry);
}

bool ComfyLayers::are_in(const Shards& shards) {
  return has_metadata(shards) || std::ranges::any_of(shards.entries(), &is_marker);
}

bool ComfyLayers::has_metadata(const Shards& shards) {
  return std::any_of(shards.files().begin(), shards.files().end(), [](const Shard& shard) {
    const auto& metadata = shard.header.metadata();
    return std::any_of(metadata.begin(), metadata.end(),
                       [](const auto& pair) { return pair.key() == kMetadata; });
  });
}

Result<ComfyLayers> ComfyLayers::read(const Groups& groups) {
  ComfyLayers out;
  for (const Shard& shard : groups.shards().files()) {
    for (const auto& pair : shard.header.metadata()) {
      if (pair.key() == kMetadata) DEQUANT_CHECK(out.read_metadata(groups, pair.value()));
    }
  }
  for (const Entry& entry : groups.shards().entries()) {
    const auto module = entry.dtype() == "U8" ? module_of(entry.name(), kMarker) : std::nullopt;
    if (module) DEQUANT_CHECK(out.read_marker(groups, entry, *module));
  }
  return out;
}

Status ComfyLayers::read_metadata(const Groups& groups, std::string_view text) {
  const std::string where = fmt::format("metadata {}", kMetadata);
  const auto json = parse_ordered_json(text);
  if (!json) return in(where, Error(json.error()));
  const Section whole(&*json, where);
  DEQUANT_TRY(const Section layers, whole.object(kLayers));
  if (!whole.has(kLayers)) return whole.wrong(kLayers, "an object");
  for (const auto& [module, value] : whole.find(kLayers)->items()) {
    if (!value.is_object()) return layers.wrong(module, "an object");
    const Section layer(&value, fmt::format("{}: {}", where, escaped(module)));
    DEQUANT_TRY(const auto format, layer.text("format"));
    if (!format) return layer.wrong("format", "the name of a format");
    DEQUANT_CHECK(add(groups, module, {*format}));
  }
  return {};
}

Status ComfyLayers::read_marker(const Groups& groups, const Entry& marker,
                                const std::string& module) {
  const std::string where = fmt::format("tensor {}", escaped(marker.name()));
  DEQUANT_TRY(const auto bytes, groups.shards().read(marker, kMostMarkerBytes));
  const auto json = parse_ordered_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!json) return in(where, Error(json.error()));
  const Section layer(&*json, where);
  DEQUANT_TRY(const auto format, layer.text("format"));
  if (!format) return layer.wrong("format", "the name of a format");
  return add(groups, module, {*format, &marker});
}

Status ComfyLayers::add(const Groups& groups, const std::string& module, Layer layer) {
  const std::string name = weight_of(groups, module);
  const Entry* const weight = groups.find(name);
  const auto scaled = std::find_if(kScaled.begin(), kScaled.end(), [&](const ScaledFormat& format) {
    return format.name == layer.format;
  });
  if (scaled == kScaled.end()) {
    layer.unread = why_unread(layer.format);
    if (weight == nullptr)
      return failure(ErrorCode::unsupported, "tensor {}: {}", escaped(name), layer.unread);
  } else if (weight != nullptr && weight->dtype() != scaled->dtype) {
    return failure(ErrorCode::malformed, "tensor {}: its format in ComfyUI is \"{}\", and it is {}",
                   escaped(name), escaped(layer.format), weight->dtype());
  }
  const auto [other, added] = layers_.emplace(name, layer);
  if (added) return {};
  if (other->second.format != layer.format) {
    return failure(ErrorCode::malformed, "tensor {}: its formats in ComfyUI are \"{}\" and \"{}\"",
                   escaped(name), escaped(other->second.format), escaped(layer.format));
  }
  if (layer.marker != nullptr) other->second.marker = layer.marker;
  return {};
}

Status ComfyLayers::leave_others(Groups& groups) const {
  std::unordered_map<std::string_view, Unread> unread;  // by module
  for (const auto& [weight, layer] : layers_) {
    if (layer.unread.empty()) continue;
    const std::string_view module(weight.data(), weight.size() - kWeight.size());
    unread.emplace(module, Unread{groups.find(weight), {}, layer.unread});
  }
  if (unread.empty()) return {};
  for (const Entry& entry : groups.shards().entries()) {
    const std::string_view name = entry.name();
    const size_t dot = name.rfind('.');
    if (dot == name.npos) continue;
    const auto of = unread.find(name.substr(0, dot));
    if (of != unread.end() && is_part(name.substr(dot))) of->second.parts.push_back(&entry);
  }
  for (const Entry& entry : groups.shards().entries()) {
    const auto module = module_of(entry.name(), kWeight);
    const auto of = module ? unread.find(*module) : unread.end();
    if (of != unread.end()) DEQUANT_CHECK(groups.leave(std::move(of->second)));
  }
  return {};
}

Result<const Entry*> ComfyLayers::marker_of(const Entry& weight, const Entry& scale) const {
  const auto layer = layers_.find(std::string(weight.name()));
  if (layer == layers_.end()) return nullptr;
  const Shape shape = scale.shape();
  if (std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size == 1; }))
    return layer->second.marker;
  return failure(ErrorCode::malformed,
                 "tensor {}: shape [{}], where a weight of the format \"{}\" of ComfyUI has one "
                 "scale",
                 escaped(scale.name()), fmt::join(shape, ", "), escaped(layer->second.format));
}

Status ComfyLayers::drop_markers(Groups& groups) {
  for (const Entry& entry : groups.shards().entries()) {
    if (is_model_marker(entry))
      DEQUANT_CHECK(groups.drop(entry, "it says that weights have scales"));
  }
  return {};
}

std::vector<const Entry*> ComfyLayers::needed_markers(const Groups& groups,
                                                      std::span<const Group* const> quantized) {
  std::vector<std::string_view> scales;
  for (const Group* group : quantized) {
    if (group->scale.name().ends_with(kOldScale)) scales.push_back(group->scale.name());
  }
  std::sort(scales.begin(), scales.end());
  std::vector<const Entry*> needed;
  for (const Dropped& dropped : groups.dropped()) {
    if (!is_model_marker(*dropped.entry)) continue;
    const std::string_view name = dropped.entry->name();
    const std::string_view prefix = name.substr(0, name.size() - kModelMarker.size());
    const auto first = std::lower_bound(scales.begin(), scales.end(), prefix);
    if (first != scales.end() && first->starts_with(prefix)) needed.push_back(dropped.entry);
  }
  return needed;
}

std::optional<std::string> ComfyLayers::without(
    const Groups& groups, std::string_view text,
    const std::function<bool(std::string_view weight)>& is_dense) {
  auto json = parse_ordered_json(text);
  const bool is_own =
      json && json->is_object() && json->contains(kLayers) && (*json)[kLayers].is_object();
  if (!is_own) return std::string(text);
  nlohmann::ordered_json left = nlohmann::ordered_json::object();
  // Names are different: a search for an equal key would only cost time.
  auto& members = left.get_ref<nlohmann::ordered_json::object_t&>();
  for (const auto& [layer, value] : (*json)[kLayers].items()) {
    if (!is_dense(weight_of(groups, layer))) members.emplace_back(layer, value);
  }
  if (left.size() == (*json)[kLayers].size()) return std::string(text);
  if (left.empty()) return {};
  (*json)[kLayers] = std::move(left);
  return json->dump();
}

}  // namespace dequant::format::checkpoint

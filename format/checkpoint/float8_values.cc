// Recognising models that were converted to a float8 type without scales.
#include "format/checkpoint/float8_values.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "format/checkpoint/codes.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/scheme.h"
#include "format/checkpoint/schemes/comfy_layers.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/checkpoint/unclaimed.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

constexpr std::array<std::string_view, 4> kTypes{"F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ",
                                                 "F8_E5M2FNUZ"};

/// The name without its last part, and that part: "X" and "weight" of "X.weight".
std::pair<std::string_view, std::string_view> split(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool config_says_it_is_quantized(const Groups& groups) {
  if (groups.config().quantization() != nullptr) return true;
  // TensorRT-LLM, whose names of scales are its own.
  return Section(&groups.config().document(), "config.json").says_something("quantization");
}

bool says_it_is_quantized(const Groups& groups) {
  if (!groups.groups().empty() || !groups.dropped().empty()) return true;
  return std::ranges::any_of(schemes(), [&](const Scheme* scheme) {
    return scheme->has_metadata != nullptr && scheme->has_metadata(groups.shards());
  });
}

/// True where ComfyUI's markers and nothing else say which tensors are quantized. Its loader casts
/// all others, also float8 ones.
Result<bool> says_it_as_comfyui(const Groups& groups, const std::vector<const Entry*>& float8) {
  if (!ComfyLayers::are_in(groups.shards())) return false;
  const bool others = std::ranges::any_of(
      groups.groups(), [](const Group& group) { return group.scheme != kFp8.name; });
  const bool other_metadata = std::ranges::any_of(schemes(), [&](const Scheme* scheme) {
    return scheme != &kFp8 && scheme->has_metadata != nullptr &&
           scheme->has_metadata(groups.shards());
  });
  if (others || other_metadata) return false;
  DEQUANT_TRY(const ComfyLayers layers, ComfyLayers::read(groups));
  return std::ranges::none_of(float8, [&](const Entry* entry) { return layers.has(*entry); });
}

/// A tensor that may be a scale of a float8 tensor, known or not; null: there is none.
const Entry* possible_scale(const Groups& groups, const std::vector<const Entry*>& float8) {
  std::unordered_set<std::string_view> modules;
  std::unordered_set<std::string_view> weights;
  for (const Entry* entry : float8) {
    if (has_name_of_scale(entry->name())) return entry;
    if (const Entry* scale = scale_beside(groups, *entry)) return scale;
    const auto [module, last] = split(entry->name());
    if (last == "weight") modules.insert(module);
    weights.insert(entry->name());
  }
  for (const Entry& entry : groups.shards().entries()) {
    const auto [module, last] = split(entry.name());
    if (weights.contains(module)) return &entry;
    if (last != "weight" && last != "bias" && modules.contains(module)) return &entry;
  }
  return nullptr;
}

}  // namespace

Status add_float8_values(Groups& groups) {
  std::vector<const Entry*> float8;
  for (const Entry& entry : groups.shards().entries()) {
    if (contains(kTypes, entry.dtype()) && !groups.is_used(entry)) float8.push_back(&entry);
  }
  if (float8.empty() || config_says_it_is_quantized(groups) ||
      possible_scale(groups, float8) != nullptr)
    return {};
  DEQUANT_TRY(const bool of_comfyui, says_it_as_comfyui(groups, float8));
  if (!of_comfyui && says_it_is_quantized(groups)) return {};
  static constexpr float kOne = 1;
  const Element output = groups.groups().empty() ? groups.output_for(Element::float8e4m3fn)
                                                 : groups.groups().front().plan.output;
  for (const Entry* entry : float8) {
    const std::array tensors{Named{"weight", entry},
                             Named{"weight_scale", nullptr, part_of(std::span(&kOne, 1))}};
    DEQUANT_CHECK(groups.add(std::string(entry->name()), "fp8", tensors, {}, output));
  }
  groups.warn(fmt::format(
      "{} tensors of float8 types are taken as values, as {}: the first is {}", float8.size(),
      of_comfyui ? "ComfyUI takes those without a scale" : "nothing in the checkpoint is a scale",
      escaped(float8.front()->name())));
  return {};
}

}  // namespace dequant::format::checkpoint

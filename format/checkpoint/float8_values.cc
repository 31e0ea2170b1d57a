// Recognising models that were converted to a float8 type without scales.
#include "format/checkpoint/float8_values.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "format/checkpoint/codes.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/scheme.h"
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

bool says_it_is_quantized(const Groups& groups) {
  if (!groups.groups().empty() || !groups.dropped().empty()) return true;
  if (groups.config().quantization() != nullptr) return true;
  return std::ranges::any_of(schemes(), [&](const Scheme* scheme) {
    return scheme->has_metadata != nullptr && scheme->has_metadata(groups.shards());
  });
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
    if (contains(kTypes, entry.dtype())) float8.push_back(&entry);
  }
  if (float8.empty() || says_it_is_quantized(groups) || possible_scale(groups, float8) != nullptr)
    return {};
  static constexpr float kOne = 1;
  const Element output = groups.output_for(Element::float8e4m3fn);
  for (const Entry* entry : float8) {
    const std::array tensors{Named{"weight", entry},
                             Named{"weight_scale", nullptr, part_of(std::span(&kOne, 1))}};
    DEQUANT_CHECK(groups.add(std::string(entry->name()), "fp8", tensors, {}, output));
  }
  groups.warn(fmt::format(
      "{} tensors of float8 types are taken as values, as nothing in the checkpoint is a scale: "
      "the first is {}",
      float8.size(), escaped(float8.front()->name())));
  return {};
}

}  // namespace dequant::format::checkpoint

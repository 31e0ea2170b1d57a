// Weights that were rotated before they were quantized.
#include "format/checkpoint/rotations.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

/// Members of the configuration: of compressed-tensors, of AutoRound (two), and of GPTQModel.
constexpr std::array<std::string_view, 4> kKeys{"transform_config", "spinquant_config",
                                                "rotation_config", "rotation"};
/// Quark's list of algorithms, and the names of the algorithms that rotate weights.
constexpr std::string_view kAlgorithms = "algo_config";
constexpr std::array<std::string_view, 2> kRotating{"rotation", "quarot"};

/// What names of tensors have that describe rotations: of AutoRound, and of Quark (two).
constexpr std::array<std::string_view, 3> kTensors{"spinquant_", "shared_input_rotation_",
                                                   ".input_prescale"};

bool rotates(const ordered_json& algorithm) {
  const ordered_json* const name = Section(&algorithm, kAlgorithms).find("name");
  return name != nullptr && name->is_string() &&
         std::find(kRotating.begin(), kRotating.end(), name->get_ref<const std::string&>()) !=
             kRotating.end();
}

/// True for an algorithm that rotates, and for a list with one.
bool has_rotating(const ordered_json* algorithms) {
  if (algorithms == nullptr) return false;
  if (!algorithms->is_array()) return rotates(*algorithms);
  return std::any_of(algorithms->begin(), algorithms->end(), rotates);
}

/// The last part of a name says what the tensor is; the first is the beginning of a model.
bool describes_rotation(const Entry& entry) {
  const std::string_view name = entry.name();
  return std::any_of(kTensors.begin(), kTensors.end(), [&](std::string_view part) {
    if (part.front() == '.') return name.ends_with(part);
    const auto dot = name.rfind('.');
    return name.substr(dot == name.npos ? 0 : dot + 1).starts_with(part);
  });
}

void warn_of_key(Groups& groups, std::string_view key) {
  groups.warn(fmt::format(
      "quantization_config: {}: weights are rotated; the dense weights are too, and need the "
      "transforms of activations that it asks for",
      key));
}

}  // namespace

void warn_of_rotations(Groups& groups) {
  const Section section(groups.config().quantization(), kQuantizationConfig);
  for (const std::string_view key : kKeys) {
    if (section.says_something(key)) warn_of_key(groups, key);
  }
  if (has_rotating(section.find(kAlgorithms))) warn_of_key(groups, kAlgorithms);
  const Entry* first = nullptr;
  int64_t count = 0;
  for (const Entry& entry : groups.shards().entries()) {
    if (!describes_rotation(entry)) continue;
    if (first == nullptr) first = &entry;
    ++count;
  }
  if (first == nullptr) return;
  groups.warn(fmt::format(
      "{} tensors are copied that describe transforms of activations, which the dense weights "
      "need: the first is {}",
      count, escaped(first->name())));
}

}  // namespace dequant::format::checkpoint

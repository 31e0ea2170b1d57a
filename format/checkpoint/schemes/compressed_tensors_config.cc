// The quantization_config of compressed-tensors.
#include "format/checkpoint/schemes/compressed_tensors_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "format/checkpoint/integers.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 8> kFormats{
    "int-quantized",        "float-quantized",      "naive-quantized",      "pack-quantized",
    "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp6-pack-quantized", "mxfp8-quantized",
};

bool is_one_of(std::string_view text, std::span<const std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

/// The numbers of a release, such as 0.17.1, and whether more text follows, as in 0.17.2.dev3.
struct Version {
  std::array<int, 3> numbers{};
  bool has_more = false;
};

std::optional<Version> version_of(std::string_view text) {
  Version version;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return {};
    const auto [rest, error] = std::from_chars(at, end, version.numbers[i]);
    if (error != std::errc() || version.numbers[i] < 0) return {};
    at = rest;
  }
  version.has_more = at != end;
  return version;
}

/// Versions between 0.17.1 and 0.18.0 were no releases: some of these fill words in the one way and
/// some in the other.
std::string_view words_of(std::string_view text) {
  const auto version = version_of(text);
  if (!version) return {};
  if (version->numbers <= std::array{0, 17, 1}) return "padded";
  const std::array first_dense{0, 18, 0};
  if (version->numbers > first_dense) return "dense";
  return version->numbers == first_dense && !version->has_more ? "dense" : std::string_view();
}

/// [128, 128], or "128x128" as old versions have it, as "128,128"; empty: there is none.
Result<std::string> block_of(const Section& weights) {
  const ordered_json* value = weights.find("block_structure");
  if (value == nullptr) return std::string();
  if (value->is_string()) {
    std::string text = value->get<std::string>();
    std::replace(text.begin(), text.end(), 'x', ',');
    return text;
  }
  DEQUANT_TRY(const auto lengths, weights.integers("block_structure"));
  return option_of(lengths);
}

/// The strategy as the scheme names it.
Result<std::string> strategy_of(const Section& weights) {
  DEQUANT_TRY(const auto given, weights.text("strategy"));
  constexpr std::array<std::string_view, 4> kKnown{"tensor", "channel", "group", "block"};
  if (given && *given == "tensor_group") return std::string("group");
  if (given && is_one_of(*given, kKnown)) return *given;
  if (given) {
    return failure(ErrorCode::unsupported, "{}: strategy \"{}\" of weights is not supported",
                   kQuantizationConfig, escaped(*given));
  }
  // The default of the producer's own configuration.
  DEQUANT_TRY(const auto group_size, weights.integer("group_size"));
  if (!group_size) return std::string("tensor");
  return std::string(*group_size == -1 ? "channel" : "group");
}

/// What a group says of weights; nothing where it says nothing.
Result<std::optional<CtGroup>> group_of(const std::string& name, const Section& section,
                                        const std::optional<std::string>& format) {
  DEQUANT_TRY(const Section weights, section.object("weights"));
  if (!section.has("weights")) return std::optional<CtGroup>();
  CtGroup group;
  group.name = name;
  DEQUANT_TRY(group.targets, ModuleList::expressions(section, "targets"));
  DEQUANT_TRY(const auto own, section.text("format"));
  group.format = own ? *own : format.value_or("");
  DEQUANT_TRY(const auto bits, weights.integer("num_bits"));
  DEQUANT_TRY(const auto type, weights.text("type"));
  DEQUANT_TRY(const auto group_size, weights.integer("group_size"));
  DEQUANT_TRY(const auto symmetric, weights.flag("symmetric"));
  DEQUANT_TRY(const auto scale_dtype, weights.text("scale_dtype"));
  DEQUANT_TRY(group.strategy, strategy_of(weights));
  DEQUANT_TRY(group.block_structure, block_of(weights));
  group.num_bits = std::to_string(bits.value_or(8));
  group.type = type.value_or("int");
  if (group_size && *group_size > 0) group.group_size = std::to_string(*group_size);
  group.symmetric = symmetric.value_or(true);
  group.has_byte_scales = scale_dtype && scale_dtype->ends_with("uint8");
  return std::optional(std::move(group));
}

Status check_dense(const Section& section) {
  DEQUANT_TRY(const Section sparsity, section.object("sparsity_config"));
  DEQUANT_TRY(const auto format, sparsity.text("format"));
  if (!format || *format == "dense") return {};
  return failure(ErrorCode::unsupported, "{}: sparsity_config: format \"{}\" is not supported",
                 kQuantizationConfig, escaped(*format));
}

}  // namespace

bool CtGroup::has_known_format() const { return is_one_of(format, kFormats); }

std::vector<SchemeOption> CtGroup::options(std::string_view words,
                                           std::string_view weight_shape) const {
  // The name of the format does not say that scales are powers of two; the type of scales does.
  const bool mxfp8 = format == "naive-quantized" && type == "float" && has_byte_scales;
  const std::string_view as = mxfp8 ? std::string_view("mxfp8-quantized") : format;
  std::vector<SchemeOption> out{{"format", as}, {"strategy", strategy}};
  const auto add = [&](std::string_view option, std::string_view value) {
    if (!value.empty()) out.push_back({option, value});
  };
  add("num_bits", num_bits);
  add("group_size", group_size);
  add("block_structure", block_structure);
  add("words", words);
  add("weight_shape", weight_shape);
  return out;
}

Result<CtConfig> CtConfig::read(const Config& config) {
  CtConfig out;
  const Section section(config.quantization(), kQuantizationConfig);
  DEQUANT_CHECK(check_dense(section));
  DEQUANT_TRY(const auto format, section.text("format"));
  DEQUANT_TRY(const auto version, section.text("version"));
  DEQUANT_TRY(out.ignored, ModuleList::expressions(section, "ignore"));
  out.words = words_of(version.value_or(""));
  DEQUANT_TRY(const Section groups, section.object("config_groups"));
  if (!section.has("config_groups")) return out;
  for (const auto& [name, value] : section.find("config_groups")->items()) {
    const std::string where = fmt::format("{}: {}", kQuantizationConfig, escaped(name));
    if (!value.is_object()) return groups.wrong(name, "an object");
    DEQUANT_TRY(auto group, group_of(name, Section(&value, where), format));
    if (group) out.groups.push_back(*std::move(group));
  }
  return out;
}

std::vector<const CtGroup*> CtConfig::groups_of(std::string_view module) const {
  using Match = ModuleList::Match;
  std::vector<const CtGroup*> found;
  auto best = Match::may_be;
  for (const CtGroup& group : groups) {
    const Match match = group.targets.find(module);
    if (match < best) continue;
    if (match > best) found.clear();
    best = match;
    found.push_back(&group);
  }
  return found;
}

}  // namespace dequant::format::checkpoint

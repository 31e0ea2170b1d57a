// The layouts of AutoRound.
#include "format/checkpoint/schemes/auto_round.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

struct Packing {
  std::string_view name;
  AutoRoundLayout layout;
};
constexpr std::array kPackings{
    Packing{"auto_round:auto_gptq", AutoRoundLayout::gptq},
    Packing{"auto_round:gptq", AutoRoundLayout::gptq},
    Packing{"auto_round:gptq:exllamav2", AutoRoundLayout::gptq},
    Packing{"auto_round:gptqmodel", AutoRoundLayout::gptq_v2},
    Packing{"auto_round", AutoRoundLayout::gptq_v2},
    Packing{"auto_round:exllamav2", AutoRoundLayout::gptq_v2},
    Packing{"auto_round:triton", AutoRoundLayout::gptq_v2},
    Packing{"auto_round:auto_awq", AutoRoundLayout::awq},
    Packing{"auto_round:awq", AutoRoundLayout::awq},
    Packing{"mlx", AutoRoundLayout::mlx},
    Packing{"auto_round:mlx", AutoRoundLayout::mlx},
};

/// Characters of all expressions.
/// AutoRound writes expressions with ".*" or "\\."; what has no such character is a name.
bool is_name(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

bool is_auto_round(std::string_view method) {
  return std::find(kAutoRound.begin(), kAutoRound.end(), method) != kAutoRound.end();
}

Result<AutoRoundLayout> auto_round_layout(const Section& section) {
  // Floats and MX types have layouts of their own, some under the name of one of integers.
  DEQUANT_TRY(const auto type, section.text("data_type"));
  if (type && !type->starts_with("int")) {
    return failure(ErrorCode::unsupported,
                   "config.json: data_type \"{}\" of AutoRound is not one that dequant reads: int",
                   escaped(*type));
  }
  const char* key = section.has("packing_format") ? "packing_format" : "backend";
  DEQUANT_TRY(const auto name, section.text(key));
  for (const Packing& packing : kPackings) {
    if (name && *name == packing.name) return packing.layout;
  }
  if (!name) return section.wrong("packing_format", "the name of a layout");
  return failure(ErrorCode::unsupported,
                 "config.json: {} \"{}\" of AutoRound is not one that dequant reads", key,
                 escaped(*name));
}

Result<AutoRoundModules> AutoRoundModules::read(const Section& config) {
  AutoRoundModules modules;
  DEQUANT_TRY(const Section extra, config.object("extra_config"));
  modules.empty_ = extra.empty();
  if (modules.empty_) return modules;
  size_t characters = 0;
  for (const auto& [key, value] : config.find("extra_config")->items()) {
    DEQUANT_TRY(const Section members, extra.object(key));
    DEQUANT_TRY(const auto bits, members.integer("bits"));
    DEQUANT_TRY(const auto group_size, members.integer("group_size"));
    if (is_name(key)) {
      modules.names_.emplace(key, Settings{bits, group_size});
      continue;
    }
    characters += key.size();
    if (characters > Patterns::kMostCharacters) {
      return failure(ErrorCode::limit, "{}: expressions have more than {} characters",
                     extra.where(), Patterns::kMostCharacters);
    }
    if (members.empty()) continue;
    if (modules.has_unknown_) continue;
    modules.has_unknown_ = !modules.patterns_.add_search(key);
    if (!modules.has_unknown_) modules.expressions_.push_back({bits, group_size});
  }
  DEQUANT_CHECK(modules.patterns_.compile());
  return modules;
}

const AutoRoundModules::Settings* AutoRoundModules::find(const std::string& module) const {
  const auto named = names_.find(module);
  if (named != names_.end()) return &named->second;
  const auto first = patterns_.first(module);
  return first ? &expressions_[*first] : nullptr;
}

}  // namespace dequant::format::checkpoint

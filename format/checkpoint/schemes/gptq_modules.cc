// Rules of GPTQModel's "dynamic", in the order of the file: the first that matches counts.
#include "format/checkpoint/schemes/gptq_modules.h"

#include <nlohmann/json.hpp>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

/// Characters of all expressions.
/// The settings of an object, those of `otherwise` where it lacks one.
Result<GptqSettings> settings_of(const Section& members, GptqSettings otherwise) {
  DEQUANT_TRY(const auto bits, members.integer("bits"));
  DEQUANT_TRY(const auto group_size, members.integer("group_size"));
  DEQUANT_TRY(const auto desc_act, members.flag("desc_act"));
  if (bits) otherwise.bits = *bits;
  if (group_size) otherwise.group_size = *group_size;
  if (desc_act) otherwise.desc_act = desc_act;
  return otherwise;
}

}  // namespace

Status GptqModules::add(const std::string& text, const Section& members) {
  for (const char* key : {"method", "quant_method", "format", "checkpoint_format", "pack_dtype"}) {
    if (!members.has(key)) continue;
    return failure(ErrorCode::unsupported, "{}: modules with a {} of their own are not supported",
                   escaped(members.where()), key);
  }
  Rule rule{.text = text, .is_quantized = !text.starts_with("-:")};
  DEQUANT_TRY(rule.settings, settings_of(members, all_));
  const bool marked = !rule.is_quantized || text.starts_with("+:");
  has_unknown_ = !patterns_.add_regex(std::string_view(text).substr(marked ? 2 : 0));
  if (!has_unknown_) rules_.push_back(std::move(rule));
  return {};
}

const char* gptq_layout_key(const Section& config) {
  return config.has("checkpoint_format") ? "checkpoint_format" : "format";
}

Result<std::string> gptq_layout(const Section& config) {
  DEQUANT_TRY(auto layout, config.text(gptq_layout_key(config)));
  return std::move(layout).value_or("gptq");
}

Result<GptqModules> GptqModules::read(const Section& config) {
  GptqModules modules;
  DEQUANT_TRY(const auto bits, config.integer("bits"));
  if (!bits) return config.wrong("bits", "a number of bits");
  DEQUANT_TRY(const auto group_size, config.integer("group_size"));
  if (!group_size) return config.wrong("group_size", "a number of inputs, or -1");
  DEQUANT_TRY(modules.all_, settings_of(config, {}));
  DEQUANT_TRY(const Section dynamic, config.object("dynamic"));
  if (dynamic.empty()) return modules;
  size_t characters = 0;
  for (const auto& [text, value] : config.find("dynamic")->items()) {
    characters += text.size();
    if (characters > Patterns::kMostCharacters) {
      return failure(ErrorCode::limit, "{}: expressions have more than {} characters",
                     dynamic.where(), Patterns::kMostCharacters);
    }
    DEQUANT_TRY(const Section members, dynamic.object(text));
    DEQUANT_CHECK(modules.add(text, members));
    if (modules.has_unknown_) break;
  }
  DEQUANT_CHECK(modules.patterns_.compile());
  return modules;
}

Result<std::optional<GptqSettings>> GptqModules::find(std::string_view module) const {
  const auto first = patterns_.first(module);
  if (!first && has_unknown_) return std::optional<GptqSettings>();
  if (!first) return std::optional(all_);
  const Rule& rule = rules_[*first];
  if (rule.is_quantized) return std::optional(rule.settings);
  return failure(ErrorCode::malformed,
                 "module {}: has a qweight, and \"{}\" of dynamic says that it is not quantized",
                 escaped(module), escaped(rule.text));
}

}  // namespace dequant::format::checkpoint

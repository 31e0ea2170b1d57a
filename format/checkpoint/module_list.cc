// Lists of modules in configurations.
#include "format/checkpoint/module_list.h"

#include <nlohmann/json.hpp>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

constexpr std::string_view kExpression = "re:";

}  // namespace

Result<ModuleList> ModuleList::expressions(const Section& section, std::string_view key) {
  return read(section, key, &ModuleList::add_expression);
}

Result<ModuleList> ModuleList::wildcards(const Section& section, std::string_view key) {
  return read(section, key, &ModuleList::add_wildcard);
}

Result<ModuleList> ModuleList::read(const Section& section, std::string_view key, Add add) {
  ModuleList list;
  const nlohmann::ordered_json* value = section.find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) return section.wrong(key, "a list of strings");
  for (const nlohmann::ordered_json& item : *value) {
    if (!item.is_string()) return section.wrong(key, "a list of strings");
    if (auto status = (list.*add)(item.get_ref<const std::string&>()); !status)
      return in(std::string(key), std::move(status).error());
  }
  if (auto status = list.patterns_.compile(); !status)
    return in(std::string(key), std::move(status).error());
  return list;
}

Status ModuleList::count(std::string_view pattern) {
  characters_ += pattern.size();
  if (characters_ <= Patterns::kMostCharacters) return {};
  return failure(ErrorCode::limit, "more than {} characters of patterns of names",
                 Patterns::kMostCharacters);
}

Status ModuleList::add_expression(const std::string& text) {
  if (!text.starts_with(kExpression)) {
    // The name of a class has no dot, but neither has that of a module such as lm_head.
    may_be_ = may_be_ || text.find('.') == text.npos;
    names_.insert(text);
    return {};
  }
  DEQUANT_CHECK(count(text));
  if (!patterns_.add_regex(std::string_view(text).substr(kExpression.size()))) may_be_ = true;
  return {};
}

Status ModuleList::add_wildcard(const std::string& text) {
  if (text.find_first_of("*?[") == text.npos) {
    names_.insert(text);
    return {};
  }
  DEQUANT_CHECK(count(text));
  if (!patterns_.add_wildcard(text)) may_be_ = true;
  return {};
}

ModuleList::Match ModuleList::find(std::string_view module) const {
  if (names_.contains(std::string(module))) return Match::name;
  if (patterns_.matches(module)) return Match::pattern;
  return may_be_ ? Match::may_be : Match::no;
}

Status ModuleList::check_absent(const Entry& weight, std::string_view module) const {
  if (!has(module)) return {};
  return failure(ErrorCode::malformed,
                 "tensor {}: its type is {}, and the configuration leaves module {} unquantized",
                 escaped(weight.name()), weight.dtype(), escaped(module));
}

}  // namespace dequant::format::checkpoint

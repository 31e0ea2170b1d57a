// Names of the tensors of a module: "X.qweight", "X.scales".
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// "X" of "X.qweight", with the end ".qweight"; nothing for names with another end.
inline std::optional<std::string> module_of(std::string_view name, std::string_view end) {
  if (!name.ends_with(end)) return {};
  return std::string(name.substr(0, name.size() - end.size()));
}

/// True where a list has the name.
inline bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// True for a name with one of the ends, as ".input_scale", and for "input_scale" alone.
inline bool ends_in(std::string_view name, std::span<const std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
    return name.ends_with(end) || name == end.substr(1);
  });
}

/// The tensor of a module, or null.
inline const Entry* find(const Groups& groups, std::string_view module, std::string_view end) {
  return groups.find(std::string(module) + std::string(end));
}

/// The tensor of a module that `entry` is of no use without. Fails with malformed where it is not
/// there.
Result<const Entry*> require(const Groups& groups, const Entry& entry, std::string_view module,
                             std::string_view end);

/// The tensors of a module whose codes share words, as of GPTQ and AWQ.
struct WordsModule {
  std::string name;
  const Entry* qweight;
  const Entry* qzeros;
  const Entry* scales;
};

/// The module of which `entry` is the qweight; nothing for other tensors. Fails with malformed
/// where there are no qzeros or no scales.
Result<std::optional<WordsModule>> words_module(const Groups& groups, const Entry& entry);

}  // namespace dequant::format::checkpoint

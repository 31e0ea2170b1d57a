// Names of the tensors of a module: "X.qweight", "X.scales".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// "X" of "X.qweight", with the end ".qweight"; nothing for names with another end.
inline std::optional<std::string> module_of(std::string_view name, std::string_view end) {
  if (!name.ends_with(end)) return {};
  return std::string(name.substr(0, name.size() - end.size()));
}

/// The tensor of a module, or null.
inline const Entry* find(const Groups& groups, std::string_view module, std::string_view end) {
  return groups.find(std::string(module) + std::string(end));
}

/// The tensor of a module that `entry` is of no use without. Fails with malformed where it is not
/// there.
Result<const Entry*> require(const Groups& groups, const Entry& entry, std::string_view module,
                             std::string_view end);

}  // namespace dequant::format::checkpoint

// Options of a conversion.
#include "format/model/write_options.h"

#include <fnmatch.h>

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format {

bool Selection::wants(std::initializer_list<const char*> names) const {
  const auto matches = [&](const std::string& glob) {
    const bool found = std::any_of(names.begin(), names.end(), [&](const char* name) {
      return *name != '\0' && ::fnmatch(glob.c_str(), name, 0) == 0;
    });
    if (found) matched.insert(glob);
    return found;
  };
  // Every glob is tried with every name: warnings() reports globs that no call has matched.
  const auto included = std::ranges::count_if(include, matches);
  const auto excluded = std::ranges::count_if(exclude, matches);
  return (include.empty() || included > 0) && excluded == 0;
}

std::vector<std::string> Selection::warnings() const {
  std::vector<std::string> out;
  const auto add = [&](std::string_view option, const std::vector<std::string>& globs) {
    for (const std::string& glob : globs) {
      if (!matched.contains(glob))
        out.push_back(fmt::format("{} \"{}\" matches no quantized tensor", option, escaped(glob)));
    }
  };
  add("include", include);
  add("exclude", exclude);
  return out;
}

}  // namespace dequant::format

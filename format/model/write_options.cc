// Options of a conversion.
#include "format/model/write_options.h"

#include <fnmatch.h>

#include <algorithm>

namespace dequant::format {

bool Selection::wants(std::initializer_list<const char*> names) const {
  const auto matches = [&](const std::string& glob) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) {
      return *name != '\0' && ::fnmatch(glob.c_str(), name, 0) == 0;
    });
  };
  return (include.empty() || std::any_of(include.begin(), include.end(), matches)) &&
         std::none_of(exclude.begin(), exclude.end(), matches);
}

}  // namespace dequant::format

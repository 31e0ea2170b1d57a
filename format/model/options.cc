// Flags among the options of formats.
#include "format/model/options.h"

#include "format/io/errors.h"

namespace dequant::format {

Result<bool> FormatOptions::flag(std::string_view name) const {
  const auto found = given_.find(name);
  if (found == given_.end()) return false;
  if (found->second.empty()) return true;
  return failure(ErrorCode::invalid_argument, "{} is a flag, which has no value: \"{}\"", name,
                 escaped(found->second));
}

}  // namespace dequant::format

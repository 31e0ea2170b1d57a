// The tensors of a module.
#include "format/checkpoint/modules.h"

#include "format/io/errors.h"

namespace dequant::format::checkpoint {

Result<const Entry*> require(const Groups& groups, const Entry& entry, std::string_view module,
                             std::string_view end) {
  if (const Entry* found = find(groups, module, end)) return found;
  return failure(ErrorCode::malformed, "tensor {}: there is no {}{}", escaped(entry.name()),
                 escaped(module), end);
}

}  // namespace dequant::format::checkpoint

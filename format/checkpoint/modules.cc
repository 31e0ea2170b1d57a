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

Result<std::optional<WordsModule>> words_module(const Groups& groups, const Entry& entry) {
  auto name = module_of(entry.name(), ".qweight");
  if (!name) return std::optional<WordsModule>();
  DEQUANT_TRY(const Entry* qzeros, require(groups, entry, *name, ".qzeros"));
  DEQUANT_TRY(const Entry* scales, require(groups, entry, *name, ".scales"));
  return std::optional(WordsModule{*std::move(name), &entry, qzeros, scales});
}

}  // namespace dequant::format::checkpoint

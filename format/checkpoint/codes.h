// Tensors that hold codes: by their types, and by the names that schemes give to these.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// Why the codes of a tensor that no scheme has a use for cannot be dequantized, as the end of a
/// sentence; nothing for a tensor that holds no codes.
std::optional<std::string> why_not_dequantized(const Groups& groups, const Entry& entry);

/// A tensor that may be the scale of codes, by its name; null: there is none.
const Entry* scale_beside(const Groups& groups, const Entry& codes);

/// A warning about tensors of integers that are copied from a checkpoint in which nothing is
/// dequantized, though they are a large part of it: they may be codes of a scheme that dequant does
/// not know. Empty where there are none, and where unknown() has tensors, which another one names.
std::string warning_of_integers(const Groups& groups);

}  // namespace dequant::format::checkpoint

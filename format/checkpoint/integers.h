// The numbers of small stored tensors that say something of other tensors, such as a shape; and
// numbers as text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "format/checkpoint/shards.h"

namespace dequant::format::checkpoint {

/// The numbers of a tensor of type I64 or I32. Fails with malformed for another type, and as
/// Shards::read() does: `most` are bytes.
Result<std::vector<int64_t>> read_integers(const Shards& shards, const Entry& entry, int64_t most);

/// Numbers as an option of a scheme: "64,256".
std::string option_of(std::span<const int64_t> numbers);

}  // namespace dequant::format::checkpoint

// Stored zero points of all ones, on which readers of GPTQ's first format disagree.
#pragma once

#include "format/checkpoint/shards.h"

namespace dequant::format::checkpoint {

/// How many of the first `count` codes in each row of a matrix of 32-bit words are all ones; the
/// codes of a row are one stream of bits. A row with fewer bits has none of the further codes.
/// Fails with io.
Result<int64_t> count_all_ones(const Shards& shards, const Entry& matrix, int64_t count, int bits);

}  // namespace dequant::format::checkpoint

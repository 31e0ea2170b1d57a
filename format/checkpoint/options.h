// The options that only checkpoints have.
#pragma once

#include <array>
#include <string_view>

#include "format/dense/options.h"

namespace dequant::format::checkpoint {

inline constexpr std::array<std::string_view, 6> kOptions{
    "audit", "keep-unknown", "max-shard-size", "others", "resume", "shards"};

struct Options : dense::Options {
  /// Tensors whose scheme is not known are copied, not refused.
  bool keep_unknown = false;
  /// The output has the files of the input, by names and tensors.
  bool shards_as_input = false;
};

/// Fails with invalid_argument for an option with a wrong value.
Result<Options> read_options(const FormatOptions& given);

}  // namespace dequant::format::checkpoint

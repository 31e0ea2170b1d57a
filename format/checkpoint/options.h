// The options that only checkpoints have.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/model/options.h"

namespace dequant::format::checkpoint {

inline constexpr std::array<std::string_view, 6> kOptions{
    "audit", "keep-unknown", "max-shard-size", "others", "resume", "shards"};

struct Options {
  /// Tensors whose scheme is not known are copied, not refused.
  bool keep_unknown = false;
  /// Tensors that are not quantized get the type of the dequantized ones.
  bool others_same = false;
  /// The output has the files of the input, by names and tensors.
  bool shards_as_input = false;
  int64_t max_shard_bytes = 5'000'000'000;
  /// Files that an interrupted conversion has completed are kept.
  bool resume = false;
  std::string audit;  ///< the path of the audit that is written; empty: none
};

/// Fails with invalid_argument for an option with a wrong value.
Result<Options> read_options(const FormatOptions& given);

}  // namespace dequant::format::checkpoint

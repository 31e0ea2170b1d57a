// The options that only checkpoints have.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dequant/status.h"
#include "format/model/options.h"

namespace dequant::format::checkpoint {

inline constexpr std::array<std::string_view, 4> kOptions{"keep-unknown", "others",
                                                          "max-shard-size", "shards"};

struct Options {
  /// Tensors whose scheme is not known are copied, not refused.
  bool keep_unknown = false;
  /// Tensors that are not quantized get the type of the dequantized ones.
  bool others_same = false;
  /// The files of the output are those of the input.
  bool shards_as_input = false;
  int64_t max_shard_bytes = 5'000'000'000;
};

/// Fails with invalid_argument for an option with a wrong value.
Result<Options> read_options(const FormatOptions& given);

}  // namespace dequant::format::checkpoint

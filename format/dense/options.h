// The options of formats whose dense models are files of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/model/options.h"

namespace dequant::format::dense {

inline constexpr std::array<std::string_view, 4> kOptions{"audit", "max-shard-size", "others",
                                                          "resume"};

struct Options {
  /// Tensors that are not quantized get the type of the dequantized ones.
  bool others_same = false;
  int64_t max_shard_bytes = 5'000'000'000;
  /// Files that an interrupted conversion has completed are kept.
  bool resume = false;
  std::string audit;  ///< the path of the audit that is written; empty: none
};

/// Fails with invalid_argument for an option with a wrong value.
Result<Options> read_options(const FormatOptions& given);

/// Demands that a conversion which continues another writes a folder. Fails with invalid_argument.
Status check_resume(const Options& options, bool to_folder);

/// The error of an option with a wrong value: "others "x" is not keep or same".
Error wrong_option(std::string_view option, std::string_view value, const char* allowed);

}  // namespace dequant::format::dense

// AutoRound stores tensors as other producers do: its configuration says which of these.
#pragma once

#include <array>
#include <string_view>

#include "format/checkpoint/section.h"

namespace dequant::format::checkpoint {

/// The values of quant_method that AutoRound writes.
inline constexpr std::array<std::string_view, 2> kAutoRound{"auto-round", "intel/auto-round"};

bool is_auto_round(std::string_view method);

enum class AutoRoundLayout {
  gptq,     ///< zero points minus 1
  gptq_v2,  ///< zero points
  awq,
};

/// The layout that packing_format, or backend in old files, names. Fails with unsupported where it
/// is none of these, or where data_type is no kind of int; and with malformed.
Result<AutoRoundLayout> auto_round_layout(const Section& section);

}  // namespace dequant::format::checkpoint

// The layouts of AutoRound.
#include "format/checkpoint/schemes/auto_round.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

struct Packing {
  std::string_view name;
  AutoRoundLayout layout;
};
constexpr std::array kPackings{
    Packing{"auto_round:auto_gptq", AutoRoundLayout::gptq},
    Packing{"auto_round:gptq", AutoRoundLayout::gptq},
    Packing{"auto_round:gptq:exllamav2", AutoRoundLayout::gptq},
    Packing{"auto_round:gptqmodel", AutoRoundLayout::gptq_v2},
    Packing{"auto_round", AutoRoundLayout::gptq_v2},
    Packing{"auto_round:exllamav2", AutoRoundLayout::gptq_v2},
    Packing{"auto_round:triton", AutoRoundLayout::gptq_v2},
    Packing{"auto_round:auto_awq", AutoRoundLayout::awq},
    Packing{"auto_round:awq", AutoRoundLayout::awq},
};

}  // namespace

bool is_auto_round(std::string_view method) {
  return std::find(kAutoRound.begin(), kAutoRound.end(), method) != kAutoRound.end();
}

Result<AutoRoundLayout> auto_round_layout(const Section& section) {
  // Floats and MX types have layouts of their own, some under the name of one of integers.
  DEQUANT_TRY(const auto type, section.text("data_type"));
  if (type && !type->starts_with("int")) {
    return failure(ErrorCode::unsupported,
                   "config.json: data_type \"{}\" of AutoRound is not one that dequant reads: int",
                   escaped(*type));
  }
  const char* key = section.has("packing_format") ? "packing_format" : "backend";
  DEQUANT_TRY(const auto name, section.text(key));
  for (const Packing& packing : kPackings) {
    if (name && *name == packing.name) return packing.layout;
  }
  if (!name) return section.wrong("packing_format", "the name of a layout");
  return failure(ErrorCode::unsupported,
                 "config.json: {} \"{}\" of AutoRound is not one that dequant reads", key,
                 escaped(*name));
}

}  // namespace dequant::format::checkpoint

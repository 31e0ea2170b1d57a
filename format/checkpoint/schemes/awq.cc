// AWQ: "X.qweight", "X.qzeros" and "X.scales" become "X.weight".
#include <algorithm>
#include <array>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/auto_round.h"
#include "format/checkpoint/schemes/gptq_modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

constexpr std::string_view kGptq = "gptq";
constexpr std::array kMethods{std::string_view("awq"), kGptq, kAutoRound[0], kAutoRound[1]};

/// The first of two keys that the section has: quant_config.json has names of its own.
const char* key_of(const Section& section, const char* key, const char* old) {
  return section.has(key) ? key : old;
}

/// The layout, gemm or gemv, whose name may have capital letters. The default is gemm.
Result<std::string> layout_of(const Section& section) {
  const char* key = section.has("version")             ? "version"
                    : section.has("checkpoint_format") ? "checkpoint_format"
                                                       : "format";
  DEQUANT_TRY(auto layout, section.text(key));
  std::string lower = layout.value_or("gemm");
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (lower == "gemm" || lower == "gemv") return lower;
  return failure(ErrorCode::unsupported,
                 "{} \"{}\" of AWQ is not supported: only the layouts gemm and gemv are read", key,
                 escaped(*layout));
}

/// The member zero_point says how codes were chosen. qzeros is there and read either way: without
/// zero points GPTQModel stores the middle, 8.
Status check_bits(std::optional<int64_t> bits) {
  if (!bits || *bits == 4) return {};
  return failure(ErrorCode::unsupported, "AWQ with {} bits is not supported", *bits);
}

/// "X.scales" of an activation X, as of falcon and mpt: AutoAWQ multiplies columns of the next
/// weight by these factors before it quantizes that, and its model divides the results of X by
/// them.
Status drop_output_factors(Groups& groups) {
  for (const Entry& entry : groups.shards().entries()) {
    const auto module = module_of(entry.name(), ".scales");
    if (!module || groups.is_used(entry) || entry.shape().size() != 1) continue;
    if (find(groups, *module, ".weight") != nullptr) continue;
    groups.warn(fmt::format(
        "tensor {}: the dense model does not have these factors, by which the quantized model "
        "divides the results of {}: divide column i of the weight that takes them by factor i",
        escaped(entry.name()), escaped(*module)));
    DEQUANT_CHECK(groups.drop(entry, "it divides the results of an activation"));
  }
  return {};
}

Status recognise_modules(Groups& groups) {
  const Section section(groups.config().quantization(), "the quantization config");
  std::string version = "gemm";
  if (is_auto_round(groups.config().method())) {
    DEQUANT_TRY(const AutoRoundLayout layout, auto_round_layout(section));
    if (layout != AutoRoundLayout::awq) return {};
  } else if (groups.config().method() == kGptq) {
    DEQUANT_TRY(const std::string layout, gptq_layout(section));
    if (layout != kGptqGemm) return {};
  } else {
    DEQUANT_TRY(version, layout_of(section));
  }
  DEQUANT_TRY(const auto bits, section.integer(key_of(section, "bits", "w_bit")));
  DEQUANT_CHECK(check_bits(bits));
  const char* key = key_of(section, "group_size", "q_group_size");
  DEQUANT_TRY(const auto group_size, section.integer(key));
  if (!group_size) return section.wrong("group_size", "a number of inputs, or -1");
  DEQUANT_TRY(const auto extra, AutoRoundModules::read(section));
  for (const Entry& entry : groups.shards().entries()) {
    const auto name = module_of(entry.name(), ".qweight");
    if (!name) continue;
    DEQUANT_TRY(const Entry* qzeros, require(groups, entry, *name, ".qzeros"));
    DEQUANT_TRY(const Entry* scales, require(groups, entry, *name, ".scales"));
    const AutoRoundModules::Settings* own = extra.find(*name);
    if (own != nullptr) DEQUANT_CHECK(check_bits(own->bits));
    const std::string size_text =
        std::to_string(own != nullptr ? own->group_size.value_or(*group_size) : *group_size);
    const std::array options{SchemeOption{"group_size", size_text},
                             SchemeOption{"version", version}};
    const std::array tensors{Named{"qweight", &entry}, Named{"qzeros", qzeros},
                             Named{"scales", scales}};
    DEQUANT_CHECK(groups.add(*name + ".weight", "awq", tensors, options));
  }
  return drop_output_factors(groups);
}

}  // namespace

const Scheme kAwq{"awq", kMethods, nullptr, &recognise_modules};

}  // namespace dequant::format::checkpoint

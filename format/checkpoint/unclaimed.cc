// What becomes of tensors that no scheme has a use for.
#include "format/checkpoint/unclaimed.h"

#include <algorithm>
#include <array>

#include "format/checkpoint/activations.h"
#include "format/checkpoint/codes.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/scheme.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

constexpr std::array<std::string_view, 4> kFloats{"F16", "BF16", "F32", "F64"};

/// The end of the name of a scale, and the end that the name of its weight has instead.
struct ScaleName {
  std::string_view scale;
  std::string_view weight;
};
constexpr std::array kScales{
    ScaleName{".weight_scale", ".weight"},      ScaleName{".weight_scale_inv", ".weight"},
    ScaleName{".weight_scale_2", ".weight"},    ScaleName{".weight_global_scale", ".weight"},
    ScaleName{".weight_zero_point", ".weight"}, ScaleName{".scale_weight", ".weight"},
    ScaleName{".qscale_weight", ".weight"},     ScaleName{"_weight_scale", ""},
    ScaleName{"_weight_scale_2", ""},           ScaleName{"_scale_inv", ""},
};

/// True where some tensor of the checkpoint is quantized.
bool is_quantized(const Groups& groups) {
  return !groups.groups().empty() || groups.config().quantization() != nullptr;
}

/// The end of the sentence that refuses codes. Float8 tensors of a model whose other tensors are
/// quantized may be values, which the output with the other tensors as floats shows.
std::string_view how_to_keep(const Groups& groups, const Entry& codes) {
  const bool may_be_values = codes.dtype().starts_with("F8_") && !groups.groups().empty() &&
                             scale_beside(groups, codes) == nullptr;
  return may_be_values ? "keep-unknown keeps such tensors as they are, and a conversion of that "
                         "output takes float8 tensors as values where nothing can be a scale"
                       : "keep-unknown keeps such tensors as they are, to an output that is not a "
                         "dense model";
}

/// The scheme that has the tensor by Scheme::is_own(), if config.json names another one; else null.
const Scheme* other_scheme(const Groups& groups, const Entry& entry) {
  if (groups.config().method().empty()) return nullptr;  // recognise() has tried all schemes
  for (const Scheme* scheme : schemes()) {
    if (scheme->is_own != nullptr && scheme->is_own(groups, entry)) return scheme;
  }
  return nullptr;
}

Unclaimed decide_on_scale(const Groups& groups, const Entry& entry,
                          const std::string& weight_name) {
  const Entry* weight = groups.find(weight_name);
  if (weight == nullptr) {
    return {.refused = failure(ErrorCode::malformed,
                               "tensor {}: there is no {} that it may be the scale of; "
                               "keep-unknown keeps such tensors as they are",
                               escaped(entry.name()), escaped(weight_name))};
  }
  if (groups.is_used(*weight)) {
    return {.refused = failure(ErrorCode::malformed,
                               "tensor {}: {} has a scale already, and is dequantized without this "
                               "one; keep-unknown keeps such tensors as they are",
                               escaped(entry.name()), escaped(weight_name))};
  }
  const bool is_dense = contains(kFloats, weight->dtype());
  if (is_dense && is_quantized(groups)) return {.dropped = "its weight is stored as floats"};
  return {};
}

}  // namespace

bool has_name_of_scale(std::string_view name) {
  return std::ranges::any_of(
      kScales, [&](const ScaleName& names) { return module_of(name, names.scale).has_value(); });
}

Unclaimed decide_on(const Groups& groups, const Entry& entry) {
  if (quantizes_activations(groups, entry))
    return {.dropped = "it quantizes activations or a cache"};
  for (const ScaleName& names : kScales) {
    if (const auto module = module_of(entry.name(), names.scale))
      return decide_on_scale(groups, entry, *module + std::string(names.weight));
  }
  if (const auto why = why_not_dequantized(groups, entry)) {
    return {.refused =
                failure(ErrorCode::unsupported, "tensor {} of type {}: {}; {}",
                        escaped(entry.name()), entry.dtype(), *why, how_to_keep(groups, entry))};
  }
  // The output has no quant_method: a copy of the tensor alone would identify its scheme there.
  if (const Scheme* other = other_scheme(groups, entry)) {
    return {.refused =
                failure(ErrorCode::unsupported,
                        "tensor {}: it is one of {}, and config.json says quant_method "
                        "\"{}\"; keep-unknown keeps such tensors as they are",
                        escaped(entry.name()), other->name, escaped(groups.config().method()))};
  }
  return {};
}

}  // namespace dequant::format::checkpoint

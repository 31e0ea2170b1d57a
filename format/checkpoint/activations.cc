// Tensors that quantize activations or caches.
#include "format/checkpoint/activations.h"

#include <algorithm>
#include <array>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/section.h"

namespace dequant::format::checkpoint {
namespace {

/// Ends of the names of tensors that quantize activations, never weights.
constexpr std::array<std::string_view, 9> kOfModules{
    ".input_scale",  ".input_global_scale", ".input_zero_point",
    ".output_scale", ".output_zero_point",  ".activation_scale",
    ".qscale_act",   ".scale_input",        ".input_scale_ub",
};

/// The same behind the whole name of a weight that is not called "weight", as experts are not.
constexpr std::array<std::string_view, 2> kOfNames{"_activation_scale", "_input_scale"};

/// Ends of the names of tensors that quantize queries, keys and values.
constexpr std::array<std::string_view, 7> kOfCaches{
    ".k_scale",      ".v_scale",      ".q_scale",      ".kv_scale",
    ".k_zero_point", ".v_zero_point", ".q_zero_point",
};

/// Members of configurations that say that caches are quantized: of compressed-tensors and
/// ModelOpt, of hf_quant_config.json, and of Quark.
constexpr std::array<std::string_view, 3> kCacheKeys{"kv_cache_scheme", "kv_cache_quant_algo",
                                                     "kv_cache_quant_config"};

/// One number, or [heads, 1, 1], as compressed-tensors has one for each head.
bool has_shape_of_cache(Shape shape) {
  const auto is_one = [](int64_t size) { return size == 1; };
  const bool by_head = shape.size() == 3;
  return std::all_of(shape.begin() + (by_head ? 1 : 0), shape.end(), is_one);
}

bool has_quantized_caches(const Config& config) {
  const Section section(config.quantization(), "");
  const Section whole_file(config.file("hf_quant_config.json"), "");
  const Section file(whole_file.find("quantization"), "");
  return std::any_of(kCacheKeys.begin(), kCacheKeys.end(), [&](std::string_view key) {
    return section.says_something(key) || file.says_something(key);
  });
}

}  // namespace

bool quantizes_activations(const Groups& groups, const Entry& entry) {
  const std::string_view name = entry.name();
  if (ends_in(name, kOfModules)) return true;
  for (const std::string_view end : kOfNames) {
    const auto weight = module_of(name, end);
    if (weight && groups.find(*weight) != nullptr) return true;
  }
  return ends_in(name, kOfCaches) &&
         (has_shape_of_cache(entry.shape()) || has_quantized_caches(groups.config()));
}

}  // namespace dequant::format::checkpoint

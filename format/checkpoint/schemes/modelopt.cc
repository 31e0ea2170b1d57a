// ModelOpt: "X.weight", "X.weight_scale" and, of NVFP4, "X.weight_scale_2", as quant_algo says; of
// stacked experts "W", "W_weight_scale" and "W_weight_scale_2".

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "format/checkpoint/module_list.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/comfy_layers.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace modelopt {

using nlohmann::ordered_json;

constexpr std::string_view kScheme = "modelopt";
constexpr std::array kMethods{kScheme};
constexpr std::string_view kFile = "hf_quant_config.json";
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kMixed = "MIXED_PRECISION";
/// The layout whose bytes have codes of two rows.
constexpr std::string_view kPairs = "W4A16_AWQ";

/// Modules, each in the next one, that are looked for in quantized_layers.
constexpr int kMostModules = 64;

/// A quant_algo in capitals, and the one whose layout it has.
struct Layout {
  std::string_view algorithm;
  std::string_view layout;
};

constexpr std::array<Layout, 13> kLayouts{{
    {"FP8", "FP8"},
    {"FP8_PER_CHANNEL_PER_TOKEN", "FP8_PER_CHANNEL_PER_TOKEN"},
    {"FP8_PB_WO", "FP8_PB_WO"},
    {"W8A8_SQ_PER_CHANNEL", "W8A8_SQ_PER_CHANNEL"},
    {"W8A16", "W8A8_SQ_PER_CHANNEL"},
    {"NVFP4", "NVFP4"},
    {"NVFP4_AWQ", "NVFP4"},
    {"W4A16_NVFP4", "NVFP4"},
    {"W4A8_NVFP4_FP8", "NVFP4"},
    {"MXFP4", "MXFP4"},
    {"W4A8_MXFP4_FP8", "MXFP4"},
    {"MXFP8", "MXFP8"},
    {kPairs, kPairs},
}};

/// What a configuration says of modules.
struct Quantized {
  std::string algorithm;  ///< in capitals; empty: none
  std::optional<int64_t> group_size = {};
};

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

bool is_quantized(const Entry& weight) {
  return weight.dtype() == "I8" || weight.dtype() == "U8" || weight.dtype().starts_with("F8_");
}

/// A key of the metadata of files that ModelOpt has made for ComfyUI, where it may have swizzled
/// the scales of NVFP4: nothing else in a file says so. Empty for other files.
std::string_view deployment_key(const Shard& shard) {
  for (const auto& pair : shard.header.metadata()) {
    if (pair.key() == kQuantizationConfig || pair.key() == ComfyLayers::kMetadata)
      return pair.key();
  }
  return {};
}

/// The module of a weight, and the names of the tensors beside the weight.
struct Names {
  std::string module;
  std::string scale;
  std::string second_scale;
};

/// "X.weight" has "X.weight_scale"; the experts of a layer "X.gate_up_proj", one parameter of
/// module X, have "X.gate_up_proj_weight_scale".
Names names_of(const Entry& weight) {
  const std::string name(weight.name());
  const auto module = module_of(name, kWeight);
  const std::string start = module ? *module + "." : name + "_";
  const size_t dot = name.rfind('.');
  return {module ? *module : name.substr(0, dot), start + "weight_scale", start + "weight_scale_2"};
}

/// True where a byte has codes of two inputs: of the weight [..., in / 2, out] and the scales [...,
/// in / 16, out]. No shapes of codes and scales along the rows are such.
bool is_transposed(const Entry& weight, const Entry& scale) {
  const Shape a = weight.shape();
  const Shape b = scale.shape();
  const size_t rank = a.size();
  return rank >= 2 && b.size() == rank && a[rank - 2] > 0 && a[rank - 1] == b[rank - 1] &&
         a[rank - 2] % 8 == 0 && a[rank - 2] / 8 == b[rank - 2];
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    DEQUANT_CHECK(read());
    for (const Shard& shard : groups_.shards().files())
      deployment_keys_.push_back(deployment_key(shard));
    for (const Entry& entry : groups_.shards().entries()) {
      if (!is_quantized(entry)) continue;
      const Names names = names_of(entry);
      if (groups_.find(names.scale) != nullptr) DEQUANT_CHECK(add(entry, names));
    }
    return drop_others();
  }

 private:
  /// Reads config.json, and hf_quant_config.json, which says the same in other words.
  Status read() {
    const ordered_json* own = groups_.config().quantization();
    const ordered_json* file = groups_.config().file(kFile);
    DEQUANT_TRY(const Section of_file, Section(file, kFile).object("quantization"));
    const Section of_config(own, kQuantizationConfig);
    DEQUANT_TRY(const auto a, of_config.text("quant_algo"));
    DEQUANT_TRY(const auto b, of_file.text("quant_algo"));
    // Neither: only caches are quantized.
    all_.algorithm = capitals(a ? *a : b.value_or(""));
    if (a && b && all_.algorithm != capitals(*b)) {
      return failure(ErrorCode::malformed, "quant_algo is \"{}\" in config.json and \"{}\" in {}",
                     escaped(*a), escaped(*b), kFile);
    }
    DEQUANT_TRY(const auto size, of_config.integer("group_size"));
    DEQUANT_TRY(const auto size_of_file, of_file.integer("group_size"));
    all_.group_size = size ? size : size_of_file;
    DEQUANT_TRY(ignored_, ModuleList::wildcards(of_config, "ignore"));
    DEQUANT_TRY(excluded_, ModuleList::wildcards(of_file, "exclude_modules"));
    if (all_.algorithm != kMixed) return {};
    DEQUANT_CHECK(read_layers(of_config));
    return read_layers(of_file);
  }

  /// The algorithm of each module.
  Status read_layers(const Section& section) {
    DEQUANT_TRY(const Section layers, section.object("quantized_layers"));
    if (!section.has("quantized_layers")) return {};
    for (const auto& [name, value] : section.find("quantized_layers")->items()) {
      if (!value.is_object()) return layers.wrong(name, "an object");
      const Section layer(&value, escaped(name));
      DEQUANT_TRY(const auto algorithm, layer.text("quant_algo"));
      if (!algorithm) return layer.wrong("quant_algo", "the name of an algorithm");
      DEQUANT_TRY(const auto group_size, layer.integer("group_size"));
      const auto [other, added] =
          layers_.emplace(name, Quantized{capitals(*algorithm), group_size});
      if (added || other->second.algorithm == capitals(*algorithm)) continue;
      return failure(ErrorCode::malformed, "{}: quant_algo is \"{}\" in one file and \"{}\" in {}",
                     escaped(name), escaped(other->second.algorithm), escaped(*algorithm), kFile);
    }
    return {};
  }

  /// What the configuration says of a module, or else of the closest module that has it: ModelOpt
  /// names the experts of a layer as one module, and stores the parts of each.
  Result<Quantized> quantized(const Entry& weight, const std::string& module) const {
    if (all_.algorithm != kMixed) return all_;
    std::string name = module;
    for (int i = 0; i < kMostModules; ++i) {
      const auto layer = layers_.find(name);
      if (layer != layers_.end()) return layer->second;
      const size_t dot = name.rfind('.');
      if (dot == name.npos) break;
      name.resize(dot);
    }
    return failure(ErrorCode::malformed, "tensor {}: module {} is not in quantized_layers",
                   escaped(weight.name()), escaped(module));
  }

  /// The layout of an algorithm.
  Result<std::string_view> layout_of(const Entry& weight, std::string_view algorithm) const {
    for (const Layout& layout : kLayouts) {
      if (layout.algorithm == algorithm) return layout.layout;
    }
    if (algorithm.empty()) {
      return failure(ErrorCode::malformed,
                     "tensor {}: it has codes, and neither config.json nor {} has a quant_algo",
                     escaped(weight.name()), kFile);
    }
    return failure(ErrorCode::unsupported, "tensor {}: quant_algo {}: {}", escaped(weight.name()),
                   escaped(algorithm),
                   algorithm == "W4A8_AWQ"
                       ? "no text says how its products are rounded to FP8, and ModelOpt has no "
                         "dequantizer to compare with"
                       : "not one that dequant knows");
  }

  Status add(const Entry& weight, const Names& names) {
    const std::string& module = names.module;
    const Entry& scale = *groups_.find(names.scale);
    DEQUANT_CHECK(ignored_.check_absent(weight, module));
    DEQUANT_CHECK(excluded_.check_absent(weight, module));
    DEQUANT_TRY(const Quantized said, quantized(weight, module));
    DEQUANT_TRY(const std::string_view layout, layout_of(weight, said.algorithm));
    // The group_size of other layouts has one value, which their scales show.
    const std::string group_size =
        std::to_string(layout == kPairs ? said.group_size.value_or(0) : 0);
    const bool transposed = layout == "NVFP4" && is_transposed(weight, scale);
    const std::array options{SchemeOption{"quant_algo", layout},
                             SchemeOption{"group_size", group_size},
                             SchemeOption{"transposed", transposed ? "true" : "false"}};
    if (const auto key = deployment_keys_[scale.shard]; layout == "NVFP4" && !key.empty()) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: the metadata of its file have {}, as those of files for ComfyUI, "
                     "where scales of NVFP4 may be swizzled, and nothing says whether these are",
                     escaped(scale.name()), key);
    }
    const Entry* const second = groups_.find(names.second_scale);
    if (layout == "NVFP4" && second != nullptr) DEQUANT_CHECK(check_second(weight, *second));
    const std::array tensors{Named{"weight", &weight}, Named{"weight_scale", &scale},
                             Named{"weight_scale_2", second}};
    return groups_.add(std::string(weight.name()), kScheme, tensors, options);
  }

  /// A plan has one number for all codes, and stacked experts may have numbers of their own, or one
  /// for each half of an expert.
  static Status check_second(const Entry& weight, const Entry& second) {
    const Shape size = weight.shape();
    const Shape scales = second.shape();
    if (size.size() < 3 || scales.empty() || scales[0] != size[0]) return {};
    if (std::ranges::all_of(scales, [](int64_t n) { return n == 1; })) return {};
    return failure(
        ErrorCode::unsupported,
        "tensor {}: shape [{}], scales of single experts of {}: dequant reads one for all "
        "experts",
        escaped(second.name()), fmt::join(scales, ", "), escaped(weight.name()));
  }

  /// Parameters of inputs and of caches.
  Status drop_others() {
    for (const Entry& entry : groups_.shards().entries()) {
      if (groups_.is_used(entry)) continue;
      if (const auto module = module_of(entry.name(), ".pre_quant_scale"))
        DEQUANT_CHECK(drop_input_factors(entry, *module));
      const std::string_view name = entry.name();
      if (name.ends_with(".k_proj.k_bias") || name.ends_with(".v_proj.v_bias"))
        DEQUANT_CHECK(groups_.drop(entry, "it quantizes activations or a cache"));
    }
    return {};
  }

  /// ModelOpt's own dequantizer leaves pre_quant_scale out.
  Status drop_input_factors(const Entry& factors, const std::string& module) {
    groups_.warn(fmt::format(
        "tensor {}: the dense weight of {} does not have these factors, by which the model "
        "multiplies the inputs of the module: multiply column i of the weight by factor i",
        escaped(factors.name()), escaped(module)));
    return groups_.drop(factors, "it multiplies the inputs of its module");
  }

  Groups& groups_;
  Quantized all_;
  ModuleList ignored_;                                 ///< of config.json
  ModuleList excluded_;                                ///< of hf_quant_config.json
  std::unordered_map<std::string, Quantized> layers_;  ///< by module, if algorithms differ
  std::vector<std::string_view> deployment_keys_;      ///< by the index of the file
};

}  // namespace modelopt
}  // namespace

const Scheme kModelOpt{modelopt::kScheme, modelopt::kMethods, nullptr,
                       [](Groups& groups) { return modelopt::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint

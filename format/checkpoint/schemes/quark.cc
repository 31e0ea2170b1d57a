// Quark: "X.weight", "X.weight_scale" and, of integers, "X.weight_zero_point", as the
// configuration of weights says.
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "format/checkpoint/module_list.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace quark {

using nlohmann::ordered_json;

constexpr std::string_view kScheme = "quark";
constexpr std::array kMethods{kScheme};
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";
constexpr std::string_view kZeroPoint = ".weight_zero_point";
constexpr std::string_view kPerGroup = "per_group";

/// A dtype of the configuration that is an element with an E8M0 scale for each 32.
struct MxType {
  std::string_view dtype;
  std::string_view element;
};
constexpr std::array kMxTypes{MxType{"fp4", "float4e2m1"}, MxType{"fp6_e2m3", "float6e2m3"},
                              MxType{"fp6_e3m2", "float6e3m2"}, MxType{"fp8_e4m3", "float8e4m3fn"},
                              MxType{"fp8_e5m2", "float8e5m2"}};
constexpr int64_t kMxGroup = 32;
constexpr size_t kMostPatterns = 1000;

bool is_quantized(const Entry& weight) {
  const std::string_view type = weight.dtype();
  return type == "I8" || type == "U8" || type == "I32" || type.starts_with("F8_");
}

/// What the configuration says of weights.
struct Weights {
  std::string dtype;
  std::string scale_format;          ///< "e8m0": powers of two in bytes
  std::string scheme;                ///< qscheme: which elements share a scale
  std::optional<int64_t> axis = {};  ///< ch_axis: along which scales change
  int64_t group_size = 0;            ///< 0: none
};

/// A configuration of its own for the modules that a pattern matches.
struct Layer {
  Patterns pattern;
  Weights weights;
};

Result<Weights> read_weights(const Section& section) {
  const ordered_json* value = section.find("weight");
  if (value != nullptr && value->is_array()) {
    return failure(ErrorCode::unsupported, "{}: weights that are quantized in {} steps",
                   section.where(), value->size());
  }
  DEQUANT_TRY(const Section weight, section.object("weight"));
  Weights out;
  DEQUANT_TRY(const auto dtype, weight.text("dtype"));
  DEQUANT_TRY(const auto format, weight.text("scale_format"));
  DEQUANT_TRY(const auto scheme, weight.text("qscheme"));
  DEQUANT_TRY(out.axis, weight.integer("ch_axis"));
  DEQUANT_TRY(const auto group_size, weight.integer("group_size"));
  out.dtype = dtype.value_or("");
  out.scale_format = format.value_or("");
  out.scheme = scheme.value_or("");
  out.group_size = group_size.value_or(0);
  return out;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    DEQUANT_CHECK(read());
    for (const Entry& entry : groups_.shards().entries()) {
      const auto module = is_quantized(entry) ? module_of(entry.name(), kWeight) : std::nullopt;
      if (!module || find(groups_, *module, kScale) == nullptr) continue;
      DEQUANT_CHECK(excluded_.check_absent(entry, *module));
      DEQUANT_CHECK(add(entry, *module));
    }
    return {};
  }

 private:
  Status read() {
    const Section section(groups_.config().quantization(), kQuantizationConfig);
    DEQUANT_TRY(const Section all, section.object("global_quant_config"));
    DEQUANT_TRY(weights_, read_weights(all));
    DEQUANT_TRY(excluded_, ModuleList::wildcards(section, "exclude"));
    DEQUANT_TRY(const Section out, section.object("export"));
    DEQUANT_TRY(const auto order, out.text("pack_method"));
    order_ = order.value_or("reorder");
    DEQUANT_TRY(const Section classes, section.object("layer_type_quant_config"));
    if (!classes.empty()) {
      return failure(ErrorCode::unsupported,
                     "{}: layer_type_quant_config: a checkpoint does not say of which class a "
                     "module is",
                     kQuantizationConfig);
    }
    return read_layers(section);
  }

  Status read_layers(const Section& section) {
    DEQUANT_TRY(const Section layers, section.object("layer_quant_config"));
    if (layers.empty()) return {};
    for (const auto& [pattern, value] : section.find("layer_quant_config")->items()) {
      if (!value.is_object()) return layers.wrong(pattern, "an object");
      DEQUANT_TRY(Weights weights,
                  read_weights(Section(
                      &value, fmt::format("{}: {}", kQuantizationConfig, escaped(pattern)))));
      if (pattern.find_first_of("*?[") == pattern.npos) {
        modules_.emplace(pattern, std::move(weights));
        continue;
      }
      Layer layer{{}, std::move(weights)};
      if (!layer.pattern.add_wildcard(pattern)) return layers.wrong(pattern, "a pattern");
      DEQUANT_CHECK(layer.pattern.compile());
      layers_.push_back(std::move(layer));
      if (layers_.size() > kMostPatterns) {
        return failure(ErrorCode::limit, "{}: more than {} patterns", layers.where(),
                       kMostPatterns);
      }
    }
    return {};
  }

  /// The configuration of a module: that of its name, or of the first pattern that matches, or of
  /// all modules.
  const Weights& weights_of(const std::string& module) const {
    if (const auto own = modules_.find(module); own != modules_.end()) return own->second;
    for (const Layer& layer : layers_) {
      if (layer.pattern.matches(module)) return layer.weights;
    }
    return weights_;
  }

  Status add(const Entry& weight, const std::string& module) {
    const Weights& weights = weights_of(module);
    const Entry* const scale = find(groups_, module, kScale);
    const Entry* const zero = find(groups_, module, kZeroPoint);
    DEQUANT_CHECK(check_axis(weight, weights));
    const std::string_view dtype = weights.dtype;
    if (dtype == "int8" || dtype == "int4" || dtype == "uint4")
      return add_integers(weight, *scale, zero, weights);
    if (zero != nullptr) {
      return failure(ErrorCode::unsupported, "tensor {}: zero points of weights of dtype \"{}\"",
                     escaped(zero->name()), escaped(dtype));
    }
    if (weights.scale_format == "e8m0") return add_mx(weight, *scale, weights);
    if (dtype == "fp8_e4m3" || dtype == "fp8_e5m2") {
      const std::array tensors{Named{"weight", &weight}, Named{"weight_scale", scale}};
      DEQUANT_CHECK(check_type(weight, dtype == "fp8_e4m3" ? "F8_E4M3" : "F8_E5M2", dtype));
      return groups_.add(std::string(weight.name()), "fp8", tensors);
    }
    return refuse(weight, weights);
  }

  Status add_integers(const Entry& weight, const Entry& scale, const Entry* zero,
                      const Weights& weights) {
    const bool packed = weights.dtype != "int8";
    if (!packed && weights.scheme == kPerGroup) {
      return failure(
          ErrorCode::unsupported,
          "tensor {}: weights of dtype \"int8\" with qscheme \"{}\": only weights of 4 bits "
          "are read in groups",
          escaped(weight.name()), kPerGroup);
    }
    if (packed && order_ != "reorder") {
      return failure(ErrorCode::unsupported,
                     "tensor {}: codes of 4 bits with pack_method \"{}\": only \"reorder\" is read",
                     escaped(weight.name()), escaped(order_));
    }
    if (packed && !weights.scheme.empty() && weights.scheme != kPerGroup) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: codes of 4 bits with qscheme \"{}\": only \"{}\" is read",
                     escaped(weight.name()), escaped(weights.scheme), kPerGroup);
    }
    const std::string group_size = std::to_string(weights.group_size);
    const std::array options{SchemeOption{"weight_dtype", weights.dtype},
                             SchemeOption{"group_size", group_size}};
    const std::array tensors{Named{"weight", &weight}, Named{"weight_scale", &scale},
                             Named{"weight_zero_point", zero}};
    return groups_.add(std::string(weight.name()), kScheme, tensors, options);
  }

  Status add_mx(const Entry& weight, const Entry& scale, const Weights& weights) {
    for (const MxType& type : kMxTypes) {
      if (type.dtype != weights.dtype || weights.group_size != kMxGroup) continue;
      const std::array options{SchemeOption{"element", type.element}};
      const std::array tensors{Named{"weight", &weight}, Named{"scale", &scale}};
      DEQUANT_TRY(Group group,
                  groups_.group_of(std::string(weight.name()), "mx", tensors, options));
      // Quark computes 2^128 for the byte 255, which is infinite.
      group.plan.parameters.infinite_e8m0 = true;
      for (Plan& plan : group.variants) plan.parameters.infinite_e8m0 = true;
      return groups_.add(std::move(group));
    }
    return refuse(weight, weights);
  }

  /// Scales of rows, or of groups along these, are what shapes alone would be taken for.
  static Status check_axis(const Entry& weight, const Weights& weights) {
    const bool per_channel = weights.scheme == "per_channel";
    if (!weights.axis || (!per_channel && weights.scheme != kPerGroup)) return {};
    const auto rank = static_cast<int64_t>(weight.shape().size());
    const int64_t axis = *weights.axis < 0 ? *weights.axis + rank : *weights.axis;
    if (axis == (per_channel ? 0 : rank - 1)) return {};
    return failure(ErrorCode::unsupported,
                   "tensor {}: qscheme \"{}\" with ch_axis {}: only {} are read",
                   escaped(weight.name()), escaped(weights.scheme), *weights.axis,
                   per_channel ? "scales of rows, ch_axis 0," : "groups along rows, ch_axis -1,");
  }

  static Status check_type(const Entry& weight, std::string_view type, std::string_view dtype) {
    if (weight.dtype() == type) return {};
    return failure(ErrorCode::malformed,
                   "tensor {}: its type is {}, and the configuration of weights has dtype \"{}\"",
                   escaped(weight.name()), weight.dtype(), escaped(dtype));
  }

  static Status refuse(const Entry& weight, const Weights& weights) {
    return failure(ErrorCode::unsupported,
                   "tensor {}: weights of dtype \"{}\", group_size {} and scale_format \"{}\" are "
                   "not supported",
                   escaped(weight.name()), escaped(weights.dtype), weights.group_size,
                   escaped(weights.scale_format));
  }

  Groups& groups_;
  Weights weights_;  ///< of modules without a configuration of their own
  std::unordered_map<std::string, Weights> modules_;
  std::vector<Layer> layers_;
  ModuleList excluded_;
  std::string order_;  ///< pack_method: how codes of 4 bits fill words
};

}  // namespace quark
}  // namespace

const Scheme kQuark{quark::kScheme, quark::kMethods, nullptr,
                    [](Groups& groups) { return quark::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint

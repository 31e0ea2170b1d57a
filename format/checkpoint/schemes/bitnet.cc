// BitNet of transformers: "X.weight", four ternary codes in a byte, and "X.weight_scale" become
// "X.weight".
#include <array>
#include <cmath>

#include "dequant/codes.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace bitnet {

constexpr std::array<std::string_view, 1> kMethods{"bitnet"};
/// Whose layers divide by the scale: the default of transformers.
constexpr std::string_view kDivides = "bitlinear";
/// Codes in a byte.
constexpr int64_t kSlabs = 4;

/// The member of a key that takes one of two texts; the first where it is absent.
Result<std::string> one_of(const Section& section, std::string_view key,
                           std::array<std::string_view, 2> names) {
  DEQUANT_TRY(auto value, section.text(key));
  if (!value) return std::string(names[0]);
  if (contains(names, *value)) return *std::move(value);
  return section.wrong(key, fmt::format("one of {}, {}", names[0], names[1]));
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    const Section section(groups_.config().quantization(), kQuantizationConfig);
    DEQUANT_TRY(linear_class_, one_of(section, "linear_class", {kDivides, "autobitlinear"}));
    DEQUANT_TRY(const auto mode, one_of(section, "quantization_mode", {"offline", "online"}));
    // Layers of bitlinear have no such mode.
    if (mode == "online" && linear_class_ != kDivides) {
      return failure(ErrorCode::unsupported,
                     "quantization_config: quantization_mode \"online\" is not supported: weights "
                     "are floats that layers round to ternary values while they compute, which "
                     "layers of a dense model do not");
    }
    DEQUANT_TRY(const auto norms, section.flag("use_rms_norm"));
    if (norms.value_or(false)) {
      groups_.warn(
          "quantization_config: use_rms_norm: layers normalize their inputs, which the dense "
          "weights need too, and layers of a dense model do not");
    }
    for (const Entry& entry : groups_.shards().entries()) {
      if (const auto module = module_of(entry.name(), ".weight_scale"))
        DEQUANT_CHECK(add(entry, *module));
    }
    return {};
  }

 private:
  Status add(const Entry& scale, const std::string& module) {
    DEQUANT_TRY(const Entry* weight, require(groups_, scale, module, ".weight"));
    if (weight->dtype() != "U8") {
      return failure(ErrorCode::unsupported,
                     "tensor {} of type {}: only weights of U8, with four codes in a byte, are "
                     "supported beside {}",
                     escaped(weight->name()), weight->dtype(), escaped(scale.name()));
    }
    const std::array options{SchemeOption{"linear_class", linear_class_}};
    const std::array tensors{Named{"weight", weight}, Named{"weight_scale", &scale}};
    DEQUANT_TRY(Group group, groups_.group_of(module + ".weight", "bitnet", tensors, options));
    const Entry* const bias = find(groups_, module, ".bias");
    DEQUANT_CHECK(check_rows(group, bias));
    DEQUANT_CHECK(groups_.add(std::move(group)));
    if (linear_class_ == kDivides) return check_divisor(scale);
    if (bias != nullptr) warn_of_bias(*bias, scale);
    return {};
  }

  /// Layers of autobitlinear multiply the output by the scale, once the bias is added to it.
  void warn_of_bias(const Entry& bias, const Entry& scale) {
    groups_.warn(fmt::format(
        "tensor {}: it is copied as it is stored, and layers of linear_class "
        "\"autobitlinear\" multiply it by {} as well: the dense model needs the product",
        escaped(bias.name()), escaped(scale.name())));
  }

  /// Packing fills up the last slab of rows that are no multiple of four, which layers do not load.
  static Status check_rows(const Group& group, const Entry* bias) {
    if (bias == nullptr || bias->shape().size() != 1 || bias->shape()[0] == group.shape[0])
      return {};
    return failure(ErrorCode::malformed, "tensor {}: {} rows of {} codes in a byte, and {} has {}",
                   escaped(group.name), group.shape[0], kSlabs, escaped(bias->name()),
                   bias->shape()[0]);
  }

  /// Quotients are computed as products with the reciprocal. They are the same, unless that is
  /// infinite or subnormal. The scale is one number of a float type, as the plan has demanded.
  Status check_divisor(const Entry& scale) const {
    DEQUANT_TRY(const auto bytes, groups_.shards().read(scale, scale.tensor->bytes));
    const Element element = *scale.tensor->dtype->element;
    const double value = value_of(element, load_code(bits(element), bytes.data(), 0));
    const double size = std::abs(value);
    if (size == 0 || !std::isfinite(size) || (size > 0x1p-128 && size <= 0x1p126)) return {};
    return failure(ErrorCode::unsupported,
                   "tensor {}: weights are divided by {}, whose reciprocal is no normal float32",
                   escaped(scale.name()), value);
  }

  Groups& groups_;
  std::string linear_class_;
};

}  // namespace bitnet
}  // namespace

const Scheme kBitnet{"bitnet", bitnet::kMethods, nullptr,
                     [](Groups& groups) { return bitnet::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint

// MLX: "X.weight" of type U32, "X.scales" and, of affine weights, "X.biases" become "X.weight".
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

/// Neither config.json nor a file of MLX has a quant_method.
constexpr std::array<std::string_view, 0> kMethods{};
constexpr std::string_view kAffine = "affine";
constexpr std::string_view kWhere = "config.json: quantization";

/// The weight of a module that has codes of MLX, or null. `scales` is its tensor of that name.
const Entry* weight_of(const Groups& groups, const Entry& scales) {
  const auto module = module_of(scales.name(), ".scales");
  const Entry* weight = module ? find(groups, *module, ".weight") : nullptr;
  return weight != nullptr && weight->dtype() == "U32" ? weight : nullptr;
}

/// True for a tensor that MLX's own tools stack or transpose when they take a model over from
/// transformers: experts, and kernels of convolutions, whose channel is last.
bool is_moved(const Entry& entry) {
  if (!entry.name().ends_with(".weight")) return false;
  if (entry.name().find(".switch_mlp.") != std::string_view::npos) return true;
  const Shape shape = entry.shape();
  return entry.name().ends_with("conv1d.weight") && shape.size() == 3 && shape[2] == 1;
}

/// How a module is quantized.
struct Settings {
  std::string mode;
  int64_t bits = 0;
  int64_t group_size = 0;
};

/// The numbers of modules that have a mode, and not these: those of mlx.nn's to_quantized().
struct Defaults {
  std::string_view mode;
  int64_t bits;
  int64_t group_size;
};
constexpr std::array<Defaults, 4> kDefaults{
    {{kAffine, 4, 64}, {"mxfp4", 4, 32}, {"nvfp4", 4, 16}, {"mxfp8", 8, 32}}};

/// The settings of the whole model.
Result<Settings> settings_of_all(const Section& whole) {
  DEQUANT_TRY(const auto mode, whole.text("mode"));
  DEQUANT_TRY(const auto bits, whole.integer("bits"));
  DEQUANT_TRY(const auto group_size, whole.integer("group_size"));
  if (!bits) return whole.wrong("bits", "an integer");
  if (!group_size) return whole.wrong("group_size", "an integer");
  return Settings{mode.value_or(std::string(kAffine)), *bits, *group_size};
}

/// The settings of a module with an object of its own, which are none of the whole model: MLX calls
/// to_quantized() with the members of the object.
Result<Settings> settings_of(const Section& own) {
  Settings s;
  DEQUANT_TRY(const auto mode, own.text("mode"));
  DEQUANT_TRY(const auto bits, own.integer("bits"));
  DEQUANT_TRY(const auto group_size, own.integer("group_size"));
  s.mode = mode.value_or(std::string(kAffine));
  for (const Defaults& defaults : kDefaults) {
    if (defaults.mode == s.mode) s = {s.mode, defaults.bits, defaults.group_size};
  }
  if (bits) s.bits = *bits;
  if (group_size) s.group_size = *group_size;
  return s;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups), whole_(nullptr, kWhere) {}

  Status run() {
    DEQUANT_TRY(const Section document,
                Section(&groups_.config().document(), "config.json").object("quantization"));
    whole_ = document;
    for (const Entry& scales : groups_.shards().entries()) {
      if (const Entry* weight = weight_of(groups_, scales))
        DEQUANT_CHECK(add(*weight, scales, *module_of(scales.name(), ".scales")));
    }
    warn_of_moved();
    return {};
  }

 private:
  void warn_of_moved() const {
    const auto& entries = groups_.shards().entries();
    const auto moved = std::find_if(entries.begin(), entries.end(), is_moved);
    if (moved == entries.end()) return;
    groups_.warn(fmt::format(
        "tensor {} is as MLX has it, so that transformers does not load the output: MLX "
        "stacks experts, stores kernels of convolutions with the "
        "channels last, and may add 1 to norms",
        escaped(moved->name())));
  }

  Status add(const Entry& weight, const Entry& scales, const std::string& module) {
    if (!whole_.has("bits") && !whole_.has(module)) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: the bits of its codes are not stored, and there is no "
                     "config.json with quantization that says them",
                     escaped(weight.name()));
    }
    // True, as false, is what a predicate over modules gave: the module has the settings of all.
    const auto* const given = whole_.find(module);
    const bool is_flag = given != nullptr && given->is_boolean();
    if (is_flag && !*given) {
      return failure(ErrorCode::malformed, "tensor {}: it has codes, and {} is false in {}",
                     escaped(weight.name()), escaped(module), kWhere);
    }
    if (const Entry* factor = find(groups_, module, ".global_scale")) {
      return failure(ErrorCode::unsupported, "tensor {}: scales of whole tensors are not supported",
                     escaped(factor->name()));
    }
    DEQUANT_TRY(const Settings s,
                given == nullptr || is_flag ? settings_of_all(whole_) : settings_of_module(module));
    const std::string bits = std::to_string(s.bits);
    const std::string group_size = std::to_string(s.group_size);
    const std::array options{SchemeOption{"mode", s.mode}, SchemeOption{"bits", bits},
                             SchemeOption{"group_size", group_size}};
    const std::array tensors{Named{"weight", &weight}, Named{"scales", &scales},
                             Named{"biases", find(groups_, module, ".biases")}};
    return groups_.add(std::string(weight.name()), "mlx", tensors, options);
  }

  Result<Settings> settings_of_module(const std::string& module) const {
    DEQUANT_TRY(const Section own, whole_.object(module));
    return settings_of(own);
  }

  Groups& groups_;
  Section whole_;
};

bool is_own(const Groups& groups, const Entry& entry) {
  return weight_of(groups, entry) != nullptr;
}

}  // namespace

const Scheme kMlx{"mlx", kMethods, &is_own,
                  [](Groups& groups) { return Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint

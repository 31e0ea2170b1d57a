// MLX: "X.weight" of type U32, "X.scales" and, of affine weights, "X.biases" become "X.weight".
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/auto_round.h"
#include "format/checkpoint/schemes/mlx_settings.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace mlx {

/// What MLX writes has no quant_method; AutoRound writes its own beside `quantization`.
constexpr std::span<const std::string_view> kMethods = kAutoRound;

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

class Recogniser {
 public:
  /// `quantization` is the object of config.json, or null.
  Recogniser(Groups& groups, const nlohmann::ordered_json* quantization)
      : groups_(groups), modules_(quantization, groups) {}

  Status run() {
    for (const Entry& scales : groups_.shards().entries()) {
      if (const Entry* weight = weight_of(groups_, scales))
        DEQUANT_CHECK(add(*weight, scales, *module_of(scales.name(), ".scales")));
    }
    warn_of_moved();
    if (std::string sentence = modules_.warning(); !sentence.empty())
      groups_.warn(std::move(sentence));
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
    if (!modules_.says_something_of(module)) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: the bits of its codes are not stored, and there is no "
                     "config.json with quantization that says them",
                     escaped(weight.name()));
    }
    if (const Entry* factor = find(groups_, module, ".global_scale")) {
      return failure(ErrorCode::unsupported, "tensor {}: scales of whole tensors are not supported",
                     escaped(factor->name()));
    }
    DEQUANT_TRY(const MlxSettings s, modules_.settings(module, weight, scales));
    const std::string bits = std::to_string(s.bits);
    const std::string group_size = std::to_string(s.group_size);
    const std::array options{SchemeOption{"mode", s.mode}, SchemeOption{"bits", bits},
                             SchemeOption{"group_size", group_size}};
    const std::array tensors{Named{"weight", &weight}, Named{"scales", &scales},
                             Named{"biases", find(groups_, module, ".biases")}};
    return groups_.add(std::string(weight.name()), "mlx", tensors, options);
  }

  Groups& groups_;
  MlxModules modules_;
};

Status recognise_mlx(Groups& groups) {
  if (is_auto_round(groups.config().method())) {
    const Section section(groups.config().quantization(), kQuantizationConfig);
    DEQUANT_TRY(const AutoRoundLayout layout, auto_round_layout(section));
    if (layout != AutoRoundLayout::mlx) return {};
  }
  const Section document(&groups.config().document(), "config.json");
  DEQUANT_CHECK(document.object("quantization"));
  return Recogniser(groups, document.find("quantization")).run();
}

bool is_own(const Groups& groups, const Entry& entry) {
  return weight_of(groups, entry) != nullptr;
}

}  // namespace mlx
}  // namespace

const Scheme kMlx{"mlx", mlx::kMethods, &mlx::is_own, &mlx::recognise_mlx};

}  // namespace dequant::format::checkpoint

// What classes of transformers change where they quantize a model.
#include "format/checkpoint/model_classes.h"

#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/section.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

/// Models with modules of class Conv1D, and the names of such modules. Other models have linear
/// layers of these names.
constexpr std::array<std::string_view, 7> kConv1d{
    "gpt2", "openai-gpt", "imagegpt", "decision_transformer", "clvp", "clvp_decoder", "jais"};
constexpr std::array<std::string_view, 5> kModules{
    ".c_attn.weight", ".c_proj.weight", ".c_fc.weight", ".c_fc2.weight", ".q_attn.weight"};
/// Schemes whose producers quantize the weights of Conv1D, as those of a linear layer.
constexpr std::array<std::string_view, 4> kSchemes{"awq", "bitsandbytes", "bitsandbytes_int8",
                                                   "gptq"};
/// Keys of models in a model, by which the names of their tensors begin.
constexpr std::array kHalves{"encoder", "decoder"};

/// True for an object whose model_type is one of the names.
bool is_model(const ordered_json* model, std::span<const std::string_view> names) {
  if (model == nullptr || !model->is_object()) return false;
  const ordered_json* const type = Section(model, "").find("model_type");
  return type != nullptr && type->is_string() &&
         contains(names, type->get_ref<const std::string&>());
}

}  // namespace

bool is_transposed(const Config& config, std::string_view scheme, std::string_view weight) {
  if (!contains(kSchemes, scheme) || !ends_in(weight, kModules)) return false;
  const ordered_json& document = config.document();
  if (is_model(&document, kConv1d)) return true;
  for (const std::string_view half : kHalves) {
    if (!weight.starts_with(half) || !document.is_object()) continue;
    if (is_model(Section(&document, "").find(half), kConv1d)) return true;
  }
  return false;
}

}  // namespace dequant::format::checkpoint

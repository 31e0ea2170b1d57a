// What classes of transformers change where they quantize a model.
#include "format/checkpoint/model_classes.h"

#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

/// Models with modules of class Conv1D, and the names of such modules. Other models have linear
/// layers of these names.
constexpr std::array<std::string_view, 7> kConv1d{
    "gpt2", "openai-gpt", "imagegpt", "decision_transformer", "clvp", "clvp_decoder", "jais"};
constexpr std::array<std::string_view, 5> kModules{
    ".c_attn.weight", ".c_proj.weight", ".c_fc.weight", ".c_fc2.weight", ".q_attn.weight"};
/// Schemes whose producers quantize the weights of Conv1D in the layout of a linear layer.
constexpr std::array<std::string_view, 4> kSchemes{"awq", "bitsandbytes", "bitsandbytes_int8",
                                                   "gptq"};
/// What models call the table of their input tokens. GPTQModel packs it as [token, feature], as if
/// tokens were the inputs of a linear layer.
constexpr std::array<std::string_view, 9> kEmbeddings{
    ".embed_tokens.weight",    ".embed_in.weight",        ".wte.weight",
    ".word_embeddings.weight", ".word_embedding.weight",  ".tok_embeddings.weight",
    ".tokens_embed.weight",    ".token_embedding.weight", ".embeddings.weight"};
/// Keys of models in a model, by which the names of their tensors begin.
constexpr std::array kHalves{"encoder", "decoder"};

constexpr std::array<std::string_view, 2> kLlama4{"llama4", "llama4_text"};
constexpr std::string_view kExperts = ".experts.";

/// True for an object whose model_type is one of the names.
bool is_model(const ordered_json* model, std::span<const std::string_view> names) {
  if (model == nullptr || !model->is_object()) return false;
  const ordered_json* const type = Section(model, "").find("model_type");
  return type != nullptr && type->is_string() &&
         contains(names, type->get_ref<const std::string&>());
}

/// True for a name with a number behind ".experts.".
bool is_single_expert(std::string_view name) {
  const size_t at = name.find(kExperts);
  const size_t number = at + kExperts.size();
  return at != name.npos && number < name.size() && name[number] >= '0' && name[number] <= '9';
}

}  // namespace

bool is_transposed(const Config& config, std::string_view scheme, std::string_view weight) {
  if (scheme == "gptq" && ends_in(weight, kEmbeddings)) return true;
  if (!contains(kSchemes, scheme) || !ends_in(weight, kModules)) return false;
  const ordered_json& document = config.document();
  if (is_model(&document, kConv1d)) return true;
  for (const std::string_view half : kHalves) {
    if (!weight.starts_with(half) || !document.is_object()) continue;
    if (is_model(Section(&document, "").find(half), kConv1d)) return true;
  }
  return false;
}

void warn_of_experts(Groups& groups) {
  const ordered_json& document = groups.config().document();
  if (!is_model(&document, kLlama4)) return;
  for (const Group& group : groups.groups()) {
    if (!is_single_expert(group.name)) continue;
    groups.warn(fmt::format(
        "tensor {}: transformers does not load the output's experts and begins with random ones: "
        "it has single experts of Llama 4 in quantized models only, and experts.gate_up_proj and "
        "experts.down_proj of all in a dense one",
        escaped(group.name)));
    return;
  }
}

}  // namespace dequant::format::checkpoint

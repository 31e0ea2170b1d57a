// config.json of a GGUF model under the names of transformers.
#include "format/gguf/names/config.h"

#include <array>
#include <nlohmann/json.hpp>

#include "format/json/json.h"

namespace dequant::format::gguf {
namespace {

using nlohmann::ordered_json;

constexpr std::array kTokens{
    ConfigKey{"tokenizer.ggml.bos_token_id", "bos_token_id"},
    ConfigKey{"tokenizer.ggml.eos_token_id", "eos_token_id"},
    ConfigKey{"tokenizer.ggml.padding_token_id", "pad_token_id"},
};

/// A float32 as the shortest decimal number that is it: 1e-06, which is what the model's own
/// config.json had.
ordered_json json_of(Number number) {
  if (number.type == ValueType::boolean) return number.bits != 0;
  if (number.is_integer()) return number.integer();
  if (number.type == ValueType::float64) return number.real();
  return ordered_json::parse(fmt::format("{}", static_cast<float>(number.real())), nullptr, false);
}

class ConfigWriter {
 public:
  ConfigWriter(const Parts& parts, const Architecture& architecture)
      : parts_(parts), architecture_(architecture) {}

  Result<Config> write(Element dtype) {
    const bool sigmoid = number("expert_gating_func") == 2;  // DeepSeek-V3
    const std::string kind(sigmoid ? "deepseek_v3" : architecture_.model_type);
    config_["architectures"] = {sigmoid ? "DeepseekV3ForCausalLM" : architecture_.model_class};
    config_["model_type"] = kind;
    for (const ConfigKey& key : common_config()) DEQUANT_CHECK(add(prefixed(key.gguf), key.config));
    for (const ConfigKey& key : architecture_.config)
      DEQUANT_CHECK(add(prefixed(key.gguf), key.config));
    for (const ConfigKey& key : kTokens) DEQUANT_CHECK(add(std::string(key.gguf), key.config));
    const auto heads = number("attention.key_length");
    const auto rotated = number("rope.dimension_count");
    if (kind.starts_with("deepseek") && heads && rotated)
      config_["qk_nope_head_dim"] = *heads - *rotated;
    if (const Entry* embedding = parts_.find("model.embed_tokens.weight"))
      config_["vocab_size"] = embedding->shape()[0];
    config_["tie_word_embeddings"] = parts_.find("lm_head.weight") == nullptr;
    config_["torch_dtype"] = name(dtype);
    add_scaling();
    return Config{python_json(config_) + "\n", std::move(missing_)};
  }

 private:
  std::string prefixed(std::string_view key) const {
    return fmt::format("{}.{}", architecture_.name, key);
  }

  std::optional<int64_t> number(std::string_view key) const {
    const auto found = parts_.metadata().integer(prefixed(key));
    return found ? *found : std::nullopt;
  }

  Status add(const std::string& key, std::string_view as) {
    const Pair* pair = parts_.metadata().find(key);
    if (pair == nullptr) return {};
    if (pair->type == ValueType::array || pair->type == ValueType::text) {
      return failure(ErrorCode::unsupported,
                     "names hf: {} is {}, and {} of config.json is one number", key,
                     pair->type == ValueType::array ? "an array" : "a text", as);
    }
    config_[as] = json_of({pair->type, pair->number});
    return {};
  }

  /// The scaling of rotary positions is a number in one case only; else it is in tensors, or in
  /// terms of llama.cpp.
  void add_scaling() {
    const Pair* type = parts_.metadata().find(prefixed("rope.scaling.type"));
    std::string kind = "none";
    if (type != nullptr && type->type == ValueType::text) {
      const auto text = text_of(parts_.files()[0].file, *type, 64);
      if (text) kind = *text;
    }
    const Pair* factor = parts_.metadata().find(prefixed("rope.scaling.factor"));
    if (kind == "linear" && factor != nullptr) {
      config_["rope_scaling"] = {{"rope_type", "linear"},
                                 {"factor", json_of({factor->type, factor->number})}};
      kind = "none";
    }
    bool tensors = false;
    for (const Entry& entry : parts_.entries())
      tensors = tensors || (entry.view != nullptr && !entry.view->dropped.empty());
    if (kind != "none" || tensors) missing_ = "rope_scaling";
  }

  const Parts& parts_;
  const Architecture& architecture_;
  ordered_json config_;
  std::string missing_;
};

}  // namespace

Result<Config> config_of(const Parts& parts, Element dtype) {
  DEQUANT_TRY(const Architecture* architecture, architecture_of(parts));
  return ConfigWriter(parts, *architecture).write(dtype);
}

}  // namespace dequant::format::gguf

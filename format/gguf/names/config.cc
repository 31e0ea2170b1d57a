// config.json of a GGUF model under the names of transformers.
#include "format/gguf/names/config.h"

#include <array>
#include <cmath>
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

/// A float32 becomes the float whose shortest text is that of the float32: 1e-06, which is what the
/// model's own config.json had. Floats stay floats, as transformers takes no integer for one.
ordered_json json_of(const Pair& pair) {
  const Number number{pair.type, pair.number};
  if (number.type == ValueType::boolean) return number.bits != 0;
  if (number.type == ValueType::uint64) return number.bits;
  if (number.is_integer()) return number.integer();
  const double real = number.real();
  if (number.type == ValueType::float64 || !std::isfinite(real)) return real;
  return ordered_json::parse(fmt::format("{}", static_cast<float>(real))).get<double>();
}

class ConfigWriter {
 public:
  ConfigWriter(const Parts& parts, const Architecture& architecture)
      : parts_(parts), architecture_(architecture) {}

  Result<Config> write(Element dtype) {
    DEQUANT_TRY(const auto gating, number("expert_gating_func"));
    const bool sigmoid = gating == 2;  // DeepSeek-V3
    config_["architectures"] = {sigmoid ? "DeepseekV3ForCausalLM" : architecture_.model_class};
    config_["model_type"] = sigmoid ? "deepseek_v3" : architecture_.model_type;
    for (const ConfigKey& key : common_config()) DEQUANT_CHECK(add(prefixed(key.gguf), key.config));
    set_defaults();
    for (const ConfigKey& key : architecture_.config)
      DEQUANT_CHECK(add(prefixed(key.gguf), key.config));
    for (const ConfigKey& key : kTokens) DEQUANT_CHECK(add(std::string(key.gguf), key.config));
    if (architecture_.name == "deepseek2") DEQUANT_CHECK(add_deepseek(sigmoid));
    if (architecture_.name == "phi3") DEQUANT_CHECK(add_phi3());
    add_biases();
    const Entry* embedding = parts_.find("model.embed_tokens.weight");
    if (embedding != nullptr && !embedding->shape().empty())
      config_["vocab_size"] = embedding->shape()[0];
    config_["tie_word_embeddings"] = parts_.find("lm_head.weight") == nullptr;
    config_["torch_dtype"] = name(dtype);
    DEQUANT_CHECK(add_scaling());
    return Config{python_json(config_) + "\n", missing()};
  }

 private:
  std::string prefixed(std::string_view key) const {
    return fmt::format("{}.{}", architecture_.name, key);
  }

  Result<std::optional<int64_t>> number(std::string_view key) const {
    return parts_.metadata().integer(prefixed(key));
  }

  /// The number of a key, as JSON; nothing where there is no such key.
  Result<std::optional<ordered_json>> value(const std::string& key, std::string_view as) const {
    const Pair* pair = parts_.metadata().find(key);
    if (pair == nullptr) return std::optional<ordered_json>();
    if (pair->type == ValueType::array || pair->type == ValueType::text) {
      return failure(ErrorCode::unsupported,
                     "names hf: {} is {}, and {} of config.json is one number", key,
                     pair->type == ValueType::array ? "an array" : "a text", as);
    }
    return std::optional(json_of(*pair));
  }

  Status add(const std::string& key, std::string_view as) {
    DEQUANT_TRY(auto found, value(key, as));
    if (!found) return {};
    // Of llama.cpp's converter 0 is "no window", which transformers would take for an empty one.
    const bool no_window = as == "sliding_window" && *found == 0;
    config_[as] = no_window ? ordered_json() : *std::move(found);
    return {};
  }

  /// What llama.cpp takes for keys that may be missing.
  void set_defaults() {
    if (!config_.contains("rope_theta")) config_["rope_theta"] = 10000.0;
    if (!config_.contains("num_key_value_heads") && config_.contains("num_attention_heads"))
      config_["num_key_value_heads"] = config_["num_attention_heads"];
  }

  Status add_deepseek(bool sigmoid) {
    DEQUANT_TRY(const auto heads, number("attention.key_length"));
    DEQUANT_TRY(const auto rotated, number("rope.dimension_count"));
    if (heads && rotated) {
      config_["qk_nope_head_dim"] = *heads - *rotated;
    } else {
      missing_.push_back("qk_nope_head_dim");
    }
    // Models whose queries have no lower rank; transformers takes 1536 where the key is missing.
    if (!config_.contains("q_lora_rank")) config_["q_lora_rank"] = nullptr;
    if (sigmoid) return {};
    DEQUANT_TRY(const auto groups, number("expert_group_count"));
    if (groups) {
      config_["topk_method"] = *groups > 1 ? "group_limited_greedy" : "greedy";
    } else {
      missing_.push_back("topk_method");
    }
    return {};
  }

  /// The part of a head that is rotated. transformers multiplies by it and cuts off.
  Status add_phi3() {
    DEQUANT_TRY(const auto width, number("embedding_length"));
    DEQUANT_TRY(const auto heads, number("attention.head_count"));
    DEQUANT_TRY(const auto rotated, number("rope.dimension_count"));
    if (width && heads.value_or(0) > 0 && rotated) {
      const auto head = static_cast<double>(*width / *heads);
      const double part = static_cast<double>(*rotated) / head;
      if (std::floor(head * part) == static_cast<double>(*rotated)) {
        config_["partial_rotary_factor"] = part;
        return {};
      }
    }
    missing_.push_back("partial_rotary_factor");
    return {};
  }

  /// Whether there are biases is said by the tensors.
  void add_biases() {
    for (const Entry& entry : parts_.entries()) {
      if (!entry.name().ends_with(".bias")) continue;
      for (const BiasKey& key : architecture_.biases) {
        if (entry.name().find(key.part) != std::string_view::npos) config_[key.config] = true;
      }
    }
  }

  /// The scaling of rotary positions is a number in one case only, which llama.cpp takes for the
  /// only one where no type is given; else it is in tensors, or in terms of llama.cpp.
  Status add_scaling() {
    const Pair* type = parts_.metadata().find(prefixed("rope.scaling.type"));
    std::string kind = "linear";
    if (type != nullptr && type->type == ValueType::text) {
      DEQUANT_TRY(kind, text_of(parts_.files()[0].file, *type, 64));
    }
    DEQUANT_TRY(auto factor, value(prefixed("rope.scaling.factor"), "rope_scaling.factor"));
    if (!factor) {
      DEQUANT_TRY(factor, value(prefixed("rope.scale_linear"), "rope_scaling.factor"));
    }
    const bool is_scaled = factor && *factor != 0;
    if (kind == "linear" && is_scaled)
      config_["rope_scaling"] = {{"rope_type", "linear"}, {"factor", *std::move(factor)}};
    bool tensors = false;
    for (const Entry& entry : parts_.entries())
      tensors = tensors || (entry.view != nullptr && !entry.view->dropped.empty());
    if ((kind != "linear" && kind != "none") || tensors) missing_.push_back("rope_scaling");
    return {};
  }

  /// The names of what the metadata do not say, beside what config.json does without.
  std::string missing() const {
    std::vector<std::string_view> names;
    const auto check = [&](std::string_view key) {
      if (!config_.contains(key)) names.push_back(key);
    };
    for (const ConfigKey& key : common_config()) check(key.config);
    for (const ConfigKey& key : architecture_.config) check(key.config);
    check("vocab_size");
    names.insert(names.end(), missing_.begin(), missing_.end());
    return fmt::format("{}", fmt::join(names, ", "));
  }

  const Parts& parts_;
  const Architecture& architecture_;
  ordered_json config_;
  std::vector<std::string_view> missing_;
};

}  // namespace

Result<Config> config_of(const Parts& parts, Element dtype) {
  DEQUANT_TRY(const Architecture* architecture, architecture_of(parts));
  return ConfigWriter(parts, *architecture).write(dtype);
}

}  // namespace dequant::format::gguf

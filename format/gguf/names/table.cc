// The kinds of models whose tensors have names of transformers as well.
#include "format/gguf/names/table.h"

#include <algorithm>
#include <array>

namespace dequant::format::gguf {
namespace {

constexpr std::array kCommonTensors{
    TensorName{"token_embd", "model.embed_tokens"},
    TensorName{"output_norm", "model.norm"},
    TensorName{"output", "lm_head"},
    TensorName{"rope_freqs", "", Change::computed},
    TensorName{"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    TensorName{"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    TensorName{"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
    TensorName{"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    TensorName{"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    TensorName{"blk.{}.attn_rot_embd", "", Change::computed},
    TensorName{"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    TensorName{"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    TensorName{"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    TensorName{"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
};

constexpr std::array kLlama{
    TensorName{"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", Change::query_rows},
    TensorName{"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", Change::key_rows},
};

constexpr std::array kQwen3{
    TensorName{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    TensorName{"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
};

constexpr std::array kGemma{
    TensorName{"output_norm", "model.norm", Change::plus_one},
    TensorName{"blk.{}.attn_norm", "model.layers.{}.input_layernorm", Change::plus_one},
    TensorName{"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm", Change::plus_one},
};

constexpr std::array kGemma2{
    TensorName{"output_norm", "model.norm", Change::plus_one},
    TensorName{"blk.{}.attn_norm", "model.layers.{}.input_layernorm", Change::plus_one},
    TensorName{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm",
               Change::plus_one},
    TensorName{"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm", Change::plus_one},
    TensorName{"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm",
               Change::plus_one},
};

constexpr std::array kPhi3{
    TensorName{"rope_factors_long", "", Change::computed},
    TensorName{"rope_factors_short", "", Change::computed},
    TensorName{"blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"},
    TensorName{"blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"},
};

constexpr std::array kQwen2Moe{
    TensorName{"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"},
    TensorName{"blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.{}.gate_proj", Change::stacked},
    TensorName{"blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.{}.up_proj", Change::stacked},
    TensorName{"blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.{}.down_proj", Change::stacked},
    TensorName{"blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate",
               Change::flattened},
    TensorName{"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
    TensorName{"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
    TensorName{"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"},
};

constexpr std::array kDeepseek2{
    TensorName{"blk.{}.attn_q_a", "model.layers.{}.self_attn.q_a_proj"},
    TensorName{"blk.{}.attn_q_b", "model.layers.{}.self_attn.q_b_proj"},
    TensorName{"blk.{}.attn_q_a_norm", "model.layers.{}.self_attn.q_a_layernorm"},
    TensorName{"blk.{}.attn_kv_a_mqa", "model.layers.{}.self_attn.kv_a_proj_with_mqa"},
    TensorName{"blk.{}.attn_kv_a_norm", "model.layers.{}.self_attn.kv_a_layernorm"},
    TensorName{"blk.{}.attn_kv_b", "model.layers.{}.self_attn.kv_b_proj"},
    TensorName{"blk.{}.attn_k_b", "", Change::transposed},
    TensorName{"blk.{}.attn_v_b", "", Change::transposed},
    TensorName{"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"},
    TensorName{"blk.{}.exp_probs_b.bias", "model.layers.{}.mlp.gate.e_score_correction_bias"},
    TensorName{"blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.{}.gate_proj", Change::stacked},
    TensorName{"blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.{}.up_proj", Change::stacked},
    TensorName{"blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.{}.down_proj", Change::stacked},
    TensorName{"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_experts.gate_proj"},
    TensorName{"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_experts.up_proj"},
    TensorName{"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_experts.down_proj"},
};

constexpr std::array kCommonConfig{
    ConfigKey{"context_length", "max_position_embeddings"},
    ConfigKey{"block_count", "num_hidden_layers"},
    ConfigKey{"embedding_length", "hidden_size"},
    ConfigKey{"feed_forward_length", "intermediate_size"},
    ConfigKey{"attention.head_count", "num_attention_heads"},
    ConfigKey{"attention.head_count_kv", "num_key_value_heads"},
    ConfigKey{"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    ConfigKey{"rope.freq_base", "rope_theta"},
};

constexpr std::array kHeadsOfRope{ConfigKey{"rope.dimension_count", "head_dim"}};
constexpr std::array kHeads{ConfigKey{"attention.key_length", "head_dim"}};

constexpr std::array kMistralConfig{
    ConfigKey{"rope.dimension_count", "head_dim"},
    ConfigKey{"attention.sliding_window", "sliding_window"},
};

constexpr std::array kGemma2Config{
    ConfigKey{"attention.key_length", "head_dim"},
    ConfigKey{"attention.sliding_window", "sliding_window"},
    ConfigKey{"attn_logit_softcapping", "attn_logit_softcapping"},
    ConfigKey{"final_logit_softcapping", "final_logit_softcapping"},
    ConfigKey{"", "query_pre_attn_scalar"},
};

constexpr std::array kPhi3Config{
    ConfigKey{"attention.sliding_window", "sliding_window"},
    ConfigKey{"rope.scaling.original_context_length", "original_max_position_embeddings"},
};

constexpr std::array kQwen2MoeConfig{
    ConfigKey{"expert_count", "num_experts"},
    ConfigKey{"expert_used_count", "num_experts_per_tok"},
    ConfigKey{"expert_feed_forward_length", "moe_intermediate_size"},
    ConfigKey{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
};

constexpr std::array kDeepseek2Config{
    ConfigKey{"leading_dense_block_count", "first_k_dense_replace"},
    ConfigKey{"attention.q_lora_rank", "q_lora_rank"},
    ConfigKey{"attention.kv_lora_rank", "kv_lora_rank"},
    ConfigKey{"attention.value_length", "v_head_dim"},
    ConfigKey{"rope.dimension_count", "qk_rope_head_dim"},
    ConfigKey{"expert_count", "n_routed_experts"},
    ConfigKey{"expert_used_count", "num_experts_per_tok"},
    ConfigKey{"expert_shared_count", "n_shared_experts"},
    ConfigKey{"expert_feed_forward_length", "moe_intermediate_size"},
    ConfigKey{"expert_weights_scale", "routed_scaling_factor"},
    ConfigKey{"expert_weights_norm", "norm_topk_prob"},
    ConfigKey{"expert_group_count", "n_group"},
    ConfigKey{"expert_group_used_count", "topk_group"},
};

constexpr std::array kAttentionBias{BiasKey{".self_attn.", "attention_bias"}};
constexpr std::array kBiases{
    BiasKey{".self_attn.", "attention_bias"},
    BiasKey{".mlp.", "mlp_bias"},
};

// llama.cpp names models of Mistral "llama".
constexpr std::array kArchitectures{
    Architecture{"llama", "llama", "LlamaForCausalLM", kLlama, kHeadsOfRope, kBiases},
    Architecture{"mistral", "mistral", "MistralForCausalLM", kLlama, kMistralConfig},
    Architecture{"qwen2", "qwen2", "Qwen2ForCausalLM", {}},
    Architecture{"qwen3", "qwen3", "Qwen3ForCausalLM", kQwen3, kHeads, kAttentionBias},
    Architecture{"gemma", "gemma", "GemmaForCausalLM", kGemma, kHeads, kAttentionBias},
    Architecture{"gemma2", "gemma2", "Gemma2ForCausalLM", kGemma2, kGemma2Config, kAttentionBias},
    Architecture{"phi3", "phi3", "Phi3ForCausalLM", kPhi3, kPhi3Config},
    Architecture{"qwen2moe", "qwen2_moe", "Qwen2MoeForCausalLM", kQwen2Moe, kQwen2MoeConfig},
    Architecture{"deepseek2", "deepseek_v2", "DeepseekV2ForCausalLM", kDeepseek2, kDeepseek2Config,
                 kBiases},
};

template <class Row>
const Row* find_in(std::span<const Row> rows, std::string_view Row::*key, std::string_view name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.*key == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  return find_in(architectures(), &Architecture::name, name);
}

const TensorName* find_tensor(const Architecture& architecture, std::string_view name) {
  const auto* own = find_in(architecture.tensors, &TensorName::gguf, name);
  if (own != nullptr) return own;
  return find_in(std::span<const TensorName>(kCommonTensors), &TensorName::gguf, name);
}

std::span<const ConfigKey> common_config() { return kCommonConfig; }

}  // namespace dequant::format::gguf

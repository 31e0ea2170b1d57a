"""Tiny models of transformers, their numbers after a change of weights, and their folders."""

import logging

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

VOCABULARY = 160
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
         "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "tie_word_embeddings": False}
#: Model -> the sizes of its configuration. Blocks of 128 fit every weight, groups of 32 as well.
MODELS = {
    "llama": {"intermediate_size": 256},
    "bitnet": {"intermediate_size": 256},
    "qwen2": {"intermediate_size": 256, "tie_word_embeddings": True},
    "qwen3_moe": {"intermediate_size": 256, "moe_intermediate_size": 128, "num_experts": 4,
                  "num_experts_per_tok": 2, "decoder_sparse_step": 1, "head_dim": 32},
    "deepseek_v3": {"intermediate_size": 256, "moe_intermediate_size": 128, "n_routed_experts": 4,
                    "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
                    "first_k_dense_replace": 1, "q_lora_rank": 256, "kv_lora_rank": 128,
                    "qk_rope_head_dim": 32, "qk_nope_head_dim": 32, "v_head_dim": 32,
                    "num_key_value_heads": 4},
    "gpt2": {"n_inner": 256},
    "gpt_oss": {"intermediate_size": 128, "num_local_experts": 4, "num_experts_per_tok": 2,
                "head_dim": 32, "sliding_window": 16},
}


def dense(kind, folder, dtype=torch.bfloat16):
    """Writes a model with random weights; the weights of experts and routers, too."""
    config = AutoConfig.for_model(kind, **SIZES | MODELS[kind])
    torch.manual_seed(len(kind))
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            spread = 1.0 if name.endswith("norm.weight") else parameter.shape[-1] ** -0.5
            parameter.copy_(torch.randn(parameter.shape) * spread)
    model.save_pretrained(folder)


class Heard(logging.Handler):
    """What transformers says while a block runs."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())

    def __enter__(self):
        transformers.utils.logging.add_handler(self)
        return self

    def __exit__(self, *_):
        transformers.utils.logging.remove_handler(self)


def loaded(folder, **more):
    """A model of a folder, which must have every tensor of the model and no other."""
    with Heard() as heard:
        model, told = AutoModelForCausalLM.from_pretrained(
            folder, output_loading_info=True, attn_implementation="eager", **more)
    problems = {key: value for key, value in told.items() if value}
    return model.eval(), problems, heard.said


def logits(model):
    """The bits of the logits for some tokens."""
    torch.manual_seed(3)
    tokens = torch.randint(3, VOCABULARY, (2, 24))
    with torch.no_grad():
        return model(input_ids=tokens).logits

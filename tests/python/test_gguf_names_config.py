"""--names hf: config.json has what the metadata say, as transformers understands it, and a warning
has the keys that they do not say."""
import json
import math
import re

import gguf
import numpy as np
import pytest

import gguf_names_support as models
from gguf_support import write
from support import dequant

KINDS = gguf.GGUFValueType
WARNING = re.compile(r"what the metadata say(?:, without (.*))?: the rest")


def numbers(kind, **values):
    """Fields of a kind of models: integers as uint32, floats as float32; __ stands for a point."""
    return [(f"{kind}.{key.replace('__', '.')}", value,
             KINDS.FLOAT32 if isinstance(value, float) else KINDS.UINT32)
            for key, value in values.items()]


def configured(tmp_path, kind, fields, tensors=(), options=()):
    """config.json as a dict, and the keys that the warning names."""
    made = {"token_embd.weight": np.zeros((8, 32), np.float32)}
    source = write(tmp_path / "m.gguf", made | dict(tensors), fields, arch=kind)
    done = dequant("convert", source, "-o", tmp_path / "out", "--names", "hf", "-q", "--force",
                   *options)
    named = WARNING.search(done.stderr)[1]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    return config, set(named.split(", ")) if named else set()


def refused(tmp_path, kind, fields):
    made = {"token_embd.weight": np.zeros((8, 32), np.float32)}
    source = write(tmp_path / "m.gguf", made, fields, arch=kind)
    done = dequant("convert", source, "-o", tmp_path / "out", "--names", "hf", code=4)
    assert not (tmp_path / "out").exists()
    return done.stderr


def test_floats_without_a_fraction_became_integers(tmp_path):
    """transformers takes no integer for a float."""
    config, _ = configured(tmp_path, "gemma2", numbers(
        "gemma2", final_logit_softcapping=30.0, attn_logit_softcapping=50.0,
        rope__freq_base=1e6, attention__layer_norm_rms_epsilon=1e-6))
    for key, value in {"final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0,
                       "rope_theta": 1e6, "rms_norm_eps": 1e-6}.items():
        assert isinstance(config[key], float) and config[key] == value


def test_numbers_that_json_lacks_became_no_json(tmp_path):
    """They are written as Python's json module writes them; integers of 64 bits are whole."""
    config, _ = configured(tmp_path, "llama", [
        *numbers("llama", attention__layer_norm_rms_epsilon=math.nan, rope__freq_base=math.inf),
        ("llama.context_length", 2**64 - 1, KINDS.UINT64)])
    assert math.isnan(config["rms_norm_eps"]) and config["rope_theta"] == math.inf
    assert config["max_position_embeddings"] == 2**64 - 1


@pytest.mark.parametrize("fields, factor", [
    ([("llama.rope.scaling.type", "linear", KINDS.STRING),
      ("llama.rope.scaling.factor", 8.0, KINDS.FLOAT32)], 8.0),
    ([("llama.rope.scaling.factor", 8.0, KINDS.FLOAT32)], 8.0),
    ([("llama.rope.scale_linear", 4.0, KINDS.FLOAT32)], 4.0),
    ([("llama.rope.scaling.factor", 0.0, KINDS.FLOAT32)], None),
    ([("llama.rope.scaling.type", "none", KINDS.STRING),
      ("llama.rope.scaling.factor", 8.0, KINDS.FLOAT32)], None)])
def test_a_factor_of_rotary_positions_without_a_type_was_lost(tmp_path, fields, factor):
    """llama.cpp takes such a factor for a linear one, and 0 for none."""
    config, named = configured(tmp_path, "llama", fields)
    assert config.get("rope_scaling") == (
        None if factor is None else {"rope_type": "linear", "factor": factor})
    assert "rope_scaling" not in named


def test_other_scalings_are_named(tmp_path):
    config, named = configured(tmp_path, "llama", [
        ("llama.rope.scaling.type", "yarn", KINDS.STRING),
        ("llama.rope.scaling.factor", 8.0, KINDS.FLOAT32)])
    assert "rope_scaling" in named and "rope_scaling" not in config


@pytest.mark.parametrize("value, kind, what", [("8", KINDS.STRING, "a text"),
                                               ([8.0, 2.0], KINDS.ARRAY, "an array")])
def test_a_factor_that_is_no_number_was_another_number(tmp_path, value, kind, what):
    error = refused(tmp_path, "llama", [("llama.rope.scaling.factor", value, kind)])
    assert (f"names hf: llama.rope.scaling.factor is {what}, and rope_scaling.factor of "
            "config.json is one number") in error


def test_no_sliding_window_masked_every_token(tmp_path):
    """Phi-4, whose converter writes 0: in transformers a window of 0 tokens attends to none."""
    fields = dict(embedding_length=64, attention__head_count=2, rope__dimension_count=24)
    config, named = configured(tmp_path, "phi3", numbers(
        "phi3", attention__sliding_window=0, **fields))
    assert config["sliding_window"] is None and "sliding_window" not in named
    config, _ = configured(tmp_path, "phi3", numbers(
        "phi3", attention__sliding_window=2047, **fields))
    assert config["sliding_window"] == 2047


def test_the_rotated_part_of_heads_was_all_of_them(tmp_path):
    fields = dict(embedding_length=3072, attention__head_count=24)
    config, named = configured(tmp_path, "phi3", numbers(
        "phi3", rope__dimension_count=96, **fields))
    assert config["partial_rotary_factor"] == 0.75 and "partial_rotary_factor" not in named
    config, named = configured(tmp_path, "phi3", numbers("phi3", **fields))
    assert "partial_rotary_factor" not in config and "partial_rotary_factor" in named


def test_a_model_without_a_lower_rank_of_queries_got_one(tmp_path):
    """DeepSeek-V2-Lite: transformers takes 1536 where the key is missing."""
    config, named = configured(tmp_path, "deepseek2", numbers(
        "deepseek2", attention__kv_lora_rank=32, attention__key_length=48,
        rope__dimension_count=16))
    assert config["q_lora_rank"] is None and config["qk_nope_head_dim"] == 32
    assert {"topk_method", "n_group", "topk_group", "first_k_dense_replace"} <= named
    assert not {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "rope_theta"} & named


@pytest.mark.parametrize("groups, method", [(8, "group_limited_greedy"), (1, "greedy")])
def test_experts_of_groups_were_chosen_from_all(tmp_path, groups, method):
    config, named = configured(tmp_path, "deepseek2", numbers(
        "deepseek2", expert_group_count=groups, expert_group_used_count=1))
    assert (config["topk_method"], config["n_group"], config["topk_group"]) == (method, groups, 1)
    assert not {"topk_method", "n_group", "topk_group"} & named


def test_biases_were_not_in_the_configuration(tmp_path):
    bias = np.zeros(64, np.float32)
    heads = numbers("llama", attention__head_count=2)
    found = [configured(tmp_path, "llama", heads, tensors)[0] for tensors in
             ({}, {"blk.0.attn_v.bias": bias}, {"blk.0.ffn_up.bias": bias})]
    assert [(c.get("attention_bias"), c.get("mlp_bias")) for c in found] == [
        (None, None), (True, None), (None, True)]


def test_what_no_key_says_is_named(tmp_path):
    _, named = configured(tmp_path, "gemma2", [])
    assert {"query_pre_attn_scalar", "head_dim", "rms_norm_eps", "hidden_size"} <= named
    models.write(tmp_path / "m.gguf", "llama", models.model_of("llama"))
    done = dequant("convert", tmp_path / "m.gguf", "-o", tmp_path / "llama", "--names", "hf")
    assert WARNING.search(done.stderr)[1] is None


def test_defaults_of_llama_cpp_are_written(tmp_path):
    config, named = configured(tmp_path, "qwen2", numbers("qwen2", attention__head_count=12))
    assert (config["num_key_value_heads"], config["rope_theta"]) == (12, 10000.0)
    assert not {"num_key_value_heads", "rope_theta"} & named


@pytest.mark.parametrize("options, dtype", [((), "float16"),
                                            (("--others", "same"), "float32"),
                                            (("--others", "same", "--dtype", "bfloat16"),
                                             "bfloat16")])
def test_floats_of_16_bits_that_are_copied_were_float32_in_the_configuration(tmp_path, options,
                                                                            dtype):
    config, _ = configured(tmp_path, "qwen2", [], {
        "token_embd.weight": np.zeros((8, 32), np.float16),
        "output_norm.weight": np.zeros(32, np.float32)}, options)
    assert config["torch_dtype"] == dtype

"""Tiny models of transformers as GGUF files, as llama.cpp's converter writes them: names are those
of gguf-py's own table."""
import gguf
import numpy

LAYERS, HEADS, KEY_HEADS, HEAD, WIDTH, INNER, VOCABULARY, EXPERTS = 2, 4, 2, 16, 64, 96, 32, 3
#: Of experts, and of those that all tokens share; of the lower ranks of DeepSeek.
EXPERT_INNER, SHARED_INNER, RANK, ROTATED = 32, 96, 32, 8

#: GGUF's name of the kind: model_type, class.
KINDS = {
    "llama": ("llama", "LlamaForCausalLM"),
    "qwen2": ("qwen2", "Qwen2ForCausalLM"),
    "qwen3": ("qwen3", "Qwen3ForCausalLM"),
    "gemma": ("gemma", "GemmaForCausalLM"),
    "gemma2": ("gemma2", "Gemma2ForCausalLM"),
    "phi3": ("phi3", "Phi3ForCausalLM"),
    "qwen2moe": ("qwen2_moe", "Qwen2MoeForCausalLM"),
    "deepseek2": ("deepseek_v3", "DeepseekV3ForCausalLM"),
}


def experts(prefix, inner):
    return {**{f"{prefix}.{e}.{part}_proj.weight": (inner, WIDTH)
               for e in range(EXPERTS) for part in ("gate", "up")},
            **{f"{prefix}.{e}.down_proj.weight": (WIDTH, inner) for e in range(EXPERTS)}}


def layer_shapes(kind, n):
    """The tensors of layer n of transformers."""
    queries, keys = HEADS * HEAD, KEY_HEADS * HEAD
    shapes = {"input_layernorm.weight": (WIDTH,), "post_attention_layernorm.weight": (WIDTH,),
              "self_attn.o_proj.weight": (WIDTH, queries)}
    if kind == "phi3":
        shapes["self_attn.qkv_proj.weight"] = (queries + 2 * keys, WIDTH)
        shapes["mlp.gate_up_proj.weight"] = (2 * INNER, WIDTH)
        shapes["mlp.down_proj.weight"] = (WIDTH, INNER)
        return shapes
    if kind == "deepseek2":
        shapes |= {"self_attn.q_a_proj.weight": (RANK, WIDTH),
                   "self_attn.q_a_layernorm.weight": (RANK,),
                   "self_attn.q_b_proj.weight": (queries, RANK),
                   "self_attn.kv_a_proj_with_mqa.weight": (RANK + ROTATED, WIDTH),
                   "self_attn.kv_a_layernorm.weight": (RANK,),
                   "self_attn.kv_b_proj.weight": (HEADS * (2 * HEAD - ROTATED), RANK)}
    else:
        shapes |= {"self_attn.q_proj.weight": (queries, WIDTH),
                   "self_attn.k_proj.weight": (keys, WIDTH),
                   "self_attn.v_proj.weight": (keys, WIDTH)}
    if kind in ("qwen2", "qwen2moe"):
        shapes |= {f"self_attn.{x}_proj.bias": (size,)
                   for x, size in (("q", queries), ("k", keys), ("v", keys))}
    if kind == "qwen3":
        shapes |= {"self_attn.q_norm.weight": (HEAD,), "self_attn.k_norm.weight": (HEAD,)}
    if kind == "gemma2":
        shapes |= {"pre_feedforward_layernorm.weight": (WIDTH,),
                   "post_feedforward_layernorm.weight": (WIDTH,)}
    if kind == "qwen2moe":
        return shapes | experts("mlp.experts", EXPERT_INNER) | {
            "mlp.gate.weight": (EXPERTS, WIDTH), "mlp.shared_expert_gate.weight": (1, WIDTH),
            "mlp.shared_expert.gate_proj.weight": (SHARED_INNER, WIDTH),
            "mlp.shared_expert.up_proj.weight": (SHARED_INNER, WIDTH),
            "mlp.shared_expert.down_proj.weight": (WIDTH, SHARED_INNER)}
    if kind == "deepseek2" and n > 0:
        return shapes | experts("mlp.experts", EXPERT_INNER) | {
            "mlp.gate.weight": (EXPERTS, WIDTH), "mlp.gate.e_score_correction_bias": (EXPERTS,),
            "mlp.shared_experts.gate_proj.weight": (EXPERT_INNER, WIDTH),
            "mlp.shared_experts.up_proj.weight": (EXPERT_INNER, WIDTH),
            "mlp.shared_experts.down_proj.weight": (WIDTH, EXPERT_INNER)}
    return shapes | {"mlp.gate_proj.weight": (INNER, WIDTH), "mlp.up_proj.weight": (INNER, WIDTH),
                     "mlp.down_proj.weight": (WIDTH, INNER)}


def model_of(kind, seed=0):
    """The tensors of transformers, by name."""
    shapes = {"model.embed_tokens.weight": (VOCABULARY, WIDTH), "model.norm.weight": (WIDTH,)}
    if not kind.startswith("gemma"):
        shapes["lm_head.weight"] = (VOCABULARY, WIDTH)
    for n in range(LAYERS):
        shapes |= {f"model.layers.{n}.{name}": shape
                   for name, shape in layer_shapes(kind, n).items()}
    random = numpy.random.default_rng(seed)
    return {name: random.standard_normal(shape).astype(numpy.float32)
            for name, shape in shapes.items()}


def interleaved(rows, heads):
    """Rows of each head: the first of its first half, the first of its second half, and so on."""
    halves = rows.reshape(heads, 2, rows.shape[0] // heads // 2, -1)
    return numpy.stack([halves[:, 0], halves[:, 1]], axis=2).reshape(rows.shape)


def stored_as(kind, name, values):
    """What the converter makes of a tensor's numbers."""
    if kind == "llama" and ".q_proj." in name:
        return interleaved(values, HEADS)
    if kind == "llama" and ".k_proj." in name:
        return interleaved(values, KEY_HEADS)
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        return values + numpy.float32(1)
    return values[0] if name.endswith("shared_expert_gate.weight") else values


def gguf_tensors(kind, model):
    """GGUF's tensors, by name."""
    names = gguf.get_tensor_name_map(
        next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == kind), LAYERS)
    out, stacks = {}, {}
    for name, values in model.items():
        parts = name.split(".")
        if "experts" in parts and parts[parts.index("experts") + 1].isdigit():
            del parts[parts.index("experts") + 1]
            stacks.setdefault(".".join(parts), []).append(values)
            continue
        own = name.replace("e_score_correction_bias", "e_score_correction.bias")
        out[names.get_name(own, (".weight", ".bias"))] = stored_as(kind, name, values)
    for name, values in stacks.items():
        out[names.get_name(name, (".weight",))] = numpy.stack(values)
    assert None not in out
    return out


def write(path, kind, model, quantized=None):
    """Writes a GGUF file. `quantized` is a type for matrices whose rows are whole blocks. Returns
    the float numbers that the file has, by GGUF's names."""
    writer = gguf.GGUFWriter(path, kind)
    writer.add_context_length(128)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_key_length(HEAD)
    writer.add_rope_dimension_count(ROTATED if kind == "deepseek2" else HEAD)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(VOCABULARY)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    if kind in ("qwen2moe", "deepseek2"):
        writer.add_expert_count(EXPERTS)
        writer.add_expert_used_count(2)
        writer.add_expert_feed_forward_length(EXPERT_INNER)
        writer.add_expert_shared_feed_forward_length(SHARED_INNER)
    if kind == "gemma2":
        writer.add_sliding_window(4096)
        writer.add_attn_logit_softcapping(50.0)
        writer.add_final_logit_softcapping(30.0)
    if kind == "deepseek2":
        writer.add_expert_weights_scale(1.0)
        writer.add_leading_dense_block_count(1)
        writer.add_q_lora_rank(RANK)
        writer.add_kv_lora_rank(RANK)
        writer.add_value_length(HEAD)
        writer.add_expert_shared_count(1)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    floats = {}
    for name, values in gguf_tensors(kind, model).items():
        if quantized is not None and values.ndim > 1 and values.shape[-1] % 32 == 0:
            data = gguf.quants.quantize(values, quantized)
            floats[name] = gguf.quants.dequantize(data, quantized)
            writer.add_tensor(name, data, raw_dtype=quantized)
        else:
            floats[name] = values
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return floats

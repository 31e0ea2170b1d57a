"""--names hf: tensors of GGUF files as transformers has them."""
import json

import gguf
import numpy
import pytest
import safetensors.numpy

import gguf_names_support as models
from support import dequant


def converted(path, output, *options):
    dequant("convert", path, "-o", output, "--names", "hf", "-q", *options)
    return safetensors.numpy.load_file(output / "model.safetensors")


def back(kind, name, values):
    """A tensor of transformers whose stored numbers are not its own any more."""
    taken = models.stored_as(kind, name, values)
    return taken - numpy.float32(1) if kind.startswith("gemma") and "norm" in name else values


@pytest.mark.parametrize("kind", models.KINDS)
def test_floats_come_back_under_their_names(tmp_path, kind):
    model = models.model_of(kind)
    models.write(tmp_path / "m.gguf", kind, model)
    tensors = converted(tmp_path / "m.gguf", tmp_path / "out")
    assert sorted(tensors) == sorted(model)
    for name, values in model.items():
        assert tensors[name].shape == values.shape, name
        assert tensors[name].tobytes() == back(kind, name, values).tobytes(), name


@pytest.mark.parametrize("kind", ["llama", "qwen2moe"])
def test_rows_of_blocks_and_experts_come_back(tmp_path, kind):
    """Each tensor by itself: quantized, stored by the converter's rule, and dequantized by
    gguf-py."""
    model = models.model_of(kind)
    models.write(tmp_path / "m.gguf", kind, model, gguf.GGMLQuantizationType.Q8_0)
    tensors = converted(tmp_path / "m.gguf", tmp_path / "out", "--mem", "64M")
    for name, values in model.items():
        if values.ndim > 1 and "shared_expert_gate" not in name:
            blocks = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.Q8_0)
        assert tensors[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("kind", models.KINDS)
def test_config_says_what_the_metadata_say(tmp_path, kind):
    models.write(tmp_path / "m.gguf", kind, models.model_of(kind))
    converted(tmp_path / "m.gguf", tmp_path / "out", "--dtype", "bfloat16", "--others", "same")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    model_type, architecture = models.KINDS[kind]
    assert config["model_type"] == model_type
    assert config["architectures"] == [architecture]
    assert config["torch_dtype"] == "bfloat16"
    assert config["tie_word_embeddings"] is kind.startswith("gemma")
    wanted = {"num_hidden_layers": models.LAYERS, "hidden_size": models.WIDTH,
              "intermediate_size": models.INNER, "num_attention_heads": models.HEADS,
              "num_key_value_heads": models.KEY_HEADS, "vocab_size": models.VOCABULARY,
              "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 128,
              "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    assert {key: config[key] for key in wanted} == wanted


def test_diff_and_verify_hold_the_original_against_the_file(tmp_path):
    model = models.model_of("llama")
    models.write(tmp_path / "m.gguf", "llama", model)
    (tmp_path / "original").mkdir()
    safetensors.numpy.save_file(model, tmp_path / "original" / "model.safetensors")
    dequant("diff", tmp_path / "original", tmp_path / "m.gguf", "--names", "hf")
    dequant("diff", tmp_path / "original", tmp_path / "m.gguf", code=1)
    models.write(tmp_path / "q.gguf", "llama", model, gguf.GGMLQuantizationType.Q8_0)
    converted(tmp_path / "q.gguf", tmp_path / "out")
    dequant("verify", tmp_path / "q.gguf", tmp_path / "out", "--names", "hf")
    refused = dequant("diff", tmp_path / "original", tmp_path / "original", "--names", "hf", code=2)
    assert "names is an option of GGUF files, not of " in refused.stderr


@pytest.mark.parametrize("kind, name, stored, recipe", [
    ("gemma", "model.norm.weight", "output_norm.weight", "less one and rounded"),
    ("llama", "model.norm.weight", "output_norm.weight", "rounded"),
    ("llama", "model.layers.1.self_attn.q_proj.weight", "blk.1.attn_q.weight",
     {"scheme": "Q8_0", "stored": "Q8_0", "granularity": "blocked", "change": "rows reordered"}),
    ("llama", "model.layers.1.self_attn.v_proj.weight", "blk.1.attn_v.weight",
     {"scheme": "Q8_0", "stored": "Q8_0", "granularity": "blocked"}),
    ("qwen2moe", "model.layers.1.mlp.experts.2.up_proj.weight", "blk.1.ffn_up_exps.weight",
     {"scheme": "Q8_0", "stored": "Q8_0", "granularity": "blocked"})])
def test_an_audit_had_names_of_transformers_for_what_was_read(tmp_path, kind, name, stored, recipe):
    """And said of norms less one that they were copied."""
    models.write(tmp_path / "m.gguf", kind, models.model_of(kind), gguf.GGMLQuantizationType.Q8_0)
    converted(tmp_path / "m.gguf", tmp_path / "out", "--audit", tmp_path / "audit", "--dtype",
              "bfloat16", "--others", "same")
    lines = map(json.loads, (tmp_path / "audit").read_text().splitlines())
    [line] = [line for line in lines if line["name"] == name]
    [source] = line["sources"]
    data = next(t for t in gguf.GGUFReader(tmp_path / "m.gguf").tensors if t.name == stored).data
    part = data[2] if "experts" in name else data
    assert (source["name"], source["bytes"], line["recipe"]) == (stored, part.nbytes, recipe)
    dequant("verify", "--audit", tmp_path / "audit", tmp_path / "out")


def test_what_the_table_does_not_know_is_refused(tmp_path):
    def refused(kind, tensors, *sentences, code=4):
        writer = gguf.GGUFWriter(tmp_path / "m.gguf", kind)
        writer.add_head_count(3)
        for name, values in tensors.items():
            writer.add_tensor(name, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        done = dequant("convert", tmp_path / "m.gguf", "-o", tmp_path / "out", "--names", "hf",
                       code=code)
        assert all(s in done.stderr for s in sentences), done.stderr
        assert not (tmp_path / "out").exists()

    rows = numpy.zeros((8, 32), numpy.float32)
    refused("mamba", {"token_embd.weight": rows}, 'the architecture is "mamba"', "deepseek2")
    refused("llama", {"blk.0.ssm_in.weight": rows}, '"blk.0.ssm_in.weight"', "no tensor of")
    refused("llama", {"blk.0.attn_q.weight": rows}, "8 rows", "3 heads", "llama.attention.head_co",
            code=3)
    refused("deepseek2", {"blk.0.attn_k_b.weight": rows}, "kv_b_proj", "transposed")
    refused("gemma", {"output_norm.weight": rows[0].astype(numpy.float16)}, "F16", "taken back")


def test_a_small_file_with_very_many_experts_is_refused(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "qwen2moe")
    for n in range(64):
        writer.add_tensor(f"blk.{n}.ffn_up_exps.weight", numpy.zeros((1 << 13, 1, 0), "f4"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    done = dequant("inspect", tmp_path / "m.gguf", "--names", "hf", code=3)
    assert "experts more than 262144 tensors" in done.stderr

"""What producers change where they quantize models of some classes: weights of Conv1D and tables of
tokens, which a dense model has as [in, out], and single experts of Llama 4, which no dense model
has."""

import json

import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16, safetensors

F = np.float32
RANDOM = np.random.default_rng(4)
TABLE = np.linspace(-1, 1, 16, dtype=F)
CONV1D = ["h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_fc", "h.0.crossattention.q_attn"]


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def words(codes):
    """Eight codes of 4 bits in each word, along the first dimension."""
    parts = codes.astype(np.uint32).reshape(codes.shape[0] // 8, 8, codes.shape[1])
    return sum(parts[:, i] << 4 * i for i in range(8)).astype(np.uint32).view(np.int32)


def gptq(name, outputs, inputs):
    """The tensors of a linear layer, and its weight [outputs, inputs]."""
    codes = RANDOM.integers(0, 16, (inputs, outputs))
    scales = RANDOM.uniform(0.5, 2, (inputs // 32, outputs)).astype(np.float16)
    parts = {"qweight": ("I32", words(codes)),
             "qzeros": ("I32", np.full((inputs // 32, outputs // 8), 0x77777777, np.int32)),
             "scales": ("F16", scales)}
    weight = (codes - 8).astype(F) * scales.astype(F).repeat(32, 0)
    return {f"{name}.{part}": tensor for part, tensor in parts.items()}, weight.T


def nf4(name, outputs, inputs):
    codes = RANDOM.integers(0, 16, (outputs, inputs))
    flat = codes.reshape(-1, 2)
    absmax = RANDOM.uniform(0.5, 2, codes.size // 64).astype(F)
    state = {"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [outputs, inputs]}
    parts = {"": ("U8", (flat[:, :1] << 4 | flat[:, 1:]).astype(np.uint8)),
             ".absmax": ("F32", absmax), ".quant_map": ("F32", TABLE),
             ".quant_state.bitsandbytes__nf4":
                 ("U8", np.frombuffer(json.dumps(state).encode(), np.uint8))}
    weight = TABLE[codes].reshape(-1, 64) * absmax[:, None]
    return ({f"{name}.weight{part}": tensor for part, tensor in parts.items()},
            weight.reshape(outputs, inputs))


def int8(name, outputs, inputs):
    codes = RANDOM.integers(-127, 128, (outputs, inputs)).astype(np.int8)
    scale = RANDOM.uniform(0.5, 2, outputs).astype(F)
    return ({f"{name}.weight": ("I8", codes), f"{name}.SCB": ("F32", scale)},
            codes.astype(F) * scale[:, None] * F(0.007874015718698502))


SCHEMES = {"gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 32}),
           "nf4": (nf4, {"quant_method": "bitsandbytes"}),
           "int8": (int8, {"quant_method": "bitsandbytes"})}
GPT2 = {"model_type": "gpt2"}


def converted(folder, scheme, document, names, sizes=(64, 128)):
    """The dense matrices of some modules, and the weights of linear layers."""
    layer, section = SCHEMES[scheme]
    stored, want = {}, {}
    for name in names:
        parts, want[f"{name}.weight"] = layer(name, *sizes)
        stored |= parts
    folder.config({**document, "torch_dtype": "float32", "quantization_config": section})
    folder.file(stored)
    folder.convert()
    dequant("verify", folder.path, folder.out)
    return {name: numbers.view(F).reshape(shape) for name, (_, shape, numbers)
            in tensors(folder.out).items()}, want


@pytest.mark.parametrize("sizes", [(64, 128), (192, 64)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_of_conv1d_were_transposed(folder, scheme, sizes):
    got, want = converted(folder, scheme, GPT2, CONV1D, sizes)
    assert got.keys() == want.keys()
    for name, weight in want.items():
        assert np.array_equal(got[name], weight.T), name


@pytest.mark.parametrize(("document", "name"), [
    *[({"model_type": kind}, "h.0.mlp.c_proj") for kind in (
        "openai-gpt", "imagegpt", "decision_transformer", "clvp", "jais")],
    ({"model_type": "vision-encoder-decoder", "decoder": GPT2}, "decoder.h.0.mlp.c_fc")])
def test_models_with_conv1d(folder, document, name):
    got, want = converted(folder, "gptq", document, [name])
    assert np.array_equal(got[f"{name}.weight"], want[f"{name}.weight"].T)


@pytest.mark.parametrize(("document", "name"), [
    (GPT2, "lm_head"), (GPT2, "score"), (GPT2, "h.0.xc_attn"),
    *[({"model_type": kind}, "h.0.attn.c_attn") for kind in (
        "gpt_bigcode", "starcoder2", "qwen", "llama", 1, None)],
    ({"model_type": "vision-encoder-decoder", "decoder": GPT2}, "encoder.h.0.mlp.c_fc"),
    ({"model_type": "vision-encoder-decoder", "encoder": 1, "decoder": [GPT2]},
     "decoder.h.0.mlp.c_fc")])
def test_linear_layers_stay_as_they_are(folder, document, name):
    got, want = converted(folder, "gptq", document, [name])
    assert np.array_equal(got[f"{name}.weight"], want[f"{name}.weight"])


@pytest.mark.parametrize("name", ["model.embed_tokens", "wte", "embedding.word_embeddings"])
def test_tables_of_tokens_were_transposed(folder, name):
    """GPTQModel packs [tokens, features] as the inputs and outputs of a linear layer."""
    got, want = converted(folder, "gptq", {"model_type": "llama"}, [name], (64, 320))
    assert got[f"{name}.weight"].shape == (320, 64)
    assert np.array_equal(got[f"{name}.weight"], want[f"{name}.weight"].T)


def test_blocks_that_cross_rows_of_conv1d_are_refused(folder):
    stored, _ = nf4("h.0.mlp.c_fc", 64, 96)
    folder.config({**GPT2, "quantization_config": {"quant_method": "bitsandbytes"}})
    folder.file(stored)
    folder.refused(4, "tensor h.0.mlp.c_fc.weight: transposed", "neither fill rows of 96")


def test_pieces_of_a_transposed_weight_are_the_whole(folder, tmp_path):
    """In bands that little memory has room for, and in shares."""
    converted(folder, "nf4", GPT2, CONV1D, (256, 512))
    whole = (folder.out / "model.safetensors").read_bytes()
    folder.out = tmp_path / "bands"
    folder.convert("--mem", "1Mi", "-T", "3")
    assert (folder.out / "model.safetensors").read_bytes() == whole


LLAMA4 = "model.layers.0.feed_forward.experts"


@pytest.mark.parametrize(("kind", "name", "warned"), [
    ("llama4", f"language_model.{LLAMA4}.0.gate_proj", True),
    ("llama4_text", f"{LLAMA4}.15.up_proj", True),
    ("llama4_text", "model.layers.0.feed_forward.shared_expert.up_proj", False),
    ("mixtral", f"{LLAMA4}.0.gate_proj", False)])
def test_single_experts_of_llama_4_are_warned_of(folder, kind, name, warned):
    """transformers has them in quantized models only, and loads a dense model without a word."""
    folder.config({"model_type": kind, "torch_dtype": "bfloat16",
                   "quantization_config": {"quant_method": "fp8"}})
    folder.file({f"{name}.weight": ("F8_E4M3", np.zeros((8, 8), np.uint8)),
                 f"{name}.weight_scale": ("F32", F(1)), "norm.weight": ("BF16", bfloat16([1]))})
    error = folder.convert().stderr
    assert (f"warning: tensor {name}.weight: transformers does not load" in error) == warned
    assert error.count("warning") == warned


def test_a_transposed_weight_is_recognised_in_another_file(folder, tmp_path):
    """verify says of a copy in the orientation of a linear layer that it is wrong."""
    _, want = converted(folder, "gptq", GPT2, CONV1D[1:2], (64, 64))
    wrong = safetensors(tmp_path / "wrong.safetensors",
                        {name: ("F32", weight) for name, weight in want.items()})
    dequant("verify", folder.path, wrong, code=1)

"""Tiny models that the producers' own tools quantized: the output of `dequant convert` loads
without a word about its tensors, and has the weights and the logits of the producer's model."""

import os
import pathlib
import subprocess

import pytest
import torch

import models
import tools
from tools import (bitsandbytes, bitsandbytes_model, compressed_tensors, fp8, gptqmodel,
                   gptqmodel_model, llm_compressor, modelopt, modelopt_model, quanto, quanto_model,
                   torchao, torchao_model, transformers_fp8)

#: Tool -> what writes a checkpoint, what gives the dequantized model.
TOOLS = {
    **{f"llmcompressor-{scheme}": (llm_compressor(scheme), compressed_tensors)
       for scheme in ("W4A16", "W4A16_ASYM", "W8A16", "W2A16", "W3A16", "W5A16", "W6A16", "W7A16",
                      "W8A8", "INT8", "FP8_DYNAMIC", "FP8_BLOCK", "NVFP4A16", "MXFP4A16",
                      "MXFP6A16", "MXFP8A16")},
    "fp8": (fp8(), transformers_fp8),
    "fp8-ue8m0": (fp8("ue8m0"), transformers_fp8),
    "bitsandbytes-nf4": (bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="nf4",
                                      bnb_4bit_use_double_quant=True,
                                      bnb_4bit_compute_dtype=torch.bfloat16), bitsandbytes_model),
    "bitsandbytes-fp4": (bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="fp4"),
                         bitsandbytes_model),
    "bitsandbytes-int8": (bitsandbytes(load_in_8bit=True), bitsandbytes_model),
    "torchao-int8": (torchao(lambda ao: ao.Int8WeightOnlyConfig()), torchao_model),
    "torchao-float8": (torchao(lambda ao: ao.Float8WeightOnlyConfig()), torchao_model),
    "torchao-int4": (torchao(lambda ao: ao.IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=ao.PerGroup(32))), torchao_model),
    "quanto-qint8": (quanto("qint8"), quanto_model),
    "quanto-qfloat8": (quanto("qfloat8"), quanto_model),
    **{f"modelopt-{name}": (modelopt(f"{name}_CFG"), modelopt_model)
       for name in ("FP8_DEFAULT", "FP8_2D_BLOCKWISE_WEIGHT_ONLY", "NVFP4_DEFAULT",
                    "MXFP4_DEFAULT", "MXFP8_DEFAULT", "INT8_SMOOTHQUANT")},
}
#: Tools that are slow, or made for one kind of model.
MORE = {
    ("llama", "gptqmodel-4"): (gptqmodel(bits=4, group_size=32), gptqmodel_model),
    ("llama", "gptqmodel-3-act-order"): (
        gptqmodel(bits=3, group_size=32, desc_act=True, sym=False, format="gptq_v2"),
        gptqmodel_model),
    ("llama", "gptqmodel-8"): (gptqmodel(bits=8, group_size=-1, act_group_aware=False),
                               gptqmodel_model),
    ("llama", "gptqmodel-awq"): (
        gptqmodel(bits=4, group_size=32, method="awq", format="gemm"), tools.autoawq_model),
    **{(kind, f"bitnet-{name}"): (tools.bitnet(name), tools.bitnet_model)
       for kind in ("llama", "bitnet") for name in ("bitlinear", "autobitlinear")},
    **{("gpt2", tool): (TOOLS[tool][0], tools.conv1d(TOOLS[tool][1]))
       for tool in ("bitsandbytes-nf4", "bitsandbytes-int8")},
    ("gpt_oss", "mxfp4"): (tools.mxfp4, tools.transformers_mxfp4),
}
#: Biases, and an embedding that is also the head.
TIED = ["llmcompressor-W4A16_ASYM", "llmcompressor-FP8_BLOCK", "fp8", "bitsandbytes-nf4",
        "bitsandbytes-int8", "torchao-int4", "quanto-qint8", "modelopt-NVFP4_DEFAULT"]
CASES = {(model, tool): both for model in ("llama", "qwen3_moe", "deepseek_v3")
         for tool, both in TOOLS.items()} | MORE | {("qwen2", tool): TOOLS[tool] for tool in TIED}
#: Model -> options of the conversion: one is written in several files.
OPTIONS = {"qwen3_moe": ["--max-shard-size", "300K"]}


@pytest.fixture(name="dense", scope="session")
def fixture_dense(tmp_path_factory):
    """The folder of a model that is not quantized."""
    folders = {}

    def folder(kind):
        if kind not in folders:
            folders[kind] = tmp_path_factory.mktemp("dense") / kind
            models.dense(kind, folders[kind])
        return folders[kind]
    return folder


def bits(tensor):
    return tensor.view(torch.int16) if tensor.itemsize == 2 else tensor


def differing(got, want, view=bits):
    """Names of tensors that are not the same, or not in both."""
    return [name for name in sorted(got.keys() | want.keys())
            if name not in got or name not in want or got[name].dtype != want[name].dtype
            or not torch.equal(view(got[name]), view(want[name]))]


def view_of(tool):
    """What is compared: numbers for fp4 of bitsandbytes on AVX-512, whose code 8 is +0 there."""
    avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return (lambda tensor: tensor) if avx512 and tool == "bitsandbytes-fp4" else bits


@pytest.mark.parametrize(("kind", "tool"), CASES)
def test_a_converted_model_computes_what_the_producer_says(kind, tool, dense, tmp_path,
                                                           monkeypatch):
    monkeypatch.chdir(tmp_path)  # where GPTQModel writes logs
    quantize, reference = CASES[kind, tool]
    source, out = tmp_path / "quantized", tmp_path / "out"
    quantize(dense(kind), source)
    done = subprocess.run([os.environ["DEQUANT_CLI"], "convert", str(source), "-o", str(out),
                           *OPTIONS.get(kind, [])], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (len(list(out.glob("*.safetensors"))) > 1) == (kind in OPTIONS)
    model, problems, said = models.loaded(out)
    assert not problems
    assert not [line for line in said if "RoPE" not in line]
    want = reference(source, pathlib.Path(tmp_path / "reference"))
    assert differing(model.state_dict(), want.state_dict(), view_of(tool)) == []
    assert torch.equal(bits(models.logits(model)), bits(models.logits(want)))

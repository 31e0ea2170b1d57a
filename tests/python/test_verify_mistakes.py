"""`dequant verify` on the producers' checkpoints with floats of which one tensor was dequantized
with a mistake made on purpose, by the models of the schemes: the mistake is called by its name.
"""

import json

import numpy as np
import pytest

import scheme_models as models
from support import dequant
from test_checkpoints import checkpoint, tensors
from test_verify import safetensors
from test_vectors_schemes import in_order, inverted, parameter, patched
from vector_models import encode

#: Types of files: of elements, in numpy.
TYPES = {"I32": "int32", "U8": "uint8", "F16": "float16", "BF16": "bfloat16", "F32": "float32",
         "F8_E4M3": "float8e4m3fn"}
LAYER = "model.layers.0."
GPTQ = {"scheme": "gptq", "module": LAYER + "self_attn.q_proj",
        "parts": ["qweight", "qzeros", "scales", "g_idx"],
        "settings": {"bits": 4, "format": "gptq", "carry": "word", "group_size": 32}}
AWQ = {"scheme": "awq", "module": LAYER + "self_attn.q_proj",
       "parts": ["qweight", "qzeros", "scales"], "settings": {"group_size": 32}}
MODELOPT = {"scheme": "modelopt", "module": LAYER + "mlp.down_proj",
            "parts": ["weight", "weight_scale", "weight_scale_2"],
            "settings": {"quant_algo": "NVFP4"}}
COMPRESSED = {"scheme": "compressed_tensors", "module": LAYER + "mlp.down_proj",
              "parts": ["weight=weight_packed", "weight_scale", "weight_global_scale"],
              "settings": {"format": "nvfp4-pack-quantized"}}
GPTOSS = {"scheme": "gptoss", "module": LAYER + "mlp.experts", "dense": ".gate_up_proj",
          "parts": ["blocks=gate_up_proj_blocks", "scales=gate_up_proj_scales"],
          "settings": {"transposed": True}}
FP8 = {"scheme": "fp8", "module": LAYER + "mlp.down_proj",
       "parts": ["weight", "weight_scale=weight_scale_inv"], "settings": {"block": [128, 128]}}

NOTHING = {"Tensors.__call__": lambda t, name: np.ones((), np.float32) if name in (
    "weight_scale_2", "weight_global_scale") else parameter(t, name)}
SWAPPED = {"nibbles": lambda b: np.stack([b >> 4, b & 15], -1).reshape(*b.shape[:-1], -1)}
# The mistake, the folder, its tensor, what replaces what in the model.
MISTAKES = [
    ("zero_point_off_by_one", "gptq_v1_w4_g32_sym", GPTQ, {
        "stored_zeros": lambda t, words, bits, unpack, count: unpack(words, bits, count)}),
    ("zero_point_overflow", "gptq_v1_w4_zero0_borrow", GPTQ, {
        "stored_zeros": lambda t, words, bits, unpack, count: unpack(words, bits, count) + 1}),
    ("group_index_ignored", "gptq_v1_w4_asym_actorder", GPTQ, {"column_groups": in_order}),
    ("nibbles_swapped", "modelopt_nvfp4", MODELOPT, SWAPPED),
    ("nibbles_swapped", "gptoss_mxfp4_hf", GPTOSS, SWAPPED),
    ("order_not_undone", "awq_gemm_g32", AWQ, {"AWQ_ORDER": list(range(8))}),
    ("second_scale_missing", "modelopt_nvfp4", MODELOPT, NOTHING),
    ("second_scale_missing", "ct_nvfp4", COMPRESSED, NOTHING),
    ("second_scale_inverted", "modelopt_nvfp4", MODELOPT, inverted("weight_scale_2")),
    ("second_scale_inverted", "ct_nvfp4", COMPRESSED, inverted("weight_global_scale")),
    ("scale_applied_twice", "fp8_block_128x128", FP8, {"SCHEMES.fp8": lambda t: models.fp8(t) * (
        models.spread(t("weight_scale"), t("weight").shape, [128, 128]))}),
    ("transposed", "gptoss_mxfp4_hf", GPTOSS, {
        "SCHEMES.gptoss": lambda t: models.gptoss(t).swapaxes(-1, -2)}),
]


def case_of(stored, tensor):
    """The tensors of a module as a case."""
    inputs = {}
    for part in tensor["parts"]:
        name, _, end = part.partition("=")
        found = stored.get(f"{tensor['module']}.{end or name}")
        if found:
            inputs[name] = {"type": TYPES[found[0]], "shape": found[1], "bits": found[2]}
    return {"dialect": tensor["scheme"], "inputs": inputs,
            "attributes": {**tensor["settings"], "dtype": "float32"}}


def floats_of(case, element):
    t = models.Tensors(case)
    with np.errstate(all="ignore"):
        return encode(element, models.SCHEMES[case["dialect"]](t))


@pytest.mark.parametrize(("mistake", "folder", "tensor", "patches"), MISTAKES,
                         ids=[f"{m[0]}-{m[2]['scheme']}" for m in MISTAKES])
def test_a_mistake_is_called_by_its_name(shared, tmp_path, monkeypatch, mistake, folder, tensor,
                                         patches):
    path, out = checkpoint(shared, folder, tmp_path), tmp_path / "out"
    dequant("convert", path, "-o", out)
    case, name = case_of(tensors(path), tensor), tensor["module"] + tensor.get("dense", ".weight")
    floats = tensors(out)
    dtype, shape, right = floats[name]
    assert (floats_of(case, TYPES[dtype]).reshape(-1) == right).all()  # the model itself
    patched(monkeypatch, patches)
    wrong = floats_of(case, TYPES[dtype]).astype(right.dtype)
    file = safetensors(tmp_path / "float.safetensors", {
        **{n: (d, numbers.reshape(s)) for n, (d, s, numbers) in floats.items()},
        name: (dtype, wrong)})
    report = json.loads(dequant("verify", path, file, "--json", code=1).stdout)
    assert [(w["name"], w["mistake"]) for w in report["wrong"]] == [(name, mistake)]

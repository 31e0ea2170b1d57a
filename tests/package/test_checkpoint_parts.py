"""What a tensor of a checkpoint hands out of its stored tensors, beside the safetensors package."""

import json

import numpy as np
import pytest
import safetensors.numpy

import dequant
from model_support import SHARED

MODULE = "model.layers.0.self_attn.q_proj"
GPTQ = {"gptq_v1_w4_asym_actorder": 4, "gptq_v1_w3_asym_actorder": 3, "gptq_v1_w8_g32_sym": 8}


def stored(folder):
    file, = folder.glob("model*.safetensors")
    return safetensors.numpy.load_file(file)


@pytest.fixture
def folder(request, tmp_path):
    """The checkpoint alone, without the tensors that are expected of it."""
    for file in (SHARED / "checkpoints" / request.param).iterdir():
        if file.name.startswith("model") or file.suffix == ".json":
            (tmp_path / file.name).symlink_to(file.resolve())
    return tmp_path


@pytest.mark.parametrize("folder", [*GPTQ, "awq_gemm_g32", "mlx_affine_f32", "hqq_w3_g64_axis1",
                                    "quark_uint4_wo_32"], indirect=True)
def test_parts_are_the_stored_tensors_and_not_their_neighbours(folder):
    parts = stored(folder)
    with dequant.open(folder) as model:
        for tensor in model.values():
            codes = parts[tensor.x]
            assert tensor.codes.shape == codes.shape
            assert tensor.codes.data.tobytes() == codes.tobytes()
            if tensor.zero_point is not None:
                zeros = np.asarray(tensor.zero_point)
                assert any(p.shape == zeros.shape and p.tobytes() == zeros.tobytes()
                           for p in parts.values())


@pytest.mark.parametrize("folder", GPTQ, indirect=True)
def test_functions_of_schemes_take_the_parts(folder):
    bits = json.loads((folder / "config.json").read_text())["quantization_config"]["bits"]
    index = stored(folder)[f"{MODULE}.g_idx"]
    with dequant.open(folder) as model:
        t = model[f"{MODULE}.weight"]
        y = dequant.gptq.dequantize(t.codes, t.zero_point, t.scale, index, bits=bits,
                                    format="gptq", dtype="float32")
        assert y.tobytes() == t.to_numpy("float32").tobytes()

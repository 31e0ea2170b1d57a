"""FP8 checkpoints of other producers than DeepSeek: FBGEMM has a scale for each row, and experts
with one for each column; GPTQModel divides by its scales."""

import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16, e4m3

CONFIG = {"architectures": ["A"], "torch_dtype": "bfloat16", "quantization_config": {
    "quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
    "modules_to_not_convert": ["lm_head"]}}
CODES = np.arange(64, dtype=np.uint8).reshape(8, 8)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    folder = Folder(tmp_path)
    folder.config(CONFIG)
    return folder


def test_each_row_has_a_scale(folder):
    scales = np.linspace(1e-3, 7e-3, 8, dtype=np.float32)[:, None]
    folder.file({"a.weight": ("F8_E4M3", CODES), "a.weight_scale": ("F32", scales),
                 "lm_head.weight": ("BF16", bfloat16(np.ones((8, 8))))})
    folder.convert()
    out = tensors(folder.out / "model.safetensors")
    assert out.keys() == {"a.weight", "lm_head.weight"}
    assert out["a.weight"][2].tobytes() == bfloat16(e4m3(CODES) * scales).tobytes()
    assert "quantization_config" not in (folder.out / "config.json").read_text()


def test_each_column_of_experts_has_a_scale(folder):
    codes = np.arange(2 * 4 * 8, dtype=np.uint8).reshape(2, 4, 8)
    scales = np.linspace(1e-3, 7e-3, 16, dtype=np.float32).reshape(2, 1, 8)
    folder.file({"experts.gate_up_proj": ("F8_E4M3", codes),
                 "experts.gate_up_proj_scale": ("F32", scales)})
    folder.convert()
    out = tensors(folder.out / "model.safetensors")["experts.gate_up_proj"]
    assert out[2].tobytes() == bfloat16(e4m3(codes) * scales).tobytes()


@pytest.mark.parametrize("rows", [4, 8])
def test_scales_of_columns_in_the_shape_of_those_of_rows_are_refused(folder, rows):
    folder.file({"experts.down_proj": ("F8_E4M3", np.zeros((2, rows, 8), np.uint8)),
                 "experts.down_proj_scale": ("F32", np.ones((2, 8, 1), np.float32))})
    folder.refused(4, "experts.down_proj_scale has the shape [2, 8, 1]", "[2, 1, 8]")


def test_scales_that_divide_were_multiplied(folder):
    """As GPTQModel writes them: weights near 1e5 instead of near 0.01, with exit code 0."""
    folder.config({"torch_dtype": "bfloat16", "quantization_config": {
        "bits": 8, "checkpoint_format": "float8_e4m3fn", "quant_method": "fp8",
        "weight_scale_method": "row", "weight_scale_semantics": "inverse"}})
    folder.file({"a.weight": ("F8_E4M3", CODES),
                 "a.weight_scale_inv": ("F32", np.full(8, 1e3, np.float32))})
    folder.refused(4, 'weight_scale_semantics is "inverse"', "divided by their scales")

"""FP8 checkpoints of other producers than DeepSeek: FBGEMM has a scale for each row, and experts
with one for each column; GPTQModel divides by its scales; DeepSeek-V4.1 has tables of MX, and
transformers experts of FP4."""

import ml_dtypes
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


# The tables of DeepSeek-V4.1's engrams: MX beside weights in square blocks.

@pytest.mark.parametrize("scales", ["U8", "F8_E8M0"])
@pytest.mark.parametrize("rows", [64, 33, 2])
def test_tables_with_scales_of_parts_of_rows_were_called_malformed(folder, scales, rows):
    """weight_block_size is that of the other weights: the shapes fit one of the two only."""
    folder.config({"torch_dtype": "float32", "quantization_config": {
        "quant_method": "fp8", "weight_block_size": [32, 32]}})
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 0x7F, (rows, 128)).astype(np.uint8)
    exponents = {name: rng.integers(120, 134, shape).astype(np.uint8)
                 for name, shape in (("table", (rows, 4)), ("w", (-(-rows // 32), 4)))}
    folder.file({name: tensor for of, bits in exponents.items() for name, tensor in (
        (f"{of}.weight", ("F8_E4M3", codes)), (f"{of}.scale", (scales, bits)))})
    folder.convert()
    for name, lines in (("table", 1), ("w", 32)):
        powers = np.exp2(exponents[name].astype(np.float32) - 127)
        want = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32) \
            * powers.repeat(lines, 0)[:rows].repeat(32, 1)
        assert (tensors(folder.out)[f"{name}.weight"][2].view("<f4") == want.ravel()).all(), name


@pytest.mark.parametrize(("scales", "shape"), [
    ("F8_E8M0", (64, 5)), ("F8_E8M0", (3, 4)), ("F32", (64, 4))])
def test_scales_that_fit_no_blocks_are_refused(folder, scales, shape):
    folder.config({"quantization_config": {"quant_method": "fp8", "weight_block_size": [32, 32]}})
    folder.file({"w.weight": ("F8_E4M3", np.zeros((64, 128), np.uint8)),
                 "w.scale": (scales, np.ones(shape, np.float32 if scales == "F32" else np.uint8))})
    folder.refused(3, "tensor w.weight")


# Experts of transformers' FP8Experts with expert_dtype fp4.

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
NAME = "m.experts.gate_up_proj"


def fp4_experts(folder, scales, place="quantization_config", expert_dtype="fp4"):
    """The floats of experts [2, 3, 64], of scales 2^-2, 2^-1 and so on."""
    document = {"torch_dtype": "bfloat16", "quantization_config": {
        "quant_method": "fp8", "weight_block_size": [128, 128]}}
    (document if place == "config.json" else document[place])["expert_dtype"] = expert_dtype
    folder.config(document)
    codes = np.random.default_rng(1).integers(0, 256, (2, 3, 32)).astype(np.uint8)
    exponents = np.arange(125, 137, dtype=np.uint8).reshape(2, 3, 2)
    powers = np.exp2(exponents.astype(np.float32) - 127)
    folder.file({NAME: ("I8", codes.view(np.int8)),
                 f"{NAME}_scale_inv": (scales, powers if scales == "F32" else exponents)})
    values = E2M1[np.stack([codes & 15, codes >> 4], -1).reshape(2, 3, 64)]
    return values * powers.repeat(32, -1)


@pytest.mark.parametrize("place", ["quantization_config", "config.json"])
@pytest.mark.parametrize("scales", ["U8", "F8_E8M0"])
def test_fp4_experts_with_scales_of_bytes_were_refused(folder, scales, place):
    expected = fp4_experts(folder, scales, place)
    folder.convert()
    dtype, shape, values = tensors(folder.out)[NAME]
    assert (dtype, shape) == ("BF16", [2, 3, 64])
    assert values.tobytes() == bfloat16(expected).tobytes()


@pytest.mark.parametrize(("scales", "expert_dtype"), [("F32", "fp4"), ("U8", "fp8")])
def test_integers_with_other_scales_are_refused(folder, scales, expert_dtype):
    fp4_experts(folder, scales, expert_dtype=expert_dtype)
    folder.refused(4, f"tensor {NAME}")


@pytest.mark.parametrize("method", ["metal", "gemma", "nvfp4", "fouroversix", "sinq"])
def test_methods_of_transformers_that_nothing_reads_are_refused(folder, method):
    folder.config({"torch_dtype": "bfloat16", "quantization_config": {"quant_method": method}})
    folder.file({"w.weight": ("I8", np.zeros((2, 4), np.int8)),
                 "w.weight_scale": ("F32", np.ones(2, np.float32))})
    folder.refused(4, f'quant_method "{method}" is not one that dequant knows')

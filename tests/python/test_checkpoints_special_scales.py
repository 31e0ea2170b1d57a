"""Scales that are NaN or infinite: converted as IEEE 754 says, counted, and warned of."""

import json

import ml_dtypes
import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import CONFIG, Folder, weight
from test_checkpoints_refused_tables import nested, nf4

NAN, INF = np.nan, np.inf
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
CODES = np.array([[0x38, 0x40], [0xB8, 0], [0x38, 0x38]], np.uint8)  # 1, 2; -1, 0; 1, 1


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def rows(folder, scales, dtype="F32", name="w"):
    """A float8 matrix of three rows with a scale each."""
    folder.config({"torch_dtype": "float32", "quantization_config": {"quant_method": "fp8"}})
    return {f"{name}.weight": ("F8_E4M3", CODES), f"{name}.weight_scale": (dtype, scales)}


def report(folder, *options):
    """The warnings, and what each tensor has."""
    done = folder.convert("--json", *options)
    document = json.loads(done.stdout)
    assert done.stderr == "".join(f"dequant: warning: {w}\n" for w in document["warnings"])
    counts = {t["name"]: (t.get("nan_scales", 0), t.get("infinite_scales", 0))
              for t in document["converted"]}
    return document["warnings"], counts


@pytest.mark.parametrize(("dtype", "numpy_type"), [
    ("F32", np.float32), ("F16", np.float16), ("BF16", BFLOAT16)])
def test_scales_of_each_type_are_computed_with_and_counted(folder, dtype, numpy_type):
    scales = np.array([[NAN], [-INF], [3]], numpy_type)
    folder.file(rows(folder, scales, dtype))
    warnings, counts = report(folder)
    assert warnings == ["tensor w.weight: 1 of 3 scales are NaN and 1 are infinite; its floats are "
                        "computed with them as IEEE 754 says"]
    assert counts == {"w.weight": (1, 1)}
    got = tensors(folder.out)["w.weight"][2].view(np.float32).reshape(3, 2)
    np.testing.assert_array_equal(got, [[NAN, NAN], [INF, NAN], [3, 3]])


@pytest.mark.parametrize(("scales", "words"), [
    ([[NAN], [1], [NAN]], "2 of 3 scales are NaN; "), ([[1], [1], [INF]], "1 of 3 scales are inf")])
def test_only_what_there_is_is_named(folder, scales, words):
    folder.file({**rows(folder, np.array(scales, np.float32)),
                 **rows(folder, np.ones((3, 1), np.float32), name="v")})
    [warning], counts = report(folder)
    assert words in warning and warning.startswith("tensor w.weight: ")
    assert counts["v.weight"] == (0, 0)


def test_the_greatest_and_least_scales_are_finite(folder):
    codes = np.array([[0x7F7FFFFF], [0x00000001], [0xFF7FFFFF]], np.uint32)
    folder.file(rows(folder, codes.view(np.float32)))
    assert report(folder) == ([], {"w.weight": (0, 0)})


@pytest.mark.parametrize("format_name", ["mx", "compressed-tensors"])
def test_code_255_of_e8m0_is_nan_or_infinity_as_the_producer_reads_it(folder, format_name):
    scales = np.array([[255], [127]], np.uint8)
    if format_name == "mx":
        folder.config({"torch_dtype": "float32", "quantization_config": {"quant_method": "fp8"}})
        folder.file({"w.weight": ("I8", np.full((2, 16), 0x22, np.int8)),
                     "w.scale": ("F8_E8M0", scales)})
    else:
        weights = {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32,
                   "scale_dtype": "torch.uint8"}
        folder.config({"torch_dtype": "float32", "quantization_config": {
            "quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
            "config_groups": {"g": {"targets": ["Linear"], "weights": weights}}}})
        folder.file({"w.weight_packed": ("U8", np.full((2, 16), 0x22, np.uint8)),
                     "w.weight_scale": ("U8", scales)})
    _, counts = report(folder)
    assert counts == {"w.weight": (1, 0) if format_name == "mx" else (0, 1)}
    got = tensors(folder.out)["w.weight"][2].view(np.float32).reshape(2, 32)
    assert (np.isnan(got[0]) if format_name == "mx" else np.isposinf(got[0])).all()
    assert (got[1] == 1).all()


def test_scales_of_float8_and_of_the_whole_tensor_are_counted(folder):
    folder.config({"torch_dtype": "float32", "quantization_config": {
        "quant_method": "modelopt", "quant_algo": "NVFP4"}})
    folder.file({"w.weight": ("U8", np.full((2, 8), 0x22, np.uint8)),
                 "w.weight_scale": ("F8_E4M3", np.array([[0x7F], [0xFF]], np.uint8)),
                 "w.weight_scale_2": ("F32", np.array(INF, np.float32))})
    [warning], counts = report(folder)
    assert "2 of 3 scales are NaN and 1 are infinite" in warning and counts["w.weight"] == (2, 1)


@pytest.mark.parametrize(("divisor", "infinite"), [(0, 1), (1e-41, 1), (-1e-39, 1), (1e-38, 0)])
def test_a_divisor_that_makes_all_scales_infinite_was_not_counted(folder, divisor, infinite):
    weights = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
    folder.config({"torch_dtype": "float32", "quantization_config": {
        "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
        "config_groups": {"g": {"targets": ["Linear"], "weights": weights}}}})
    folder.file({"w.weight_packed": ("U8", np.full((2, 8), 0x22, np.uint8)),
                 "w.weight_scale": ("F8_E4M3", np.array([[0x38], [0x38]], np.uint8)),
                 "w.weight_global_scale": ("F32", np.array([divisor], np.float32))})
    warnings, counts = report(folder)
    assert counts == {"w.weight": (0, infinite)} and len(warnings) == infinite
    got = tensors(folder.out)["w.weight"][2].view(np.float32)
    assert np.isinf(got).all() == bool(infinite)


def test_scales_that_are_computed_are_counted(folder):
    nested(folder, **{".nested_quant_map": ("F32", np.array([NAN, INF] + [1] * 254, np.float32))})
    assert report(folder)[1] == {"w.weight": (1, 1)}


def test_zero_points_that_are_floats_are_counted(folder):
    folder.config({"quantization": {"bits": 4, "group_size": 32}, "torch_dtype": "float16"})
    folder.file({"w.weight": ("U32", np.zeros((1, 8), np.uint32)),
                 "w.scales": ("F16", np.ones((1, 2), np.float16)),
                 "w.biases": ("F16", np.array([[NAN, 0]], np.float16))})
    [warning], counts = report(folder)
    assert "1 of 4 scales are NaN" in warning and counts == {"w.weight": (1, 0)}


def test_tables_of_values_are_no_scales(folder):
    nf4(folder, **{".quant_map": ("F32", np.array([NAN] * 16, np.float32))})
    assert report(folder) == ([], {"w.weight": (0, 0)})


def test_scales_beyond_the_memory_are_counted_once(folder):
    """Rows of many chunks whose scales are read chunk by chunk."""
    count = 3 << 20
    scales = np.ones(count, np.float32)
    scales[[0, count // 2, count - 1]] = NAN
    scales[7] = INF
    folder.config({"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"}})
    folder.file({"w.weight": ("F8_E4M3", np.full((count, 1), 0x38, np.uint8)),
                 "w.weight_scale": ("F32", scales.reshape(count, 1))})
    assert report(folder, "--mem", "8Mi")[1] == {"w.weight": (3, 1)}


def test_audits_and_resumed_conversions_count_the_same(folder):
    scales = np.array([[NAN], [1], [1]], np.float32)
    folder.file({**rows(folder, scales), **rows(folder, scales, name="v")})
    options = ["--max-shard-size", "30"]
    before = report(folder, *options)
    assert report(folder, *options, "--force", "--audit", folder.path.parent / "audit") == before
    second = folder.out / "model-00002-of-00002.safetensors"
    second.unlink()
    second.mkdir()  # the conversion fails there, and leaves the first file
    folder.convert(*options, "--force", code=5)
    second.rmdir()
    assert report(folder, *options, "--resume") == before


def test_inspect_says_it_too(folder):
    folder.file(rows(folder, np.array([[NAN], [INF], [1]], np.float32)))
    [tensor] = json.loads(dequant("inspect", folder.path, "--all", "--json").stdout)["tensors"]
    assert tensor["scale"]["nan"] == 1 and tensor["scale"]["max"] == "inf"


def test_a_dry_run_reads_no_scales(folder):
    folder.config(CONFIG)
    folder.file({**weight(), "w.weight_scale_inv": ("F32", np.full((1, 1), NAN, np.float32))})
    assert report(folder, "--dry-run") == ([], {"w.weight": (0, 0)})

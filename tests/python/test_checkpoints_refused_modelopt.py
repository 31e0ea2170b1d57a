"""ModelOpt checkpoints whose configuration and tensors contradict each other, or whose layout has
no dequantizer; and what conversions drop and warn of."""

import json
import shutil

import ml_dtypes
import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def config(folder, own=None, file=None):
    """config.json, and hf_quant_config.json."""
    document = {"torch_dtype": "bfloat16"}
    if own is not None:
        document["quantization_config"] = {"quant_method": "modelopt", **own}
    folder.config(document)
    if file is not None:
        (folder.path / "hf_quant_config.json").write_text(
            json.dumps({"producer": {"name": "modelopt"}, "quantization": file}))


def fp8(name="w", **replaced):
    """A weight [2, 4] of ones with the scale 2."""
    parts = {"weight": ("F8_E4M3", np.full((2, 4), 0x38, np.uint8)),
             "weight_scale": ("F32", np.array(2, np.float32)), **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def nvfp4(name="w", **replaced):
    """A weight [2, 16] of codes 8 and 2, 0 and 1, with the scales 2 and 4."""
    parts = {"weight": ("U8", np.full((2, 8), 0x28, np.uint8)),
             "weight_scale": ("F8_E4M3", np.full((2, 1), 0x40, np.uint8)),
             "weight_scale_2": ("F32", np.array(4, np.float32)), **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def values(folder, name="w"):
    return tensors(folder.out)[f"{name}.weight"][2]


@pytest.mark.parametrize("algorithm", ["NVFP4", "W4A16_NVFP4", "NVFP4_AWQ", "nvfp4",
                                       "W4A8_NVFP4_FP8"])
def test_code_8_is_no_negative_zero(folder, algorithm):
    config(folder, {"quant_algo": algorithm})
    folder.file(nvfp4())
    folder.convert()
    assert (values(folder) == bfloat16([0, 8] * 16)).all()


@pytest.mark.parametrize("algorithm", ["MXFP4", "W4A8_MXFP4_FP8"])
def test_mxfp4_was_refused_where_activations_are_fp8(folder, algorithm):
    config(folder, {"quant_algo": algorithm, "group_size": 32})
    folder.file({"w.weight": ("U8", np.full((2, 16), 0x28, np.uint8)),
                 "w.weight_scale": ("U8", np.full((2, 1), 128, np.uint8))})
    folder.convert()
    assert (values(folder) == bfloat16([-0.0, 2] * 32)).all()


@pytest.mark.parametrize("algorithm", ["W8A8_SQ_PER_CHANNEL", "W8A16"])
def test_int8_was_refused_where_activations_are_floats(folder, algorithm):
    config(folder, {"quant_algo": algorithm})
    folder.file({"w.weight": ("I8", np.full((2, 4), -3, np.int8)),
                 "w.weight_scale": ("F32", np.array([2, 4], np.float32))})
    folder.convert()
    assert (values(folder) == bfloat16([-6] * 4 + [-12] * 4)).all()


@pytest.mark.parametrize("algorithm", ["NVFP4_SVD", "fp8_pb_real"])
def test_algorithms_whose_weights_are_more_or_other_tensors_are_refused(folder, algorithm):
    config(folder, {"quant_algo": algorithm})
    folder.file(nvfp4())
    folder.refused(4, "tensor w.weight", f"quant_algo {algorithm.upper()}", "dequant knows")


def test_the_scale_of_a_single_block_has_no_dimensions(folder):
    config(folder, {"quant_algo": "fp8_pb_wo"})
    two = np.array([2, 4], np.float32).reshape(1, 1, 2, 1)
    folder.file({**fp8(), **fp8("v", weight=("F8_E4M3", np.full((1, 129), 0x38, np.uint8)),
                                weight_scale=("F32", two))})
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()
    assert (values(folder, "v") == bfloat16([2] * 128 + [4])).all()


def test_the_file_of_modelopt_is_enough(folder):
    config(folder, file={"quant_algo": "FP8"})
    folder.file(fp8())
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()
    assert not (folder.out / "hf_quant_config.json").exists()


@pytest.mark.parametrize(("own", "file", "code", "words"), [
    ({"quant_algo": "FP8"}, {"quant_algo": "NVFP4"}, 3, ['"FP8" in config.json and "NVFP4"']),
    ({}, None, 3, ["tensor w.weight", "neither config.json nor hf_quant_config.json"]),
    ({"quant_algo": 8}, None, 3, ["quant_algo is 8"]),
    ({"quant_algo": "FP9"}, None, 4, ["tensor w.weight", "quant_algo FP9"]),
    ({"quant_algo": "NVFP4"}, None, 3, ["tensor w.weight", "float8e4m3fn"]),
    ({"quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}, None, 3, ["2 rows have a scale each"]),
    ({"quant_algo": "FP8", "ignore": ["w"]}, None, 3, ["leaves module w unquantized"]),
    ({"quant_algo": "FP8"}, {"quant_algo": "FP8", "exclude_modules": ["lm*", "w*"]}, 3,
     ["leaves module w unquantized"]),
    ({"quant_algo": "FP8", "ignore": "w"}, None, 3, ["ignore", "a list of strings"]),
    ({"quant_algo": "MIXED_PRECISION"}, None, 3, ["module w is not in quantized_layers"]),
    ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"w": {}}}, None, 3,
     ["w: quant_algo is absent"]),
    ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"w": {"quant_algo": "FP8"}}},
     {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"w": {"quant_algo": "NVFP4"}}}, 3,
     ['"FP8" in one file and "NVFP4" in hf_quant_config.json']),
])
def test_configurations_that_do_not_describe_the_tensors_are_refused(folder, own, file, code,
                                                                     words):
    config(folder, own, file)
    folder.file(fp8())
    folder.refused(code, *words)


@pytest.mark.parametrize("source", ["own", "file"])
def test_modules_may_have_algorithms_of_their_own(folder, source):
    config(folder, **{source: {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "w": {"quant_algo": "FP8"}, "v": {"quant_algo": "NVFP4", "group_size": 16}}}})
    folder.file({**fp8(), **nvfp4("v")})
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()
    assert (values(folder, "v") == bfloat16([0, 8] * 16)).all()


def test_a_module_stands_for_the_modules_in_it_that_have_no_algorithm_of_their_own(folder):
    config(folder, {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "m": {"quant_algo": "MXFP8"}, "m.experts": {"quant_algo": "NVFP4", "group_size": 16},
        "m.experts.1.up": {"quant_algo": "FP8"}}})
    folder.file({**nvfp4("m.experts.0.up"), **fp8("m.experts.1.up")})
    folder.convert()
    assert (values(folder, "m.experts.0.up") == bfloat16([0, 8] * 16)).all()
    assert (values(folder, "m.experts.1.up") == bfloat16([2])).all()


def test_a_model_with_a_quantized_cache_alone_was_refused(folder):
    config(folder, {"quant_algo": None, "kv_cache_scheme": {"num_bits": 8, "type": "float"}},
           {"quant_algo": None, "kv_cache_quant_algo": "FP8"})
    weight = ("BF16", bfloat16(np.arange(8).reshape(2, 4)))
    folder.file({"a.k_proj.weight": weight, "a.k_proj.k_scale": ("F32", np.array(1, np.float32))})
    folder.convert()
    assert values(folder, "a.k_proj").tobytes() == weight[1].tobytes()
    assert "k_scale" not in str(tensors(folder.out).keys())
    assert "quant" not in (folder.out / "config.json").read_text()


# Stacked experts: a parameter of a module, with names of its own for scales.

def experts(parts, name="m.experts.down_proj"):
    """The tensors of a module w as those of experts."""
    return {name if part == "w.weight" else f"{name}_{part[2:]}": tensor
            for part, tensor in parts.items()}


def test_experts_of_fp8_are_read(folder):
    config(folder, {"quant_algo": "FP8", "ignore": ["lm_head"]})
    folder.file(experts(fp8(weight=("F8_E4M3", np.full((2, 2, 4), 0x38, np.uint8)),
                            input_scale=("F32", np.array(1, np.float32)))))
    report = json.loads(folder.convert("--json").stdout)
    got = tensors(folder.out)
    assert got.keys() == {"m.experts.down_proj"}
    assert got["m.experts.down_proj"][1] == [2, 2, 4]
    assert (got["m.experts.down_proj"][2] == bfloat16([2])).all()
    assert [dropped["name"] for dropped in report["dropped"]] == [
        "m.experts.down_proj_input_scale"]


@pytest.mark.parametrize("shape", [(2,), (2, 2), (2, 1, 1)])
def test_experts_with_second_scales_of_their_own_were_called_malformed(folder, shape):
    config(folder, {"quant_algo": "NVFP4"})
    folder.file(experts(nvfp4(weight=("U8", np.full((2, 4, 8), 0x28, np.uint8)),
                              weight_scale=("F8_E4M3", np.full((2, 4, 1), 0x40, np.uint8)),
                              weight_scale_2=("F32", np.ones(shape, np.float32)))))
    folder.refused(4, "tensor m.experts.down_proj_weight_scale_2", "scales of single experts")


def test_experts_of_nvfp4_have_one_second_scale(folder):
    config(folder, {"quant_algo": "NVFP4"})
    folder.file(experts(nvfp4(weight=("U8", np.full((1, 4, 8), 0x28, np.uint8)),
                              weight_scale=("F8_E4M3", np.full((1, 4, 1), 0x40, np.uint8)),
                              weight_scale_2=("F32", np.full(1, 4, np.float32)))))
    folder.convert()
    got = tensors(folder.out)["m.experts.down_proj"]
    assert got[1] == [1, 4, 16] and (got[2] == bfloat16([0, 8] * 32)).all()


def experts_with_scales(folder, shape, scales):
    """The floats of experts with random codes and scales of that shape, if they broadcast."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 0x7F, shape).astype(np.uint8)
    scale = rng.random(scales).astype(np.float32)
    config(folder, {"quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"})
    folder.file(experts(fp8(weight=("F8_E4M3", codes), weight_scale=("F32", scale))))
    return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32), scale


@pytest.mark.parametrize(("scales", "broadcast"), [
    ((4,), (4, 1, 1)), ((4, 6), (4, 6, 1)), ((4, 5), (4, 1, 5))])
def test_experts_with_scales_of_experts_rows_or_columns_were_refused(folder, scales, broadcast):
    """The dimensions that to_quantized_weight() of ModelOpt gives the scales."""
    codes, scale = experts_with_scales(folder, (4, 6, 5), scales)
    folder.convert("--dtype", "float32")
    got = tensors(folder.out)["m.experts.down_proj"]
    assert got[:2] == ("F32", [4, 6, 5])
    np.testing.assert_array_equal(got[2].view("<f4"), (codes * scale.reshape(broadcast)).ravel())


def test_one_scale_for_each_of_as_many_experts_as_rows_and_columns_is_read(folder):
    codes, scale = experts_with_scales(folder, (4, 4, 4), (4,))
    folder.convert("--dtype", "float32")
    np.testing.assert_array_equal(tensors(folder.out)["m.experts.down_proj"][2].view("<f4"),
                                  (codes * scale.reshape(4, 1, 1)).ravel())


@pytest.mark.parametrize(("shape", "scales", "code", "words"), [
    ((4, 6, 6), (4, 6), 4, ["weight_scale: shape [4, 6]", "as many rows as columns"]),
    ((4, 6, 5), (4, 4), 3, ["weight_scale: shape [4, 4] where experts [4, 6, 5]"]),
    ((4, 6, 5), (6,), 3, ["weight_scale: shape [6] where experts [4, 6, 5]"]),
    ((4, 6, 5), (4, 6, 1), 3, ["weight_scale: shape [4, 6, 1]"]),
    ((2, 4, 6, 5), (2,), 3, ["not that of a matrix"]),
])
def test_scales_of_experts_that_may_be_of_several_dimensions_or_of_none_are_refused(
        folder, shape, scales, code, words):
    experts_with_scales(folder, shape, scales)
    folder.refused(code, "tensor m.experts.down_proj", *words)


def experts_of_nvfp4(rng):
    """Experts [2, in = 32, out = 3] by columns, and the numbers that they stand for."""
    weight = rng.integers(0, 256, (2, 16, 3)).astype(np.uint8)
    scale = rng.integers(0x30, 0x50, (2, 2, 3)).astype(np.uint8)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    codes = np.stack([weight & 15, weight >> 4], 2).reshape(2, 32, 3)
    scales = scale.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * np.float32(4)
    return experts(nvfp4(weight=("U8", weight), weight_scale=("F8_E4M3", scale))), \
        values[codes] * scales.repeat(16, 1)


def test_experts_of_nvfp4_have_codes_of_two_inputs_in_a_byte(folder):
    config(folder, {"quant_algo": "NVFP4"})
    stored, expected = experts_of_nvfp4(np.random.default_rng(1))
    folder.file({**stored, **nvfp4("v")})
    folder.convert("--dtype", "float32")
    got = tensors(folder.out)
    assert got["m.experts.down_proj"][:2] == ("F32", [2, 32, 3])
    assert (got["m.experts.down_proj"][2].view("<f4") == expected.ravel()).all()
    assert got["v.weight"][1] == [2, 16]


def test_experts_of_nvfp4_along_rows_are_read_as_other_weights(folder):
    config(folder, {"quant_algo": "NVFP4"})
    folder.file(experts(nvfp4(weight=("U8", np.full((2, 2, 8), 0x28, np.uint8)),
                              weight_scale=("F8_E4M3", np.full((2, 2, 1), 0x40, np.uint8)))))
    folder.convert()
    got = tensors(folder.out)["m.experts.down_proj"]
    assert got[1] == [2, 2, 16] and (got[2] == bfloat16([0, 8] * 32)).all()


@pytest.mark.parametrize(("own", "words"), [
    ({"quant_algo": "FP8", "ignore": ["m.experts"]}, ["leaves module m.experts unquantized"]),
    ({"quant_algo": "W8A8_SQ_PER_CHANNEL"}, ["m.experts.down_proj", "not int8"]),
    ({"quant_algo": "FP8_PB_WO"}, ["m.experts.down_proj", "not that of a matrix"]),
    ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"m.experts.x": {"quant_algo": "FP8"}}},
     ["module m.experts is not in quantized_layers"]),
])
def test_experts_are_of_the_module_whose_parameter_they_are(folder, own, words):
    config(folder, own)
    folder.file(experts(fp8(weight=("F8_E4M3", np.full((2, 2, 4), 0x38, np.uint8)))))
    folder.refused(3, *words)


def test_a_module_whose_name_only_begins_like_one_of_the_list_is_refused(folder):
    config(folder, {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "m.expert": {"quant_algo": "FP8"}}})
    folder.file(fp8("m.experts"))
    folder.refused(3, "module m.experts is not in quantized_layers")


@pytest.mark.parametrize(("replaced", "words"), [
    ({"weight_scale_2": None}, ["weight_scale_2: weights of NVFP4 need one"]),
    ({"weight_scale_2": ("F32", np.ones(2, np.float32))}, ["is not one float32"]),
    ({"weight_scale": ("F8_E4M3", np.ones((2, 2), np.uint8))}, ["dimension 1 is 2"]),
])
def test_tensors_of_nvfp4_that_do_not_fit_are_refused(folder, replaced, words):
    config(folder, {"quant_algo": "NVFP4"})
    folder.file(nvfp4(**replaced))
    folder.refused(3, "tensor w.weight", *words)


def test_a_weight_without_a_scale_is_refused(folder):
    config(folder, {"quant_algo": "FP8"})
    folder.file(fp8(weight_scale=None))
    folder.refused(4, "tensor w.weight of type F8_E4M3")


def test_scales_of_caches_and_beside_dense_weights_are_dropped(folder):
    config(folder, {"quant_algo": "FP8", "ignore": ["v"]})
    folder.file({**fp8(), "v.weight": ("BF16", np.zeros((2, 2), np.uint16)),
                 "v.weight_scale": ("F32", np.array(1, np.float32)),
                 "w.input_scale": ("F32", np.array(1, np.float32)),
                 "a.k_proj.k_scale": ("F32", np.array(1, np.float32)),
                 "a.v_proj.v_bias": ("F32", np.array(1, np.float32)),
                 "b.attn.v_bias": ("F32", np.ones(4, np.float32))})
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight", "v.weight", "b.attn.v_bias"}


def test_factors_of_inputs_are_reported(folder):
    config(folder, {"quant_algo": "NVFP4_AWQ"})
    folder.file(nvfp4(pre_quant_scale=("BF16", bfloat16(np.ones(16)))))
    error = folder.convert().stderr
    assert "w.pre_quant_scale" in error and "multiply column i of the weight by factor i" in error
    assert tensors(folder.out).keys() == {"w.weight"}


@pytest.mark.parametrize("key", ["quantization_config", "_quantization_metadata"])
def test_scales_of_nvfp4_that_may_be_swizzled_were_read_as_rows(folder, key):
    """ModelOpt's files for ComfyUI, whose metadata do not say whether scales are swizzled."""
    config(folder, {"quant_algo": "NVFP4"})
    folder.file(nvfp4(), metadata={"format": "pt", key: "{}"})
    for options in ([], ["--keep-unknown"]):
        folder.refused(4, "tensor w.weight_scale", key, "may be swizzled", options=options)


def test_one_scale_in_a_file_for_comfyui_is_read(folder):
    config(folder, {"quant_algo": "FP8"})
    folder.file(fp8(), metadata={"quantization_config": "{}"})
    folder.convert()
    assert (values(folder) == bfloat16([2] * 8)).all()


def test_products_that_are_rounded_to_fp8_are_refused(folder, shared):
    source = shared / "checkpoints" / "refuse_modelopt_w4a8_awq"
    for file in ("config.json", "hf_quant_config.json", "model.safetensors"):
        shutil.copyfile(source / file, folder.path / file)
    folder.refused(4, "quant_algo W4A8_AWQ", "no dequantizer")

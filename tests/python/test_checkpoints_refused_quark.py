"""Quark checkpoints whose configuration and tensors contradict each other, or that are not
supported; and which configuration is that of a module."""

import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16

INT8 = {"dtype": "int8", "qscheme": "per_tensor", "group_size": None, "scale_format": None}
UINT4 = {"dtype": "uint4", "qscheme": "per_group", "group_size": 32}
MXFP4 = {"dtype": "fp4", "group_size": 32, "scale_format": "e8m0"}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def config(folder, weight, order="reorder", **members):
    folder.config({"torch_dtype": "bfloat16", "quantization_config": {
        "quant_method": "quark", "global_quant_config": {"weight": weight}, "exclude": ["lm_head"],
        "export": {"pack_method": order, "weight_format": "real_quantized"},
        "layer_quant_config": {}, "layer_type_quant_config": {}, **members}})


def int8(name="w", **replaced):
    """A weight [8, 32] of 3 less the zero point 1, with the scale 2."""
    parts = {"weight": ("I8", np.full((8, 32), 3, np.int8)),
             "weight_scale": ("F32", np.array(2, np.float32)),
             "weight_zero_point": ("I8", np.array(1, np.int8)), **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def uint4(name="w", **replaced):
    """A weight [8, 32] with the same values."""
    parts = {"weight": ("I32", np.full((32, 1), 0x33333333, np.int32)),
             "weight_scale": ("BF16", bfloat16(np.full((1, 8), 2))),
             "weight_zero_point": ("I32", np.full((1, 1), 0x11111111, np.int32)), **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def mxfp4(name="w", **replaced):
    """A weight [8, 32] with the same values."""
    parts = {"weight": ("U8", np.full((8, 16), 0x66, np.uint8)),
             "weight_scale": ("U8", np.full((8, 1), 127, np.uint8)), **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def assert_fours(folder, *names):
    for name in names:
        dtype, shape, numbers = tensors(folder.out)[f"{name}.weight"]
        assert (dtype, shape) == ("BF16", [8, 32]) and (numbers == bfloat16([4])).all(), name


@pytest.mark.parametrize(("weight", "tensors_of"), [(INT8, int8), (UINT4, uint4), (MXFP4, mxfp4)])
def test_the_type_says_what_the_tensors_are(folder, weight, tensors_of):
    config(folder, weight)
    folder.file(tensors_of())
    folder.convert()
    assert_fours(folder, "w")
    assert len(tensors(folder.out)) == 1


@pytest.mark.parametrize(("weight", "code", "words"), [
    ({**INT8, "dtype": "int4", "group_size": 32}, 3, ["weight: int8[8, 32] is not int32"]),
    ({**INT8, "dtype": "bfp16"}, 4, ["tensor w.weight_zero_point", "zero points", "bfp16"]),
    ({**INT8, "dtype": "fp8_e4m3"}, 4, ["zero points"]),
    ([INT8, UINT4], 4, ["weights that are quantized in 2 steps"]),
    (None, 4, ["tensor w.weight_zero_point"]),
    ("int8", 3, ["weight is", "not an object"]),
    ({**INT8, "group_size": "32"}, 3, ["group_size", "an integer"]),
])
def test_configurations_that_do_not_describe_the_tensors_are_refused(folder, weight, code, words):
    config(folder, weight)
    folder.file(int8())
    folder.refused(code, *words)


@pytest.mark.parametrize(("weight", "code", "words"), [
    ({**MXFP4, "group_size": 16}, 4, ['dtype "fp4", group_size 16']),
    ({**MXFP4, "scale_format": None}, 4, ['scale_format ""']),
    ({**MXFP4, "dtype": "mx6"}, 4, ['dtype "mx6"']),
    ({**MXFP4, "dtype": "fp6_e2m3"}, 3, ["tensor w.weight", "16 bytes"]),
    ({"dtype": "fp8_e4m3"}, 3, ["its type is U8", 'dtype "fp8_e4m3"']),
])
def test_floats_of_other_kinds_are_refused(folder, weight, code, words):
    config(folder, weight)
    folder.file(mxfp4())
    folder.refused(code, *words)


@pytest.mark.parametrize(("replaced", "words"), [
    ({"weight_zero_point": None}, ["weights of uint4 need one"]),
    ({"weight_zero_point": ("I8", np.zeros((1, 8), np.int8))}, ["weight_zero_point: int8[1, 8]"]),
    ({"weight_scale": ("BF16", bfloat16(np.ones((8, 1))))}, ["weight_scale: bfloat16[8, 1]"]),
])
def test_tensors_of_4_bits_that_do_not_fit_are_refused(folder, replaced, words):
    config(folder, UINT4)
    folder.file(uint4(**replaced))
    folder.refused(3, "tensor w.weight", *words)


def test_another_order_of_codes_is_refused(folder):
    config(folder, UINT4, order="order")
    folder.file(uint4())
    folder.refused(4, 'pack_method "order"', 'only "reorder" is read')


def test_the_order_of_codes_does_not_matter_to_bytes(folder):
    config(folder, INT8, order="order")
    folder.file(int8())
    folder.convert()
    assert_fours(folder, "w")


def test_modules_may_have_a_configuration_of_their_own(folder):
    config(folder, INT8, layer_quant_config={
        "*.v": {"weight": UINT4}, "m.u": {"weight": MXFP4}, "*.*": {"weight": MXFP4}})
    folder.file({**int8(), **uint4("m.v"), **mxfp4("m.u"), **mxfp4("m.t")})
    folder.convert()
    assert_fours(folder, "w", "m.v", "m.u", "m.t")


@pytest.mark.parametrize(("members", "code", "words"), [
    ({"layer_type_quant_config": {"Linear": {"weight": INT8}}}, 4, ["layer_type_quant_config"]),
    ({"layer_quant_config": {"*w": 1}}, 3, ["*w is 1, not an object"]),
    ({"layer_quant_config": {"[b-a]": {"weight": INT8}}}, 3, ["[b-a]"]),
    ({"layer_quant_config": {f"*{i}": {} for i in range(1001)}}, 3, ["more than 1000 patterns"]),
    ({"exclude": ["*w"]}, 3, ["leaves module w unquantized"]),
])
def test_lists_of_modules_that_contradict_the_tensors_are_refused(folder, members, code, words):
    config(folder, INT8, **members)
    folder.file(int8())
    folder.refused(code, *words)


def test_parameters_beside_a_dense_weight_are_dropped(folder):
    config(folder, INT8)
    folder.file({**int8(), "v.weight": ("BF16", np.zeros((2, 2), np.uint16)),
                 "v.weight_scale": ("F32", np.array(1, np.float32)),
                 "v.weight_zero_point": ("I8", np.array(1, np.int8))})
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight", "v.weight"}

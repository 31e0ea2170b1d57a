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
    ({**UINT4, "dtype": "int4"}, 3, ["weight: int8[8, 32] is not int32"]),
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


@pytest.mark.parametrize(("weight", "tensors_of", "words"), [
    ({**INT8, "qscheme": "per_channel", "ch_axis": 1}, int8, ['"per_channel" with ch_axis 1',
                                                             "scales of rows, ch_axis 0"]),
    ({**INT8, "qscheme": "per_channel", "ch_axis": -1}, int8, ["with ch_axis -1"]),
    ({**INT8, "qscheme": "per_channel", "ch_axis": -2**63}, int8, ["with ch_axis -9223"]),
    ({**UINT4, "ch_axis": 0}, uint4, ['"per_group" with ch_axis 0', "groups along rows"]),
    ({**MXFP4, "qscheme": "per_group", "ch_axis": 0}, mxfp4, ["with ch_axis 0"]),
])
def test_scales_of_columns_were_taken_for_scales_of_rows(folder, weight, tensors_of, words):
    config(folder, weight)
    folder.file(tensors_of())
    folder.refused(4, "tensor w.weight: qscheme", *words)


@pytest.mark.parametrize(("weight", "tensors_of"), [
    ({**INT8, "ch_axis": 1}, int8), ({**INT8, "qscheme": "per_channel", "ch_axis": 0}, int8),
    ({**INT8, "qscheme": "per_channel", "ch_axis": -2}, int8), ({**UINT4, "ch_axis": 1}, uint4),
    ({**UINT4, "ch_axis": -1}, uint4), ({**MXFP4, "qscheme": "per_group", "ch_axis": -1}, mxfp4)])
def test_the_axes_of_rows_are_read(folder, weight, tensors_of):
    config(folder, weight)
    folder.file(tensors_of())
    folder.convert()
    assert_fours(folder, "w")


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_codes_of_4_bits_with_scales_of_channels_were_called_malformed(folder, dtype):
    config(folder, {"dtype": dtype, "qscheme": "per_channel", "ch_axis": 0, "group_size": None})
    folder.file(uint4())
    folder.refused(4, 'tensor w.weight: codes of 4 bits with qscheme "per_channel"', '"per_group"')


def test_int8_in_groups_was_called_malformed(folder):
    """Quark transposes these: the weight is [in, out]."""
    config(folder, {**INT8, "qscheme": "per_group", "group_size": 32, "ch_axis": 1})
    folder.file(int8(weight=("I8", np.zeros((32, 8), np.int8)), weight_zero_point=None,
                     weight_scale=("BF16", bfloat16(np.ones((1, 8))))))
    folder.refused(4, 'tensor w.weight: weights of dtype "int8" with qscheme "per_group"')


@pytest.mark.parametrize("asked", ["float32", "float16", "bfloat16"])
def test_the_scale_255_was_nan_where_quark_computes_infinity(folder, asked):
    """Quark: 2 ** (255 - 127) in its own type is infinite, and so are the products, but for 0."""
    config(folder, MXFP4)
    codes = np.zeros((8, 16), np.uint8)
    codes[:, :2] = [0x91, 0x0A]
    folder.file(mxfp4(weight=("U8", codes), weight_scale=("U8", np.full((8, 1), 255, np.uint8))))
    folder.convert("--dtype", asked)
    dtype, shape, bits = tensors(folder.out)["w.weight"]
    values = (bits.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else bits.view(
        np.float16 if dtype == "F16" else np.float32)
    row = values.reshape(shape)[0].astype(np.float64)
    assert row[:3].tolist() == [np.inf, -np.inf, -np.inf] and np.isnan(row[3:]).all()


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

"""HQQ, quanto and torchao checkpoints, whose tensors or metadata say how they are quantized: what
contradicts itself, or is not supported."""

import json

import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def half(values):
    return "F16", np.asarray(values, np.float16)


# HQQ.

def integer(number):
    return "I32", np.array(number, np.int32)


def flag(number):
    return "U8", np.array(number, np.uint8)


def text(characters):
    return "U8", np.frombuffer(characters.encode(), np.uint8)


def hqq(folder, **replaced):
    """The tensors of a weight [4, 8] of 4 bits in groups of 8; None leaves a tensor out."""
    folder.config({"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "hqq"}})
    parts = {"W_q": ("U8", np.full((2, 8), 0x53, np.uint8)), "scale": half([[2]] * 4),
             "zero": half([[0.5]] * 4), "nbits": integer(4), "group_size": integer(8),
             "axis": integer(1), "shape": ("I64", np.array([4, 8], np.int64)),
             "packing": text("4bit_u8"), "compute_dtype": text("torch.float16"),
             "quant_scale": flag(0), "quant_zero": flag(0), "view_as_float": flag(0),
             "channel_wise": flag(1), "optimize": flag(1), **replaced}
    folder.file({f"w.{part}": tensor for part, tensor in parts.items() if tensor is not None})


def test_rows_of_the_first_slab_are_in_the_high_bits(folder):
    hqq(folder)
    folder.convert()
    got = tensors(folder.out)
    assert got.keys() == {"w.weight"} and got["w.weight"][:2] == ("F16", [4, 8])
    assert got["w.weight"][2].view("<f2").tolist() == [9] * 16 + [5] * 16


@pytest.mark.parametrize("left_out", ["packing", "compute_dtype", "view_as_float", "optimize"])
def test_some_fields_are_not_needed(folder, left_out):
    hqq(folder, **{left_out: None})
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight"}


@pytest.mark.parametrize(("field", "tensor", "code", "words"), [
    ("scale", None, 3, ["w.W_q", "there is no w.scale"]),
    ("zero", None, 3, ["there is no w.zero"]),
    ("shape", None, 3, ["there is no w.shape"]),
    ("nbits", None, 4, ["there is no w.nbits"]),
    ("group_size", None, 4, ["there is no w.group_size"]),
    ("nbits", integer(5), 4, ["w.packing", "4bit_u8"]),
    ("nbits", integer([4, 4]), 3, ["w.nbits", "2 integers"]),
    ("nbits", half(4), 3, ["w.nbits", "F16"]),
    ("packing", text("4bit_32"), 4, ["w.packing", "4bit_32"]),
    ("compute_dtype", text("torch.bfloat16"), 4, ["w.compute_dtype", "torch.bfloat16"]),
    ("quant_scale", flag(1), 4, ["w.quant_scale"]),
    ("quant_zero", flag(1), 4, ["w.quant_zero"]),
    ("view_as_float", flag(1), 4, ["w.view_as_float"]),
    ("channel_wise", flag(0), 4, ["w.channel_wise"]),
    ("axis", integer(0), 3, ["W_q: uint8[2, 8] where uint8[4, 4]"]),
    ("group_size", integer(16), 3, ["W_q: uint8[2, 8]"]),
    ("shape", ("I64", np.array([4, 9], np.int64)), 3, ["36 elements have no groups of 8"]),
    ("meta", flag(1), 4, ["tensor w.meta of type U8"]),
])
def test_fields_of_hqq_that_contradict_tensors_are_refused(folder, field, tensor, code, words):
    hqq(folder, **{field: tensor})
    folder.refused(code, *words)


# quanto.

def quanto(folder, weights="qint4", bias=2, columns=128, groups=2, **replaced):
    folder.config({"torch_dtype": "float32"})
    if weights:
        (folder.path / "quanto_qmap.json").write_text(
            json.dumps({"m.w": {"weights": weights, "activations": "none"}}))
    parts = {"weight._data._data": ("U8", np.full((groups // 2, columns), 0x53, np.uint8)),
             "weight._scale": ("F32", np.full((groups, 1), 2, np.float32)),
             "weight._shift": ("F32", np.full((groups, 1), 1, np.float32)),
             "bias": ("F32", np.zeros(bias, np.float32)) if bias else None, **replaced}
    folder.file({f"m.w.{part}": tensor for part, tensor in parts.items() if tensor is not None})


def shape_of(folder):
    folder.convert()
    return tensors(folder.out)["m.w.weight"][1]


def test_rows_of_the_first_slab_are_in_the_low_bits(folder):
    quanto(folder)
    assert shape_of(folder) == [2, 128]
    got = tensors(folder.out)["m.w.weight"][2].view("<f4")
    assert got.tolist() == [5] * 128 + [9] * 128
    assert not (folder.out / "quanto_qmap.json").exists()


@pytest.mark.parametrize("key", ["weights", "weights_dtype"])
def test_the_bits_of_a_quanto_model_of_diffusers_were_not_found(folder, key):
    """diffusers' QuantoConfig has another key than that of transformers, and no quanto_qmap.json
    is beside it."""
    quanto(folder, weights=None)
    folder.config({"quantization_config": {"quant_method": "quanto", key: "int4",
                                           "modules_to_not_convert": []}})
    folder.convert()
    got = tensors(folder.out)["m.w.weight"][2].view("<f4")
    assert got.tolist() == [5] * 128 + [9] * 128


@pytest.mark.parametrize(("bias", "columns", "groups", "shape"), [
    (1, 128, 2, [1, 256]), (2, 96, 6, [2, 288]), (None, 40, 2, [2, 40]), (2, 64, 2, [2, 64])])
def test_the_bias_says_how_many_rows_groups_come_from(folder, bias, columns, groups, shape):
    quanto(folder, bias=bias, columns=columns, groups=groups)
    assert shape_of(folder) == shape


def test_a_shape_that_follows_from_the_bias_is_reported(folder):
    quanto(folder, bias=1)
    error = folder.convert().stderr
    assert "m.w.weight: its shape is not stored; [1, 256]" in error
    assert "the weight of a convolution has the same rows" in error


@pytest.mark.parametrize(("options", "code", "words"), [
    ({"bias": None}, 4, ["m.w.weight", "its shape is not stored"]),
    ({"bias": 3}, 3, ["2 groups of 128 are no rows of the 3"]),
    # One row of 128 columns is not cut into two groups of 64.
    ({"bias": 1, "columns": 64}, 3, ["2 groups of 64 are no rows of the 1"]),
    ({"weights": None}, 4, ["m.w.weight._data._data", "says nothing of the module"]),
    ({"weights": "qint8"}, 3, ["its codes have 2 or 4 bits", "qint8"]),
    ({"weights": "qint2", "groups": 8}, 3, ["data: shape [4, 128]"]),
    ({"weight._shift": None}, 3, ["there is no m.w.weight._shift"]),
    ({"weight._scale": None}, 3, ["there is no m.w.weight._scale"]),
])
def test_tensors_of_quanto_that_contradict_each_other_are_refused(folder, options, code, words):
    # Without a scale the checkpoint is one of quanto by its configuration only.
    quanto(folder, **options)
    folder.config({"torch_dtype": "float32", "quantization_config": {"quant_method": "quanto"}})
    folder.refused(code, *words)


def test_weights_of_8_bits_have_their_shape(folder):
    quanto(folder, weights="qint8", **{
        "weight._data._data": None, "weight._shift": None,
        "weight._data": ("I8", np.full((2, 128), -3, np.int8))})
    assert shape_of(folder) == [2, 128]
    assert (tensors(folder.out)["m.w.weight"][2].view("<f4") == -6).all()


# torchao.

RECIPE = {"_type": "Int8Tensor", "_data": {
    "block_size": [1, 4], "dtype": {"_type": "torch.dtype", "_data": "bfloat16"}},
    "_tensor_data_names": ["qdata", "scale", "zero_point"]}


def with_metadata(path, metadata):
    """Puts metadata into the header of a file."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8:end])}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[end:])


def torchao(folder, recipe=None, method="torchao", **replaced):
    folder.config({"quantization_config": {"quant_method": method}} if method else {})
    parts = {"qdata": ("I8", np.full((2, 8), 5, np.int8)),
             "scale": ("F32", np.full((2, 2), 2, np.float32)),
             "zero_point": ("I8", np.full((2, 2), -1, np.int8)), **replaced}
    path = folder.file({f"w._weight_{part}": tensor for part, tensor in parts.items()
                        if tensor is not None})
    if not isinstance(recipe, str):
        recipe = json.dumps(RECIPE if recipe is None else recipe)
    with_metadata(path, {"format": "pt", "tensor_names": "[\"w.weight\"]", "w.weight": recipe})


@pytest.mark.parametrize("method", ["torchao", None])
def test_the_metadata_says_how_a_tensor_is_stored(folder, method):
    torchao(folder, method=method)
    folder.convert()
    got = tensors(folder.out)
    assert got.keys() == {"w.weight"} and got["w.weight"][:2] == ("BF16", [2, 8])
    assert (got["w.weight"][2] == 0x4140).all()  # 12


@pytest.mark.parametrize(("recipe", "code", "words"), [
    ("{", 3, ["metadata of w.weight"]),
    ({**RECIPE, "_type": "Int4Tensor"}, 4, ["tensor w.weight", "Int4Tensor of torchao"]),
    ({**RECIPE, "_type": "Tensor"}, 4, ["tensor w._weight_qdata of type I8"]),
    ({**RECIPE, "_data": None}, 3, ["dtype is absent"]),
    ({**RECIPE, "_data": {**RECIPE["_data"], "dtype": {"_data": "float64"}}}, 3, ["dtype is"]),
    ({**RECIPE, "_data": {**RECIPE["_data"], "block_size": [1, 8]}}, 3,
     ["scale: dimension 1 is 2 where 8 of qdata in blocks of 8 need 1"]),
    ({**RECIPE, "_data": {**RECIPE["_data"], "block_size": "1"}}, 3, ["block_size", "a list"]),
    ({**RECIPE, "_tensor_data_names": ["qdata", "act_pre_scale"]}, 4, ["a part act_pre_scale"]),
    ({**RECIPE, "_tensor_data_names": None}, 3, ["_tensor_data_names is absent"]),
])
def test_metadata_that_tensors_contradict_is_refused(folder, recipe, code, words):
    torchao(folder, recipe)
    folder.refused(code, *words)


@pytest.mark.parametrize(("part", "code", "words"), [
    ("qdata", 3, ["tensor w.weight", "there is no w._weight_qdata"]),
    ("scale", 3, ["torchao needs a tensor scale"]),
])
def test_parts_that_are_missing_are_refused(folder, part, code, words):
    torchao(folder, **{part: None})
    folder.refused(code, *words)

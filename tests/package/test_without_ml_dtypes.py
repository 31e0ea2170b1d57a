"""Models of bfloat16 where ml_dtypes is not installed: bits are never taken for numbers."""

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import dequant
from model_support import CLI  # noqa: F401  which says where support is found
from tensors import program

from arithmetic import floats, random_codes
from support import linear

HIDE = "import sys\nsys.modules['ml_dtypes'] = None\nimport numpy as np, dequant\n"


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(2)
    return linear(tmp_path, random_codes(rng, "uint8", [5, 7]),
                  floats(rng.random(7) * 4, "bfloat16"))


@pytest.fixture
def expected(path):
    with dequant.open(path) as model:
        array = model["y"].to_numpy()
    assert array.dtype == ml_dtypes.bfloat16
    return array


def test_arrays_of_a_bfloat16_tensor_have_its_numbers(path, expected):
    text = HIDE + """
tensor = dequant.open(sys.argv[1])["y"]
assert tensor.to_numpy().dtype == np.uint16
for dtype in (None, "float64", "float32", "float16", ">f8", "int32", "uint16", "complex64", object):
    array = np.asarray(tensor, dtype)
    assert array.dtype == (dtype or "float32"), array.dtype
    print(array.astype(float).tolist())
print(np.add(tensor, 1).tolist())
print(np.max(tensor).tolist(), tensor.__array__(float).tolist() == np.array(tensor, float).tolist())
"""
    wide = expected.astype(np.float64)
    with dequant.open(path) as model:
        half, single = (model["y"].to_numpy(name) for name in ("float16", "float32"))
    wanted = [wide, wide, single, half, wide, np.floor(wide), np.floor(wide), wide, wide, wide + 1]
    *rows, last = program(text, path).splitlines()
    assert rows == [repr(array.astype(np.float64).tolist()) for array in wanted]
    assert last == f"{wide.max()} True"


def test_bfloat16_tensors_and_models_are_compared(path, expected):
    text = HIDE + """
model = dequant.open(sys.argv[1])
tensor = model["y"]
same = dequant.diff(model, model)
assert same.exact and list(same.tensors) == ["y"] and not same.skipped, same
assert dequant.diff(tensor, tensor).a_dtype == "bfloat16"
assert dequant.diff({"y": np.asarray(tensor)}, model).exact
bits = dequant.Packed(tensor.to_numpy().view(np.uint8), "bfloat16", tensor.shape)
assert dequant.diff(tensor, bits).exact and dequant.diff(bits, tensor).ulp_dtype == "bfloat16"
print(dequant.diff(tensor, np.asarray(tensor) + np.float32(0.5)).to_dict())
"""
    reference = dequant.diff(expected, expected.astype(np.float32) + np.float32(0.5)).to_dict()
    assert program(text, path).strip() == repr(reference)
    with dequant.open(path) as model:
        assert dequant.diff(model, {"y": expected}).exact


def test_a_dequantized_tensor_of_safetensors_came_as_bits(tmp_path):
    """A stored one raised ValueError, as both do."""
    file = tmp_path / "m.safetensors"
    safetensors.numpy.save_file({
        "w.weight": np.ones((2, 2), ml_dtypes.float8_e4m3fn),
        "w.weight_scale": np.ones((2, 1), ml_dtypes.bfloat16), "norm": np.ones(2, np.float32),
        "half": np.ones(2, ml_dtypes.bfloat16)}, file)
    text = HIDE + """
from dequant.safetensors import safe_open
with safe_open(sys.argv[1], "np") as file:
    for name in file.keys():
        try:
            print(name, file.get_tensor(name).dtype)
        except ValueError as error:
            print(error)
with safe_open(sys.argv[1], "np", dtype="float16") as file:
    print(file.get_tensor("w.weight").dtype)
"""
    reason = "numpy has no dtype bfloat16; with the package ml_dtypes it has"
    assert program(text, file).splitlines() == [
        f"half: {reason}", "norm float32", f"w.weight: {reason}", "float16"]


def test_plain_arrays_of_uint16_are_still_refused(path):
    text = HIDE + """
tensor = dequant.open(sys.argv[1])["y"]
try:
    dequant.diff(tensor.to_numpy(), tensor)
except TypeError as error:
    print(error)
"""
    assert program(text, path).startswith("a: uint16 is not compared")

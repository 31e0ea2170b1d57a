"""The other commands on checkpoints of all producers: `verify` finds the floats of `convert` right
and one changed element wrong, `inspect` has the extents of these floats, `extract` their bits."""

import json

import numpy as np
import pytest

from support import dequant
from test_checkpoints import FOLDERS, checkpoint, tensors

#: numpy has no bfloat16.
FLOATS = {"F32": np.float32, "F16": np.float16}


def floats(dtype, numbers):
    if dtype == "BF16":
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.view(FLOATS[dtype]).astype(np.float32)


class Converted:
    """A checkpoint and its dense tensors."""

    def __init__(self, shared, folder, tmp_path):
        self.path = checkpoint(shared, folder, tmp_path)
        self.out = tmp_path / "out"
        report = json.loads(dequant("convert", self.path, "-o", self.out, "--json").stdout)
        self.names = [t["name"] for t in report["converted"]]
        self.tensors = tensors(self.out)

    def change(self, name):
        """Changes the last bit of the last element of a tensor, and back."""
        for file in self.out.glob("*.safetensors"):
            data = bytearray(file.read_bytes())
            start = 8 + int.from_bytes(data[:8], "little")
            entry = json.loads(data[8:start]).get(name)
            if entry is not None:
                size = {"F32": 4, "F16": 2, "BF16": 2}[entry["dtype"]]
                data[start + entry["data_offsets"][1] - size] ^= 1
                file.write_bytes(data)


@pytest.fixture(name="converted", params=FOLDERS, scope="module")
def fixture_converted(request, shared, tmp_path_factory):
    return Converted(shared, request.param, tmp_path_factory.mktemp(request.param))


def test_verify_finds_one_changed_element(converted):
    report = json.loads(dequant("verify", converted.path, converted.out, "--json").stdout)
    assert report["good"] and report["totals"]["dequantized"] == len(converted.names)
    name = next(n for n in converted.names
                if np.isfinite(floats(converted.tensors[n][0], converted.tensors[n][2])[-1]))
    converted.change(name)
    report = json.loads(dequant("verify", converted.path, converted.out, "--json", code=1).stdout)
    converted.change(name)
    assert [(w["name"], w["different"]) for w in report["wrong"]] == [(name, 1)]


def test_inspect_has_the_extents_of_the_floats(converted, tmp_path):
    report = json.loads(dequant("inspect", converted.path, "--all", "--json").stdout)
    found = {t["name"]: t["values"] for t in report["tensors"] if t["dense"]}
    assert found.keys() == set(converted.names)
    for name in converted.names:
        dtype, _, numbers = converted.tensors[name]
        values = floats(dtype, numbers)
        finite = values[~np.isnan(values)]
        assert found[name]["nan"] == np.isnan(values).sum()
        assert float(found[name]["min"]) == finite.min(), name
        assert float(found[name]["max"]) == finite.max(), name
    assert dequant("inspect", converted.path, "--html", tmp_path / "page.html").stdout == ""


def test_extract_has_the_bits_of_convert(converted, tmp_path):
    name = converted.names[-1]
    dtype, shape, numbers = converted.tensors[name]
    path = tmp_path / "w.npy"
    dequant("extract", converted.path, name, "-o", path)
    y = np.load(path)
    expected = floats(dtype, numbers)
    assert y.dtype == FLOATS.get(dtype, np.float32) and list(y.shape) == shape
    assert np.array_equal(y.astype(np.float32).ravel(), expected, equal_nan=True)
    assert np.array_equal(np.signbit(y.ravel()), np.signbit(expected))


@pytest.mark.parametrize(("folder", "zero_point"), [
    ("gptq_v1_w4_g32_sym", 8), ("gptq_v1_w8_g32_sym", 128), ("bnb_nf4", None)])
def test_inspect_has_the_zero_points_that_are_subtracted(shared, folder, zero_point):
    path = shared / "checkpoints" / folder
    report = json.loads(dequant("inspect", path, "--all", "--json").stdout)
    for tensor in report["tensors"]:
        found = tensor["zero_point"]
        assert (found and (found["min"], found["max"])) == (zero_point and (zero_point,) * 2)

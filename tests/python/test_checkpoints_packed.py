"""Checkpoints in layouts that a producer packs and has no dequantizer for: the floats are
(code - zero point) * scale, one float32 product, rounded once. tests/producers compares them with
what the packers were given."""

import json

import numpy as np
import pytest

from scheme_models import stream
from test_checkpoints import assert_same, checkpoint, tensors
from support import dequant


def words(entry):
    """The codes of 4 bits in rows of words, the first in the lowest bits."""
    _, (rows, columns), numbers = entry
    return stream(numbers.reshape(rows, columns), 32, 4, columns * 8)


def gemv(stored, module, group=128):
    codes, zeros = words(stored[f"{module}.qweight"]), words(stored[f"{module}.qzeros"])
    scales = stored[f"{module}.scales"][2].view("<f2").reshape(zeros.shape)
    index = np.arange(codes.shape[1]) // group
    return (codes - zeros[:, index]).astype(np.float32) * scales[:, index].astype(np.float32)


FOLDERS = {"refuse_awq_gemv_g128": (".qweight", gemv)}


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("output", [None, "float32"])
def test_the_floats_are_those_that_were_packed(shared, tmp_path, name, output):
    suffix, values = FOLDERS[name]
    source = checkpoint(shared, name, tmp_path)
    stored = tensors(source)
    modules = [tensor.removesuffix(suffix) for tensor in stored if tensor.endswith(suffix)]
    dequant("convert", source, "-o", tmp_path / "out", *(["--dtype", output] if output else []))
    expected = tensors(shared / "checkpoints" / name / "expected.safetensors")
    config = json.loads((source / "config.json").read_text())
    dtype = output or config.get("torch_dtype") or config["dtype"]
    for module in modules:
        dense = values(stored, module)
        numbers = {"float32": dense, "float16": dense.astype(np.float16)}[dtype]
        expected[f"{module}.weight"] = (
            "F32" if dtype == "float32" else "F16", list(dense.shape),
            numbers.reshape(-1).view(f"<u{numbers.itemsize}"))
    assert modules
    assert_same(tensors(tmp_path / "out"), expected, {})

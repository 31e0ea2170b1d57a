"""Checkpoints in layouts that a producer packs and has no dequantizer for: the floats are
(code - zero point) * scale, one float32 product, rounded once. tests/producers compares them with
what the packers were given."""

import json

import numpy as np
import pytest

from scheme_models import stream
from test_checkpoints import assert_same, checkpoint, tensors
from test_verify import bfloat16
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


def pairs(stored, module):
    """A byte has the codes of two rows, the first in the low bits."""
    _, (rows, columns), numbers = stored[f"{module}.weight"]
    scales = stored[f"{module}.weight_scale"][2].view("<f4").reshape(2 * rows, -1)
    bytes_ = numbers.reshape(rows, 1, columns)
    codes = np.concatenate([bytes_ & 15, bytes_ >> 4], 1).reshape(2 * rows, columns)
    codes = (codes ^ 8).astype(np.float32) - 8
    return codes * scales.repeat(columns // scales.shape[1], 1)


FOLDERS = {"refuse_awq_gemv_g128": (".qweight", gemv),
           "refuse_modelopt_int4_awq": (".weight", pairs)}


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("output", [None, "float32"])
def test_the_floats_are_those_that_were_packed(shared, tmp_path, name, output):
    suffix, values = FOLDERS[name]
    source = checkpoint(shared, name, tmp_path)
    stored = tensors(source)
    modules = [tensor.removesuffix(suffix) for tensor, (dtype, *_) in stored.items()
               if tensor.endswith(suffix) and dtype in ("I32", "U8")]
    dequant("convert", source, "-o", tmp_path / "out", *(["--dtype", output] if output else []))
    expected = tensors(shared / "checkpoints" / name / "expected.safetensors")
    config = json.loads((source / "config.json").read_text())
    dtype = output or config.get("torch_dtype") or config["dtype"]
    for module in modules:
        dense = values(stored, module)
        kind, numbers = {"float32": ("F32", dense), "float16": ("F16", dense.astype(np.float16)),
                         "bfloat16": ("BF16", bfloat16(dense))}[dtype]
        expected[f"{module}.weight"] = (kind, list(dense.shape),
                                        numbers.reshape(-1).view(f"<u{numbers.itemsize}"))
    assert modules
    assert_same(tensors(tmp_path / "out"), expected, {})

"""Every function of the package on a device: the conformance cases of its dialect."""

import json
import subprocess

import numpy as np
import pytest

import dequant
from dequant._core import BITS, SCHEMES
from device_support import Interface, values
from model_support import CLI

#: A dialect -> its function, and the names of its inputs in cases, in the order of the arguments.
DIALECTS = {"onnx": ("dequantize_linear", "x", "scale", "zero_point"),
            "microsoft": ("dequantize_linear", "x", "scale", "zero_point"),
            "webnn": ("dequantize_linear", "x", "scale", "zero_point"),
            "directml": ("dequantize", "x", "scale", "zero_point"),
            "tensorflow": ("dequantize", "x", "min_range", "max_range")}


def packed(tensor):
    """A tensor of a case, with its bytes on the device."""
    element = tensor["type"].replace("quint", "uint").replace("qint", "int")
    bits, codes = BITS[element], np.array(tensor["bits"], np.uint32)
    data = codes.astype(f"<u{bits // 8}").view(np.uint8) if bits >= 8 else np.packbits(
        (codes[:, None] >> np.arange(bits, dtype=np.uint32) & 1).astype(np.uint8).reshape(-1),
        bitorder="little")
    return dequant.Packed(Interface(data), element, tensor["shape"])


def on_device(dialect, case):
    tensors = {name: packed(tensor) for name, tensor in case["inputs"].items()}
    options = case.get("attributes", {})
    module = getattr(dequant, dialect)
    if dialect in SCHEMES:
        return module.dequantize(**tensors, **options)
    function, *names = DIALECTS[dialect]
    if dialect == "directml":
        function, options = case["operator"].lower(), {}
    if dialect == "tensorflow" and options.get("axis") == -1:  # of the raw operator: no axis
        options = {name: value for name, value in options.items() if name != "axis"}
    return getattr(module, function)(*(tensors.get(name) for name in names), **options)


def cases_of(dialect, folder):
    path = folder / "cases.json"
    subprocess.run([CLI, "vectors", dialect, "--seed", "1", "-n", "0", "-o", path], check=True,
                   capture_output=True)
    for case in json.loads(path.read_text())["cases"]:
        strided = any("strides" in tensor for tensor in case["inputs"].values())
        unknown = {"ensure_minimum_range"} & case.get("attributes", {}).keys()
        if "y" in case["expect"] and not strided and not unknown:
            yield case


@pytest.mark.parametrize("dialect", [*DIALECTS, *SCHEMES])
def test_cases_of_the_dialect_have_their_bits(dialect, tmp_path, cuda):
    count = 0
    for case in cases_of(dialect, tmp_path):
        y, wanted = on_device(dialect, case), case["expect"]["y"]
        assert (y.dtype, y.shape) == (wanted["type"], tuple(wanted["shape"])), case["name"]
        found = values(y, cuda)
        np.testing.assert_array_equal(found.view(f"u{found.itemsize}").reshape(-1), wanted["bits"],
                                      err_msg=case["name"])
        count += 1
    assert count >= 5

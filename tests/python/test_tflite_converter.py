"""Models by TensorFlow's own converter in every mode of quantization: the floats are the bits of
TFLite's own DEQUANTIZE, and other constants are those that TFLite's interpreter has."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from support import dequant
from tflite_support import MISSING

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
CHILD = pathlib.Path(__file__).parent / "tflite_child.py"

#: The types of the constants of each mode.
WANTED = {
    "float": {"FLOAT32", "INT32"},
    "dynamic_range": {"FLOAT32", "INT32", "INT8"},
    "float16": {"FLOAT16", "INT32"},
    "integer_with_float_inputs": {"INT32", "INT8"},
    "int8": {"INT32", "INT8"},
    "uint8_inputs": {"INT32", "INT8"},
    "int16x8": {"INT32", "INT8", "INT64"},
    "per_tensor": {"INT32", "INT8"},
    "old_quantizer": {"INT32", "INT8"},
    "trained_int4": {"INT4"},
    "buffer_offsets": {"FLOAT32", "INT32", "INT8"},
    "sparse": {"FLOAT32", "INT32"},
    "odd": {"INT8", "UINT8", "INT4", "INT2", "INT16", "FLOAT16"},
}


def bits(array):
    """The bytes, with one NaN for all: which of them a product gives is not TFLite's to say."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def check(mode, folder):
    """Compares the output with TensorFlow's values; returns what is quantized."""
    source, output = folder / f"{mode}.tflite", folder / f"{mode}.safetensors"
    exclude = ["--exclude", "StatefulPartitionedCall*"] if mode == "sparse" else []
    report = json.loads(dequant("convert", source, "-o", output, "--json", *exclude).stdout)
    got, expected = load_file(output), dict(np.load(folder / f"{mode}.npz"))
    kinds = {key.split(" ", 1)[0] for key in expected} - {"floats"}
    assert kinds == WANTED[mode], mode
    stored = {key.split(" ", 1)[1]: value for key, value in expected.items()
              if not key.startswith("floats ")}
    floats = {key.removeprefix("floats "): value for key, value in expected.items()
              if key.startswith("floats ") and stored[key.removeprefix("floats ")].dtype != "f2"}
    assert set(got) == set(stored), mode
    assert {t["name"] for t in report["converted"]} == set(floats), mode
    for name, array in (stored | floats).items():
        assert got[name].dtype == array.dtype and got[name].shape == array.shape, (mode, name)
        assert bits(got[name]) == bits(array), (mode, name)
    return floats


def test_models_of_every_mode_have_the_bits_of_dequantize(tmp_path):
    done = subprocess.run([sys.executable, CHILD, tmp_path], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:]
    modes = {path.stem for path in tmp_path.glob("*.tflite")}
    assert modes == set(WANTED)
    found = {mode: check(mode, tmp_path) for mode in sorted(modes)}
    assert not found["float"] and not found["float16"] and not found["sparse"]
    assert all(found[mode] for mode in modes - {"float", "float16", "sparse"})

    # float16 weights become the floats of DEQUANTIZE where all are to have one type
    source, output = tmp_path / "float16.tflite", tmp_path / "all.safetensors"
    dequant("convert", source, "-o", output, "--others", "same")
    got, expected = load_file(output), np.load(tmp_path / "float16.npz")
    floats = {key.removeprefix("floats "): expected[key] for key in expected
              if key.startswith("floats ")}
    assert floats and all(bits(got[name]) == bits(array) for name, array in floats.items())

    error = dequant("convert", tmp_path / "sparse.tflite", "-o", output, "-f", code=4).stderr
    assert 'tensor "StatefulPartitionedCall:01": its data are sparse' in error
    for mode in ("int8", "int16x8", "trained_int4", "buffer_offsets"):
        quantized, output = tmp_path / f"{mode}.tflite", tmp_path / f"{mode}.safetensors"
        assert " 0 wrong, 0 missing, 0 unexpected" in dequant("verify", quantized, output).stdout

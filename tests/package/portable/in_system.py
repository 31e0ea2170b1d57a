"""What must work in a system with Python and numpy alone; run by portable_test.sh."""

import pathlib
import sys

import numpy as np

import dequant

FOLDER = pathlib.Path(__file__).parent

x = np.arange(256, dtype=np.uint8).reshape(16, 16)
y = dequant.onnx.dequantize_linear(x, np.float32(0.5), np.uint8(128))
assert y.dtype == np.float32 and (y == (x.astype(np.float32) - 128) / 2).all()

block = np.array([1.5], np.float16).tobytes() + bytes(range(0, 32, 2))
assert dequant.gguf.dequantize(block, "Q4_0")[1] == -9

for path in sorted(FOLDER.glob("digits_qdq_*.onnx")):
    data = path.read_bytes()
    report = dequant.convert(path, strip_qdq=True)
    assert report.model == dequant.convert(data, strip_qdq=True).model
    assert report.folded and not report.left, path
    with dequant.open(data) as model:
        for tensor in model.values():
            assert np.isfinite(tensor.to_numpy()).all()

try:
    dequant.open(b"no model")
except ValueError as error:  # an exception that crosses the extension module
    assert "no ONNX model" in str(error)
else:
    raise AssertionError("a broken model was opened")

assert "onnx" not in sys.modules
print(f"dequant {dequant.__version__}, numpy {np.__version__}, Python {sys.version.split()[0]}")

"""What type checkers must refuse: each line says with which error."""

import numpy as np

import dequant
from dequant import directml, fp8, gguf, hqq, onnx, tensorflow, webnn

x = np.zeros((2, 3), np.uint8)
scale = np.ones(3, np.float32)
out = np.zeros((2, 3), np.float32)

onnx.dequantize_linear([1, 2], scale)  # call-overload
onnx.dequantize_linear("ab", scale)  # call-overload
onnx.dequantize_linear(None, scale)  # call-overload
onnx.dequantize_linear(3, scale)  # call-overload
onnx.dequantize_linear(x)  # call-overload
onnx.dequantize_linear(x, None)  # call-overload
onnx.dequantize_linear(x, 1j)  # call-overload
onnx.dequantize_linear(x, scale, 1.5)  # call-overload
onnx.dequantize_linear(x, scale, None, 1)  # call-overload
onnx.dequantize_linear(x, scale, axis=1.0)  # call-overload
onnx.dequantize_linear(x, scale, axis=None)  # call-overload
onnx.dequantize_linear(x, scale, blocksize=2)  # call-overload
onnx.dequantize_linear(x, scale, output_dtype=1.0)  # call-overload
onnx.dequantize_linear(x, scale, output_dtype=float)  # arg-type
onnx.dequantize_linear(x, scale, out=[0.0])  # call-overload
onnx.dequantize_linear(x, scale, out=out, like="numpy")  # call-overload
onnx.dequantize_linear(x, scale, like="jax")  # call-overload
onnx.dequantize_linear(x, scale, threads="2")  # call-overload
webnn.dequantize_linear(x, scale)  # call-overload
fp8.dequantize(x, 2.0)  # call-overload
fp8.dequantize(x, [2.0])  # call-overload
hqq.dequantize(x, scale, scale, bits=4.0)  # call-overload
hqq.dequantize(x, scale, scale, shape=[2.0, 3])  # list-item
gguf.dequantize(x)  # call-overload
gguf.dequantize(x, 1.5)  # call-overload
gguf.dequantize(x, "Q4_K", "256")  # arg-type
tensorflow.dequantize(x, 0, 1, "scaled")  # call-overload
tensorflow.dequantize(x, 0, 1, version="r1")  # call-overload
directml.dequantize(x, scale, feature_level=6.3)  # call-overload
dequant.Packed(b"", "uint4")  # call-arg
dequant.Packed(b"", "uint4", 2.0)  # arg-type
dequant.Packed(b"", "uint4", 0).to_numpy("int8")  # call-arg
dequant.open(3)  # arg-type
dequant.open(None)  # arg-type
dequant.convert([b""])  # arg-type
dequant.convert("m.onnx", b"out.onnx")  # arg-type
dequant.convert("m.onnx", base_dir=3)  # arg-type
dequant.Bits  # attr-defined

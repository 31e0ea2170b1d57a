"""What type checkers must accept, and the types that they must see."""

import array
import mmap
import pathlib
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import ModelProto
from typing_extensions import assert_type

import dequant
from dequant import directml, fp8, gguf, gptoss, hqq, microsoft, onnx, tensorflow, webnn
from dequant.safetensors import safe_open

Array = npt.NDArray[Any]

x = np.zeros((2, 3), np.uint8)
scale = np.ones(3, np.float32)
wide = np.zeros((2, 3), np.float32)
packed = dequant.Packed(b"\x21\x43\x65", "uint4", (2, 3))

assert_type(onnx.dequantize_linear(x, scale), Array)
assert_type(onnx.dequantize_linear(x, scale, like="numpy"), Array)
assert_type(onnx.dequantize_linear(x, scale, out=wide),
            np.ndarray[tuple[int, int], np.dtype[np.float32]])
assert_type(onnx.dequantize_linear(x, 0.5, 3, axis=0, block_size=0, opset=21, threads=2), Array)
onnx.dequantize_linear(packed, np.float32(2), np.uint8(3))
onnx.dequantize_linear(b"\x01", 2)
onnx.dequantize_linear(memoryview(b"\x01"), 2.0, out=memoryview(bytearray(4)).cast("f"))
onnx.dequantize_linear(array.array("h", [1]), 2.0)
onnx.dequantize_linear(mmap.mmap(-1, 4096), 2.0)
onnx.dequantize_linear(x.T, scale, output_dtype=ml_dtypes.bfloat16)
onnx.dequantize_linear(x, scale, output_dtype=np.float16)
onnx.dequantize_linear(x, scale, output_dtype=np.dtype("float16"))
onnx.dequantize_linear(x, scale, output_dtype="bfloat16")
onnx.dequantize_linear(x, scale, output_dtype=16)
microsoft.dequantize_linear(x, scale, x_zero_point=None, axis=None)
onnx.dequantize_linear(x, scale, axis=np.int64(1), block_size=np.int32(0), opset=np.uint8(21),
                       threads=np.int64(1), output_dtype=np.int64(10))
microsoft.dequantize_linear(x, scale, axis=np.int64(1))
tensorflow.dequantize(x, scale, scale, axis=np.int64(1))
gguf.dequantize(b"", "Q4_K", [np.int64(0), 256])
dequant.Packed(b"", np.uint8, np.int64(0))
dequant.Packed(b"", np.uint8, (np.int64(0), 4))
webnn.dequantize_linear(x, scale[None], x[:1])
assert_type(gguf.dequantize(b"", "Q4_K", (0, 256)), Array)
gguf.dequantize(x, np.int64(12), [2, 256], scale=0.5, dtype="float16", threads=1)
gguf.dequantize(x, 12, 256, scale=scale, out=wide)
assert_type(fp8.dequantize(x, np.float32(2), block=[np.int64(128), 128]), Array)
hqq.dequantize(x, scale, scale, shape=(2, 3), bits=np.int32(4), group_size=64)
gptoss.dequantize(x, x, transposed=np.bool_(True))
gptoss.dequantize(x, x, transposed=False)
tensorflow.dequantize(x, 0, 1.0, "SCALED", "name", None, True, np.float32, version="r2",
                      semantics="kernel")
directml.dequantize(x, scale[None], feature_level="6_3")
directml.element_wise_dequantize_linear(x, wide, x, out=wide)


class Tensor:
    """Of some other library."""

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None) -> Any:
        return None

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Interface:
    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {}


class OnDevice:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


class Scalar:
    """What the stubs of jax say of jax.numpy.float16."""

    dtype: np.dtype[Any]

    def __call__(self, x: Any) -> Any:
        return None


def unused(float16: Scalar) -> None:
    onnx.dequantize_linear(x, scale, output_dtype=float16)
    dequant.Packed(b"", float16, 0)
    assert_type(onnx.dequantize_linear(OnDevice(), OnDevice(), 3, out=OnDevice()), OnDevice)
    dequant.Packed(OnDevice(), "uint4", 2)
    dequant.open("m.onnx").tensors[0].to_device("cuda:1", "bfloat16", out=OnDevice(), threads=2)
    onnx.dequantize_linear(Tensor(), Interface(), Tensor())
    dequant.Packed(Tensor(), "uint4", 2)
    assert_type(safe_open("m.safetensors", "np").get_tensors(), dict[str, Any])
    safe_open("m.safetensors", "np").get_tensors(["w"])
    assert_type(onnx.dequantize_linear(x, 1.0, out=Tensor()), Tensor)
    proto = ModelProto()
    dequant.open(pathlib.Path("m.onnx"), mem=1 << 20)
    dequant.open(b"", base_dir=pathlib.Path("folder"))
    assert_type(dequant.open(proto, base_dir="folder"), dequant.Model)
    assert_type(dequant.convert("m.onnx", "out.onnx"), dequant.ConvertReport)
    dequant.convert(memoryview(b""), pathlib.Path("out.onnx"), base_dir=None)
    dequant.convert(bytearray(), None)
    dequant.convert(proto, strip_qdq=True).model.graph


assert_type(packed.shape, tuple[int, ...])
assert_type(packed.dtype, str)
assert_type(packed.to_numpy(), Array)
np.asarray(packed)
assert_type(dequant.dtypes, tuple[str, ...])
assert_type(dequant.__version__, str)
error: type[ValueError] = dequant.UnsupportedError

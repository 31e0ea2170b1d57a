"""Stand-ins of cupy and jax, over devices in host memory: what dequant calls of them."""

import contextlib
import sys
import types

import numpy as np
import pytest

import dequant
from device_support import Exporter, Interface, assert_same, values

X = np.arange(24, dtype=np.uint8).reshape(4, 6)
WANTED = dequant.onnx.dequantize_linear(X, 0.5, 3)


@pytest.fixture(name="cupy")
def fixture_cupy(host, monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.current = [0]  # the devices of `with` blocks

    class ndarray(Exporter):  # noqa: N801 (its name)
        def __init__(self, data, device=None):
            super().__init__(data, cupy.current[-1] if device is None else device)
            self.dtype, self.shape = data.dtype, data.shape
            self.__cuda_array_interface__ = Interface(data, stream=128).__cuda_array_interface__

        def view(self, dtype):
            raise TypeError(f"no {dtype}")

    @contextlib.contextmanager
    def on(device):
        cupy.current.append(device)
        yield
        cupy.current.pop()

    cupy.ndarray = ndarray
    cupy.copies = []
    cupy.cuda = types.SimpleNamespace(
        Device=on, get_current_stream=lambda: types.SimpleNamespace(ptr=128 * cupy.current[-1]),
        runtime=types.SimpleNamespace(getDevice=lambda: 1))
    cupy.empty = lambda shape, dtype: ndarray(np.full(shape, 7, dtype))

    def ascontiguousarray(array):
        cupy.copies.append(ndarray(np.ascontiguousarray(array.data), array.device))
        return cupy.copies[-1]

    cupy.ascontiguousarray = ascontiguousarray
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def test_results_of_cupy_are_of_cupy(cupy, cuda):
    x = cupy.ndarray(X, 1)
    y = dequant.onnx.dequantize_linear(x, 0.5, 3)
    assert type(y) is cupy.ndarray and y.device == 1 and x.streams == y.streams == [128]
    assert_same(values(y, cuda), WANTED)
    first = cupy.ndarray(X)
    dequant.onnx.dequantize_linear(first, 0.5, 3)
    assert first.streams == [1]  # the default stream, which cupy calls 0
    transposed = cupy.ndarray(X.T.copy().T)
    assert_same(values(dequant.onnx.dequantize_linear(transposed, 0.5, 3), cuda), WANTED)
    assert len(cupy.copies) == 1
    out = cupy.ndarray(np.zeros((4, 6), np.float32), 1)
    assert dequant.onnx.dequantize_linear(x, 0.5, 3, out=out) is out
    assert_same(values(out, cuda), WANTED)


def test_bfloat16_is_its_bits_where_cupy_has_no_such_type(cupy, cuda):
    y = dequant.onnx.dequantize_linear(cupy.ndarray(X), 0.5, 3, output_dtype="bfloat16")
    wanted = dequant.onnx.dequantize_linear(X, 0.5, 3, output_dtype="bfloat16")
    assert_same(values(y, cuda), wanted.view(np.uint16))


def test_tensors_of_files_are_of_the_library_that_is_asked_for(cupy, cuda):
    with dequant.open("examples/digits_qdq_int4.onnx") as model:
        tensor = model.tensors[0]
        y = tensor.to_device(like="cupy")
        assert type(y) is cupy.ndarray and y.device == 1  # the current one of cupy
        assert_same(values(y, cuda), tensor.to_numpy())


@pytest.fixture(name="jax")
def fixture_jax(host, monkeypatch):
    jax, dlpack = types.ModuleType("jax"), types.ModuleType("jax.dlpack")
    jax.Array = type("Array", (Exporter,), {})
    dlpack.taken = []

    def from_dlpack(array):
        dlpack.taken.append(array)
        assert array.__dlpack_device__() == (2, 0)
        return array

    dlpack.from_dlpack = from_dlpack
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.dlpack", dlpack)
    jax.dlpack = dlpack
    return jax


def test_results_of_jax_are_taken_by_dlpack(jax, cuda):
    x = jax.Array(X)
    y = dequant.onnx.dequantize_linear(x, 0.5, 3)
    # It frees its memory by no stream that it says: the call has waited.
    assert jax.dlpack.taken == [y] and cuda.host_counts()["waiting"] == 0
    assert_same(values(y, cuda), WANTED)
    with pytest.raises(ValueError, match="^out: Array does not offer its memory for writing"):
        dequant.onnx.dequantize_linear(x, 0.5, 3, out=jax.Array(np.zeros((4, 6), np.float32)))

"""Arrays on a device, over devices in host memory: the module dequant._cuda as CMake builds it for
tests. What is on a stream is done when somebody waits for it.

With DEQUANT_CUDA_DEVICE=1 the arrays are on a CUDA device, and the module is that of the package;
tests of the `host` fixture are skipped then."""

import contextlib
import ctypes
import importlib.util
import os
import pathlib
import sys
import threading
import types

import ml_dtypes
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = os.environ.get("DEQUANT_CUDA_HOST")
_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.restype, _POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


REAL = os.environ.get("DEQUANT_CUDA_DEVICE") == "1"


def load_module():
    if REAL:
        return importlib.import_module("dequant._cuda")
    files = list(pathlib.Path(FOLDER or ROOT / "build/tests/cuda_host").glob("_cuda.*"))
    if not files and FOLDER is None:
        pytest.skip("NO HOST MODULE: tensors on devices are not tested")
    if "host module" not in sys.modules:
        spec = importlib.util.spec_from_file_location("dequant._cuda", files[0])
        sys.modules["host module"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["host module"])
    return sys.modules["host module"]


@pytest.fixture(name="cuda")
def fixture_cuda(monkeypatch):
    module = load_module()
    monkeypatch.setitem(sys.modules, "dequant._cuda", module)
    yield module
    if not REAL:
        module.host_fail_after(0)
        module.host_settle()


@pytest.fixture(name="host")
def fixture_host(cuda):
    """The module over devices in host memory, for tests of streams, failures and more devices."""
    if REAL:
        pytest.skip("ON A DEVICE: this test needs devices in host memory")
    return cuda


class Memory:
    """The memory of an array, or a copy on the device."""

    def __init__(self, array):
        self.array, self.address = array, array.ctypes.data
        if REAL and array.size:
            low, high = getattr(np.lib, "array_utils", np).byte_bounds(array)
            self.copy = load_module().Array("uint8", [high - low], 0, 0)
            self.copy.set(ctypes.string_at(low, high - low))
            self.address += self.copy.address - low
        elif REAL:
            self.address = 0  # nothing on the device

    def read(self):
        """The elements as they are now; on a device of contiguous arrays only."""
        if not REAL or not self.array.size:
            return self.array
        return np.frombuffer(self.copy.tobytes(), self.array.dtype).reshape(self.array.shape)


class Interface:
    """An array of a library that has __cuda_array_interface__ alone."""

    def __init__(self, array, stream=None, **more):
        self.memory, self.data = Memory(array), array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self.memory.address, False),
            "strides": None if array.flags.c_contiguous else array.strides, "version": 3,
            "stream": stream, **more}


class Exporter:
    """An array of a library that has DLPack alone."""

    def __init__(self, data, device=0, kind=2):
        self.memory = Memory(data)
        self.data, self.device, self.kind = data, device, kind
        self.streams = []  # that consumers asked for

    def __dlpack_device__(self):
        return self.kind, self.device

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        capsule = self.data.__dlpack__()
        begin = _POINTER(capsule, b"dltensor")
        ctypes.c_uint64.from_address(begin).value = self.memory.address
        facts = (ctypes.c_int32 * 2).from_address(begin + 8)
        facts[0], facts[1] = self.kind, self.device
        return capsule


class DType:
    """A torch.dtype."""

    def __init__(self, name):
        self.name_of_torch = name

    def __str__(self):
        return f"torch.{self.name_of_torch}"


class Torch(types.ModuleType):
    """What dequant calls of torch, over devices in host memory."""

    def __init__(self):
        super().__init__("torch")
        self.streams = {0: 64, 1: 80}
        self.made = []
        torch = self

        class Tensor:
            requires_grad = False

            def __init__(self, data, device=0):
                self.data, self.device = data, types.SimpleNamespace(type="cuda", index=device)
                self.shape, self.dtype = data.shape, DType(data.dtype.name)
                self.contiguous_calls = 0

            def __dlpack_device__(self):
                return 2, self.device.index

            def data_ptr(self):
                return self.data.ctypes.data

            def numel(self):
                return self.data.size

            def element_size(self):
                return self.data.itemsize

            def stride(self):
                return tuple(step // self.data.itemsize for step in self.data.strides)

            def contiguous(self):
                torch.made.append(Tensor(np.ascontiguousarray(self.data), self.device.index))
                return torch.made[-1]

            def is_neg(self):
                return False

            def __dlpack__(self, **_):
                raise AssertionError("the memory of tensors of torch is read without DLPack")

        Tensor.__module__ = "torch"
        self.Tensor = Tensor
        self.chosen = threading.local()
        self.cuda = types.SimpleNamespace(
            current_device=lambda: 0, current_stream=self.current_stream, stream=self.stream)
        for name in ("float64", "float32", "float16", "int64", "bool"):
            setattr(self, name, np.dtype(name))
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            setattr(self, name, np.dtype(getattr(ml_dtypes, name)))

    def current_stream(self, device):
        """The one that the calling thread has chosen, else that of the device."""
        return getattr(self.chosen, "stream", None) or types.SimpleNamespace(
            cuda_stream=self.streams[device])

    @contextlib.contextmanager
    def stream(self, stream):
        self.chosen.stream = stream
        yield
        self.chosen.stream = None

    def empty(self, shape, dtype, device):
        index = 0 if device == "cuda" else int(str(device).rpartition(":")[2])
        self.made.append(self.Tensor(np.full(shape, 7, dtype), index))
        return self.made[-1]


@pytest.fixture(name="fake_torch")
def fixture_fake_torch(host, monkeypatch):
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


def values(result, cuda):
    """What is in memory of a device, once all work is done."""
    if not REAL:
        cuda.host_settle()
    if not isinstance(result, cuda.Array):
        return result.memory.read() if hasattr(result, "memory") else result.data
    dtype = ml_dtypes.bfloat16 if result.dtype == "bfloat16" else result.dtype
    return np.frombuffer(result.tobytes(), dtype).reshape(result.shape)


def assert_same(found, expected):
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()

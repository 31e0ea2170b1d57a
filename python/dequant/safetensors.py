"""The interface of the safetensors package over quantized files and folders.

Tensors that are quantized come dense, under the names that the dense checkpoint has; all others as
they are stored. A loader that imports safe_open or load_file from here reads both kinds:

    from dequant.safetensors import safe_open

    with safe_open("DeepSeek-V3", framework="pt") as file:
        for name in file.keys():
            tensor = file.get_tensor(name)
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _device_load
from ._dtypes import element_of
from ._model import Model, Tensor, open as _open

__all__ = ["load_file", "safe_open"]

#: Type as a file spells it -> its name in numpy or ml_dtypes, and in torch.
_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
    "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16",
    "F32": "float32", "F64": "float64", "C64": "complex64", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
#: Two codes of F4 in an element, as in the file. The arrays of ml_dtypes have one code in a byte.
_TORCH_F4 = "float4_e2m1fn_x2"
_STORED = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_FRAMEWORKS = {"np": "np", "numpy": "np", "pt": "pt", "torch": "pt", "pytorch": "pt"}

#: Index in the file's kept(), type, shape.
_Kept = tuple[int, str, tuple[int, ...]]


class safe_open:
    """Opens a quantized or plain .safetensors file, or the folder of a checkpoint.

    filename      path of the file, the folder, or an index in it
    framework     "np" or "pt": get_tensor() returns arrays of numpy, or tensors of torch
    device        where tensors of torch come to, such as "cuda:1": a package built with CUDA copies
                  what is stored there, and dequantizes it there
    dtype         the type of dequantized tensors: float32, float16 or bfloat16; None: the type that
                  the model computes in, or else that of the scales
    threads       None or 0: one for each processor
    keep_unknown  True: tensors that are quantized in an unknown way come as they are stored

    Raises OSError if a file cannot be read, ValueError if it is malformed, and UnsupportedError if
    a tensor is quantized in an unknown way, unless `keep_unknown` is True. All tensors are those of
    the files that were opened, whatever the path leads to later; a file that has changed since is a
    ValueError. After the `with` block all functions raise ValueError.
    """

    def __init__(self, filename: str | os.PathLike[str], framework: str, device: Any = "cpu", *,
                 dtype: Any = None, threads: int | None = None,
                 keep_unknown: bool = False) -> None:
        if framework not in _FRAMEWORKS:
            raise ValueError(f"framework: {framework!r} is none of {', '.join(_FRAMEWORKS)}")
        self._framework = _FRAMEWORKS[framework]
        if self._framework == "np" and str(device) != "cpu":
            raise ValueError(f"device: arrays of numpy are on the cpu, not on {device}")
        self._path = os.fspath(filename)
        self._device = device
        self._dtype = None if dtype is None else _output_of(dtype)
        self._threads = threads
        self._model: Model = _open(filename, keep_unknown=keep_unknown)
        if self._model.format != "safetensors":
            format_name = self._model.format
            self._model.close()
            raise ValueError(f"{self._path}: is of format {format_name}, not safetensors")
        self._dense = {tensor.name: tensor for tensor in self._model.tensors}
        self._kept: dict[str, _Kept] = {
            name: (i, dtype, shape)
            for i, (name, dtype, shape) in enumerate(self._model._file.kept())}
        self._metadata = self._model._file.metadata()

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: object) -> None:
        self._model.close()

    def keys(self) -> list[str]:
        """The names of the dense checkpoint, sorted."""
        self._check_open()
        return sorted([*self._dense, *self._kept])

    def offset_keys(self) -> list[str]:
        """The names: dequantized tensors in the order of their codes, then all others in order."""
        self._check_open()
        return [*self._dense, *self._kept]

    def metadata(self) -> dict[str, str] | None:
        """The metadata of a file; None for a folder, or if the file has none."""
        self._check_open()
        return None if self._metadata is None else dict(self._metadata)

    def get_tensor(self, name: str) -> Any:
        """A tensor, dense. Raises KeyError for an unknown name."""
        self._check_open()
        if name in self._dense:
            return self._computed(self._dense[name])
        return self._stored(name, *self._kept_of(name))

    def get_tensors(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Name -> tensor, for these names; None: for all, in the order of offset_keys()."""
        self._check_open()
        if names is None:
            names = self.offset_keys()
        if self._loads_there():
            return _device_load.side_by_side(names, self.get_tensor, self._device)
        return {name: self.get_tensor(name) for name in names}

    def get_slice(self, name: str) -> Slice:
        """A tensor that is computed or read when it is indexed."""
        self._check_open()
        if name not in self._dense:
            self._kept_of(name)
        return Slice(self, name)

    def _check_open(self) -> None:
        if self._model.closed:
            raise ValueError(f"{self._path}: the file is closed")

    def _kept_of(self, name: str) -> _Kept:
        if name not in self._kept:
            raise KeyError(f"{self._path}: there is no tensor {name!r}")
        return self._kept[name]

    def _loads_there(self) -> bool:
        """Whether packed bytes go to the device, and become floats there. A package built without
        CUDA computes here, and torch copies the floats."""
        return (self._framework == "pt" and _device_load.is_cuda(self._device)
                and _device_load.is_built())

    def _like(self) -> str | None:
        return "torch" if self._framework == "pt" else None

    def _computed(self, tensor: Tensor) -> Any:
        if self._loads_there():
            return tensor.to_device(self._device, self._dtype, threads=self._threads)
        if self._framework == "np":
            _numpy_dtype(tensor.name, self._dtype or tensor.dtype)  # bits are no numbers
        out = tensor.to_numpy(self._dtype, threads=self._threads, like=self._like())
        return out.to(self._device) if self._framework == "pt" else out

    def _stored(self, name: str, index: int, dtype: str, shape: tuple[int, ...]) -> Any:
        if self._framework == "np":
            if dtype not in _DTYPES:
                raise ValueError(f"{name}: numpy has no dtype for {dtype}")
            in_numpy = _numpy_dtype(name, _DTYPES[dtype])
            return self._model._file.read_kept(index).view(in_numpy).reshape(shape)
        wanted, shape = _torch_dtype(name, dtype, shape)
        import torch
        if self._loads_there():
            out = torch.empty(shape, dtype=wanted, device=self._device)
            _device_load.load_bytes(self._model._file.kept_for_device(index), out, self._threads)
            return out
        data = self._model._file.read_kept(index)
        if data.size == 0:
            return torch.empty(shape, dtype=wanted, device=self._device)
        return torch.frombuffer(data, dtype=wanted).reshape(shape).to(self._device)

    def _shape(self, name: str) -> tuple[int, ...]:
        return self._dense[name].shape if name in self._dense else self._kept[name][2]

    def _type(self, name: str) -> str:
        if name not in self._dense:
            return self._kept[name][1]
        return _STORED[self._dtype or self._dense[name].dtype]


class Slice:
    """A tensor of safe_open that is not read yet."""

    def __init__(self, file: safe_open, name: str) -> None:
        self._file = file
        self._name = name

    def get_shape(self) -> list[int]:
        return list(self._file._shape(self._name))

    def get_dtype(self) -> str:
        """The type as files spell it, such as "BF16"."""
        return self._file._type(self._name)

    def __getitem__(self, index: Any) -> Any:
        return self._file.get_tensor(self._name)[index]


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, framework: str = "pt",
              dtype: Any = None, threads: int | None = None,
              keep_unknown: bool = False) -> dict[str, Any]:
    """Name -> tensor of a file or a folder, in the order of offset_keys(); arguments as for
    safe_open()."""
    with safe_open(filename, framework, device, dtype=dtype, threads=threads,
                   keep_unknown=keep_unknown) as file:
        return file.get_tensors()


def _output_of(dtype: Any) -> str:
    name = element_of("dtype", dtype)
    if name not in _STORED:
        raise TypeError(f"dtype: {name} is none of {', '.join(_STORED)}")
    return name


def _numpy_dtype(tensor: str, name: str) -> np.dtype[Any]:
    if hasattr(np, name):
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise ValueError(f"{tensor}: numpy has no dtype {name}; with the package ml_dtypes it has"
                         ) from None
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def _torch_dtype(tensor: str, dtype: str, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """The dtype of torch for a type as files spell it, and the shape of elements of that."""
    import torch
    name = _TORCH_F4 if dtype == "F4" else _DTYPES.get(dtype, "")
    wanted = getattr(torch, name, None)
    if wanted is None:
        raise ValueError(f"{tensor}: this torch has no dtype for {dtype}")
    if dtype != "F4":
        return wanted, shape
    if shape[-1] % 2 != 0:
        raise ValueError(f"{tensor}: F4 of shape {list(shape)}, and torch has two codes in an "
                         "element of the last dimension")
    return wanted, (*shape[:-1], shape[-1] // 2)

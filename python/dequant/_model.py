"""Model files as mappings of tensors that are dequantized when they are asked for."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _core
from ._dtypes import bfloat16_as_float32
from ._packed import Packed

_Stored = tuple[Any, str, tuple[int, ...]]  # packed bytes, the name of their element, a shape


def open(path: str | os.PathLike[str], *, mem: int | None = None, checksum: bool = True) -> Model:
    """Opens a model file: a mapping from names to tensors, which are dequantized when they are
    asked for.

    >>> with dequant.open("quantized.onnx") as model:
    ...     for name, tensor in model.items():
    ...         print(name, tensor.dtype, tensor.shape, tensor.axis)
    ...     weight = model["conv1.weight"].to_numpy()

    ONNX models are read, in place and with their external data: every DequantizeLinear whose inputs
    are constants is a tensor. Only structure is read here, and that all data is where it should be.
    External data whose file has another checksum than the model says is refused when it is read,
    unless checksum is False.

    The structure of the model (all but tensor data) may take 32 MiB of memory and 8 times its
    bytes; a larger `mem` allows so many bytes.

    Raises OSError where a file cannot be read, ValueError for what is no sound model,
    UnsupportedError.
    """
    # Raises FileNotFoundError with the file's name. Nonblocking, as a pipe would wait for a writer.
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
    return Model(path, _core.ModelFile(path, mem, bool(checksum)))


class Tensor:
    """A tensor of a model file. What it is, is known; its data is read at every access.

    name          of the output that it is, in the file
    node, x       names of the DequantizeLinear, may be empty, and of what it dequantizes
    domain        "ai.onnx" or "com.microsoft", whose rules hold
    opset         the version of that
    shape         of the tensor
    dtype         the type of the result: "float32", "float16" or "bfloat16"
    stored_dtype  the type of the stored codes, such as "int4"
    granularity   "per_tensor", "per_axis" or "blocked"
    axis          from the front; None per tensor
    block_size    0 unless blocked
    nbytes        stored: codes, scale and zero point

    A tensor whose model is closed keeps these, and raises ValueError where data is asked for.
    """

    __slots__ = ("_file", "_index", "name", "node", "x", "domain", "opset", "shape", "dtype",
                 "stored_dtype", "granularity", "axis", "block_size", "nbytes")

    name: str
    node: str
    x: str
    domain: str
    opset: int
    shape: tuple[int, ...]
    dtype: str
    stored_dtype: str
    granularity: str
    axis: int | None
    block_size: int
    nbytes: int
    _file: _core.ModelFile
    _index: int

    def __init__(self, file: _core.ModelFile, index: int, facts: dict[str, Any]) -> None:
        for key, value in (("_file", file), ("_index", index), *facts.items()):
            object.__setattr__(self, key, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a tensor of a file is not changed: {name}")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def codes(self) -> Packed:
        """What is stored, packed."""
        return Packed(*self._file.codes(self._index))

    @property
    def scale(self) -> np.ndarray[Any, Any] | Packed:
        """The scale, of float32, float16, or a type of ml_dtypes; without that, dequant.Packed."""
        return _as_array(self._file.scale(self._index))

    @property
    def zero_point(self) -> np.ndarray[Any, Any] | Packed | None:
        """The zero point, or None. Types that numpy lacks are ml_dtypes'; without that,
        dequant.Packed."""
        stored = self._file.zero_point(self._index)
        return None if stored is None else _as_array(stored)

    def to_numpy(self, dtype: Any = None, *, out: Any = None, threads: int | None = None,
                 like: str | None = None) -> Any:
        """The numbers, dequantized into a new array, or into `out`.

        dtype    float32, float16 or bfloat16 in place of the tensor's own: computed as by a
                 DequantizeLinear with that output type, which rounds once from float32, and not
                 converted from its own type
        out      what to write to, of just that type and shape; when this raises, it may hold
                 anything
        threads  None or 0: one for each processor
        like     "torch": a torch.Tensor

        bfloat16 is of ml_dtypes where that is installed, else its bits as uint16; np.asarray() of
        the tensor then gives its numbers as float32. Raises ValueError when the file has changed
        since it was opened, OSError when it cannot be read.
        """
        return self._file.dequantize(self._index, dtype, out, threads, like)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(f"{self.name}: numbers are computed from what is stored, which is a "
                             "copy")
        wanted = None if dtype is None else np.dtype(dtype)
        if wanted is not None and wanted.isnative \
                and wanted.name in ("float32", "float16", "bfloat16"):
            return self._to_array(wanted)
        array = self._to_array(None)
        # bits, where ml_dtypes is not installed
        if self.dtype == "bfloat16" and array.dtype == np.uint16:
            array = bfloat16_as_float32(array)
        return array if wanted is None else array.astype(wanted, copy=False)

    def _to_array(self, dtype: Any) -> np.ndarray[Any, Any]:
        array = self.to_numpy(dtype)
        assert isinstance(array, np.ndarray)
        return array

    def __reduce__(self) -> Any:
        raise TypeError("a tensor of an open file cannot be pickled; its to_numpy() can")

    def __repr__(self) -> str:
        where = "" if self.axis is None else f" {self.axis}"
        by = f" by {self.block_size}" if self.block_size else ""
        return (f"<dequant.Tensor {self.name!r} {self.stored_dtype}{list(self.shape)} -> "
                f"{self.dtype}, "
                f"{self.granularity.replace('_', ' ')}{by}{' on axis' if by else ''}{where}>")


class Model(Mapping[str, Tensor]):
    """An open model file: from the names of tensors to these, in the order of the file.

    Names are those of outputs. Look-ups also understand the name of a node, and of what it
    dequantizes, where that is dequantized once. Floats that are stored as such are no tensors here,
    nor is what depends on the model's inputs: KeyError says why. Where functions or subgraphs
    repeat a name, it is a key that raises KeyError too, and `tensors` has them all. Any number of
    threads may read at once.
    """

    __slots__ = ("_file", "_names", "format", "path", "tensors")

    def __init__(self, path: str | os.PathLike[str], file: _core.ModelFile) -> None:
        self._file = file
        self.path = os.fspath(path)
        self.format = file.format  #: "onnx"
        self.tensors = tuple(Tensor(file, i, facts) for i, facts in enumerate(file.tensors()))
        self._names = dict.fromkeys(tensor.name for tensor in self.tensors)

    def __getitem__(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise KeyError(name)
        try:
            return self.tensors[self._file.find(name)]
        except UnicodeEncodeError:
            raise KeyError(name) from None  # no file has such a name

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        """Lets go of the files. Reads that are under way end well."""
        self._file.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other  # and not by reading all there is

    def __reduce__(self) -> Any:
        raise TypeError("an open model cannot be pickled; its path can")

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<dequant.Model {self.path!r}, {len(self.tensors)} tensors{closed}>"


def _as_array(stored: _Stored) -> np.ndarray[Any, Any] | Packed:
    """As an array where numpy or ml_dtypes has a type for the elements."""
    packed = Packed(*stored)
    try:
        return packed.to_numpy()
    except TypeError:
        return packed

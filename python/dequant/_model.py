"""Model files as mappings from names to tensors; data is dequantized on access."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _core, _device_load
from ._dtypes import bfloat16_as_float32, element_of
from ._packed import Packed
from ._source import source_of
from ._typing import ModelSource

_Stored = tuple[Any, str, tuple[int, ...]]  # packed bytes, the name of their element, a shape


def open(path: ModelSource, *, mem: int | None = None, checksum: bool = True,
         names: str = "gguf", keep_unknown: bool = False,
         base_dir: str | os.PathLike[str] | None = None) -> Model:
    """Opens a model: a mapping from names to tensors, which are dequantized on access.

    >>> with dequant.open("quantized.onnx") as model:
    ...     for name, tensor in model.items():
    ...         print(name, tensor.dtype, tensor.shape, tensor.axis)
    ...     weight = model["conv1.weight"].to_numpy()

    The file is an ONNX model, whose external data is read from the files beside it, a checkpoint
    folder or its index, a .safetensors file, a GGUF file or a TFLite model. Of an ONNX model every
    DequantizeLinear whose inputs are constants is a tensor, of others every quantized weight.
    open() reads the structure of the model and checks the location and size of all tensor data.
    Tensor data is read on access. Reading external data whose SHA-1 differs from the checksum in
    the model raises ValueError, unless `checksum` is False.

    `path` may also be the bytes of such a file (any object with the buffer protocol), or an
    onnx.ModelProto. Bytes are not copied; the object stays in use until the model is closed. The
    files of external data are then looked for in the folder `base_dir`; without a `base_dir`
    external data is refused.

    Tensors of GGUF files have the names and the rows that transformers has where `names` is "hf".
    A checkpoint with quantized tensors that nothing says how to dequantize raises an error, unless
    `keep_unknown` is True; those tensors are then no part of the mapping.

    The structure of the model (everything but tensor data) may occupy 32 MiB of memory plus 8 times
    its bytes in the file. A larger `mem` is the limit in bytes instead.

    Raises OSError if a file cannot be read, ValueError if the file is not a valid model, and
    UnsupportedError.
    """
    source = source_of(path, base_dir)
    if source.contents is None:
        # Raises FileNotFoundError with the file's name. Nonblocking: opening a pipe would otherwise
        # block until the pipe has a writer.
        os.close(os.open(source.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
    file = _core.ModelFile(*source[:3], mem, bool(checksum), names, bool(keep_unknown))
    return Model(source.path if source.contents is None else None, file)


class Tensor:
    """A dequantized tensor of a model file.

    These attributes need no tensor data:

    name          name of the output of the DequantizeLinear node
    node          name of the node; "" if it has none
    x             name of the constant that the node dequantizes
    domain        domain of the operator: "ai.onnx" or "com.microsoft"
    opset         imported version of the domain
    shape         shape of the dequantized tensor
    dtype         type of the result: "float32", "float16" or "bfloat16"
    stored_dtype  element type of the stored codes, such as "int4", or block type, such as "Q4_K"
    granularity   "per_tensor", "per_axis" or "blocked"
    axis          the axis along which the scales change, from the front; None for one scale
    block_size    elements in a block; 0 unless granularity is "blocked"
    nbytes        stored bytes of codes, scale and zero point

    In a format without a graph `name` is the name of the tensor, `node` is "", `x` is the name of
    the stored codes ("" if they have no name), `domain` is the scheme or block type ("" if there is
    none), and `opset` is the version of the scheme (1 if it has no versions). `granularity` may
    then also be "strided", for example for blocks on several axes. Of a checkpoint it says how the
    scales lie in memory, whatever the axes of the tensor are ("per_axis" for groups of one length),
    and `axis` is None.

    The weight of an operator other than DequantizeLinear, such as MatMulNBits, has as `name` that
    of the constant that convert() writes, and its `granularity` is "strided"; its `stored_dtype` is
    that of the stored constant, such as "uint8" for bytes with codes of 4 bits.

    `codes`, `scale`, `zero_point`, `to_numpy()`, `to_device()` and np.asarray() read tensor data,
    at every access. They raise ValueError after the model is closed; the attributes above stay
    valid.
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

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a tensor of a file is not changed: {name}")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def codes(self) -> Packed:
        """The stored codes, packed. Of a checkpoint the stored tensor, with the type and the shape
        that the file gives it: 32-bit words of GPTQ are int32.
        """
        return Packed(*self._file.codes(self._index))

    @property
    def scale(self) -> np.ndarray[Any, Any] | Packed | None:
        """The stored scale: an array of float32, float16 or a dtype of ml_dtypes.

        A dequant.Packed if neither numpy nor ml_dtypes has a dtype for its elements. None if the
        scales are in the blocks of `codes`, as of GGUF.
        """
        stored = self._file.scale(self._index)
        return None if stored is None else _as_array(stored)

    @property
    def zero_point(self) -> np.ndarray[Any, Any] | Packed | None:
        """The stored zero point, of a dtype of numpy or ml_dtypes; None if there is none. Of a
        checkpoint that packs zero points in words these words.

        A dequant.Packed if neither numpy nor ml_dtypes has a dtype for its elements.
        """
        stored = self._file.zero_point(self._index)
        return None if stored is None else _as_array(stored)

    def to_numpy(self, dtype: Any = None, *, out: Any = None, threads: int | None = None,
                 like: str | None = None) -> Any:
        """Dequantizes the tensor into a new array, or into `out`.

        dtype    the type of the result: float32, float16 or bfloat16; None: the tensor's dtype. The
                 result is that of a DequantizeLinear with this output type: the float32 product,
                 rounded once. It is not converted from the tensor's dtype.
        out      an array for the result, of exactly that type and shape; its content is undefined
                 if to_numpy() raises an exception
        threads  None or 0: one for each processor
        like     "torch": the result is a torch.Tensor

        A bfloat16 result has the dtype of ml_dtypes if ml_dtypes is installed; otherwise it is an
        array of uint16 with the bits, and np.asarray() of the tensor returns float32. Raises
        ValueError if the file has changed since it was opened, OSError if it cannot be read.
        """
        return self._file.dequantize(self._index, dtype, out, threads, like)

    def to_device(self, device: Any = "cuda", dtype: Any = None, *, out: Any = None,
                  threads: int | None = None, like: str | None = "torch") -> Any:
        """Dequantizes the tensor on a CUDA device: the packed bytes are read into pinned memory,
        copied, and become floats there, all at once.

        device   "cuda", "cuda:1", an int, or a device of torch; "cuda" is the current device
        dtype    as of to_numpy()
        out      a tensor on that device for the result; its content is undefined after an exception
        threads  that read; None or 0: one for each processor
        like     "torch", "cupy", "jax": the library of the result. None: an object with __dlpack__
                 and __cuda_array_interface__

        The results are there for what is put on the current stream of the library later. Raises
        UnsupportedError if this package was built without CUDA, and as to_numpy() does.
        """
        name = self.dtype if dtype is None else element_of("dtype", dtype)
        return _device_load.load(self._file, self._index, name, self.shape, dtype, device, out,
                                 threads, like)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(f"{self.name}: numbers are computed from what is stored, which is a "
                             "copy")
        wanted = None if dtype is None else np.dtype(dtype)
        if wanted is not None and wanted.isnative \
                and wanted.name in ("float32", "float16", "bfloat16"):
            return self._to_array(wanted)
        array = self._to_array(None)
        # Without ml_dtypes the array holds the bits of bfloat16 numbers.
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
    """An open model file: a mapping from names to tensors, in the order of the file.

    format   name of the file format: "onnx"
    path     the path that open() was given; None for a model in memory
    tensors  tuple of all tensors, in the order of the file

    The keys are the names of the outputs of DequantizeLinear nodes. A look-up also accepts the name
    of a node, and the name of a constant that exactly one node dequantizes. The mapping has no
    tensors that the file stores as floats, and none that depend on the model's inputs; a look-up of
    such a name raises KeyError with the reason. A name that functions or subgraphs repeat is a key,
    but its look-up raises KeyError; `tensors` has all tensors of that name. Any number of threads
    may read at the same time.
    """

    __slots__ = ("_file", "_names", "format", "path", "tensors")

    def __init__(self, path: str | os.PathLike[str] | None, file: _core.ModelFile) -> None:
        self._file = file
        self.path = None if path is None else os.fspath(path)
        self.format = file.format
        self.tensors = tuple(Tensor(file, i, facts) for i, facts in enumerate(file.tensors()))
        self._names = dict.fromkeys(tensor.name for tensor in self.tensors)

    def __getitem__(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise KeyError(name)
        try:
            return self.tensors[self._file.find(name)]
        except UnicodeEncodeError:
            raise KeyError(name) from None  # a surrogate that no name in a file has

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._file.closed

    def close(self) -> None:
        """Closes the files, once reads in other threads have ended. Does not wait for them."""
        self._file.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other  # the comparison of Mapping would read all tensors

    def __reduce__(self) -> Any:
        raise TypeError("an open model cannot be pickled; its path can")

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        name = "in memory" if self.path is None else repr(self.path)
        return f"<dequant.Model {name}, {len(self.tensors)} tensors{closed}>"


def _as_array(stored: _Stored) -> np.ndarray[Any, Any] | Packed:
    """An array if numpy or ml_dtypes has a dtype for the elements, otherwise the Packed."""
    packed = Packed(*stored)
    try:
        return packed.to_numpy()
    except TypeError:
        return packed

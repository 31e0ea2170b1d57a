from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str
BITS: dict[str, int]  # name of an element type -> bits of an element

def from_dlpack(object: object,
                writable: bool) -> tuple[npt.NDArray[np.unsignedinteger[Any]], str] | None: ...
def unpack(bits: int, packed: npt.NDArray[np.uint8], out: npt.NDArray[np.uint8]) -> None: ...
def set_packed(type: type) -> None: ...

#: Scheme -> its tensors, the required ones of these, its options, a description.
SCHEMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str]]

def dequantize_scheme(scheme: str, tensors: dict[str, Any], options: dict[str, str], dtype: Any,
                      out: Any, threads: int | None, like: str | None) -> Any: ...
def convert_floats(element: str, data: npt.NDArray[np.uint8], shape: tuple[int, ...], dtype: Any,
                   out: Any, threads: int | None, like: str | None) -> Any: ...
# The report as JSON, and the output where `output` is None, but not of a dry run.
def convert(
    input: str | PathLike[str],  # with contents: a name for messages
    contents: Any | None,  # a buffer with the model
    folder: str | PathLike[str] | None,  # of files that the model in `contents` names
    output: str | PathLike[str] | None,
    own: dict[str, str],
    dtype: Any,
    clean_temp: bool,
    include: list[str],
    exclude: list[str],
    overwrite: bool,
    dry_run: bool,
    require_float: bool,
    threads: int | None,
    mem: int | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[str, bytes | None]: ...

#: A folder, and a function that is called before files of it are read: of each (path, begin, end)
#: it makes a range around it present, which it returns.
_Fetched = tuple[str, Callable[[list[tuple[str, int, int]]], list[tuple[int, int]]]] | None

# The text of the conversion, and the report as JSON.
def plan(conversion: str, dtype: Any, output: str | PathLike[str], mem: int | None,
         fetched: _Fetched) -> tuple[str, str]: ...
# The report as JSON. `input`: a path in place of that of the conversion.
def run_task(conversion: str, output: str | PathLike[str], task: int, fingerprint: str,
             overwrite: bool, threads: int | None, mem: int | None,
             progress: Callable[[int, int], object] | None, input: str | PathLike[str] | None,
             fetched: _Fetched) -> str: ...
def finalize(output: str | PathLike[str], input: str | PathLike[str] | None, verify: bool,
             progress: Callable[[int, int], object] | None, fetched: _Fetched) -> str: ...

# All bytes of a file for dequant._cuda, and how many these are.
def file_for_device(path: str | PathLike[str]) -> tuple[Any, int]: ...

# An open model file; dequant.Model and dequant.Tensor are its interface for users.
class ModelFile:
    def __init__(
        self,
        path: str | PathLike[str],  # with contents: a name for messages
        contents: Any | None,
        folder: str | PathLike[str] | None,
        mem: int | None,
        checksum: bool,
        names: str,
        keep_unknown: bool,
    ) -> None: ...
    @property
    def format(self) -> str: ...
    # The dequantized tensors in the order of the file. The keys are the attributes of
    # dequant.Tensor: "name", "node", "x", "domain", "opset", "shape", "dtype", "stored_dtype",
    # "granularity", "axis", "block_size", "nbytes". In a format without a graph "node" is "", "x"
    # is the name of the codes, "domain" is the scheme ("" if there is none), and "opset" is the
    # version of the scheme (1 if it has no versions). "axis" is None for one scale.
    def tensors(self) -> list[dict[str, Any]]: ...
    # What a safetensors file has as metadata; None where it has none, and of all other models.
    def metadata(self) -> dict[str, str] | None: ...
    # Tensors that the float model has as they are stored: name, type as the format spells it,
    # shape.
    def kept(self) -> list[tuple[str, str, tuple[int, ...]]]: ...
    # The bytes of the tensor of that index in kept(), from the file that was opened. Raises
    # ValueError if the file has changed since.
    def read_kept(self, index: int) -> npt.NDArray[np.uint8]: ...
    # For dequant._cuda.
    def kept_for_device(self, index: int) -> Any: ...
    # The index in tensors() of the tensor with this name, node or x. Raises KeyError.
    def find(self, name: str) -> int: ...
    def dequantize(self, index: int, dtype: Any, out: Any, threads: int | None,
                   like: str | None) -> Any: ...
    # For dequant._cuda.
    def for_device(self, index: int, dtype: Any) -> Any: ...
    # Packed bytes, the name of their element type, a shape.
    def codes(self, index: int) -> tuple[Any, str, tuple[int, ...]]: ...
    def scale(self, index: int) -> tuple[Any, str, tuple[int, ...]] | None: ...
    # None if the tensor has no zero point.
    def zero_point(self, index: int) -> tuple[Any, str, tuple[int, ...]] | None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str
BITS: dict[str, int]

def from_dlpack(object: object,
                writable: bool) -> tuple[npt.NDArray[np.unsignedinteger[Any]], str] | None: ...
def unpack(bits: int, packed: npt.NDArray[np.uint8], out: npt.NDArray[np.uint8]) -> None: ...
def set_packed(type: type) -> None: ...
def convert(
    input: str | PathLike[str],
    output: str | PathLike[str],
    assume_const: bool,
    strip_qdq: bool,
    clip: str,
    dtype: Any,
    external_data: bool,
    clean_temp: bool,
    include: list[str],
    exclude: list[str],
    overwrite: bool,
    dry_run: bool,
    require_float: bool,
    checksum: bool,
    threads: int | None,
    mem: int | None,
    progress: Callable[[int, int], object] | None,
) -> str: ...

class ModelFile:
    def __init__(self, path: str | PathLike[str], mem: int | None, checksum: bool) -> None: ...
    @property
    def format(self) -> str: ...
    def tensors(self) -> list[dict[str, Any]]: ...
    def find(self, name: str) -> int: ...
    def dequantize(self, index: int, dtype: Any, out: Any, threads: int | None,
                   like: str | None) -> Any: ...
    def codes(self, index: int) -> tuple[Any, str, tuple[int, ...]]: ...
    def scale(self, index: int) -> tuple[Any, str, tuple[int, ...]]: ...
    def zero_point(self, index: int) -> tuple[Any, str, tuple[int, ...]] | None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

"""From a quantized model to a float one."""

from __future__ import annotations

import errno
import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from . import _core


def convert(input: str | os.PathLike[str], output: str | os.PathLike[str], *,
            assume_const: bool = False, strip_qdq: bool = False, clip: str = "needed",
            dtype: Any = None, external_data: bool = False, include: str | Iterable[str] = (),
            exclude: str | Iterable[str] = (), overwrite: bool = False, dry_run: bool = False,
            require_float: bool = False, checksum: bool = True, clean_temp: bool = False,
            threads: int | None = None, mem: int | None = None,
            progress: Callable[[int, int], object] | None = None) -> ConvertReport:
    """Writes a float model in which every DequantizeLinear of constants has become a float
    initializer.

    input, output  ONNX models; the output appears whole or not at all
    assume_const   initializers that are graph inputs, and could be overridden, count as constant
    strip_qdq      QuantizeLinear and DequantizeLinear are also taken off activations, inputs and
                   outputs
    clip           where a Clip keeps the range of a pair that strip_qdq takes out: "needed",
                   "always" or "never"
    dtype          the type of the float constants: float32, float16 or bfloat16, rounded once from
                   float32; a Cast gives their readers the type that they had; None: that of each
                   node
    external_data  floats of 1 KiB and more go to a data file beside the model, whatever its size
    include        only nodes whose name, output or x matches one of these globs
    exclude        no nodes whose name, output or x matches one of these
    overwrite      the output is replaced if it exists
    dry_run        decide and report, but write nothing; fails where the run would
    clean_temp     first remove the temporary files that killed runs have left in the output's
                   folder
    require_float  where anything stays quantized nothing is written and UnsupportedError is raised
    checksum       external data is held against the checksums that tensors name; if False, a
                   warning says so
    threads        None or 0: one for each processor
    mem            bytes of memory for tensor data, 1 GiB if None
    progress       called now and then as progress(bytes_done, bytes_total), by the thread that
                   called convert(); the last time when all is written, before the output gets its
                   name

    What progress() raises, and KeyboardInterrupt, stops the conversion and leaves nothing behind.

    Raises FileExistsError, and FileNotFoundError and other OSErrors; ValueError for what is no
    sound model; UnsupportedError. A node that cannot be folded stays as it was and is reported with
    the reason, as is every other quantized operator, which warnings count.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: a callable is wanted, not {type(progress).__name__}")
    os.stat(input)  # raises FileNotFoundError with the file's name
    if not overwrite and os.path.lexists(output):
        raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}, and overwrite is False",
                              os.fspath(output))
    if _is_negative(mem):
        raise ValueError(f"mem: {mem} is negative")
    text = _core.convert(input, output, bool(assume_const), bool(strip_qdq), clip, dtype,
                         bool(external_data), bool(clean_temp), _globs("include", include),
                         _globs("exclude", exclude), bool(overwrite), bool(dry_run),
                         bool(require_float), bool(checksum), threads, mem, progress)
    names = {"input": os.fsdecode(input), "output": os.fsdecode(output), "dry_run": bool(dry_run)}
    return ConvertReport(names | json.loads(text))


def _is_negative(number: Any) -> bool:
    """What is no int the core refuses."""
    try:
        return number is not None and operator.index(number) < 0
    except TypeError:
        return False


def _globs(parameter: str, globs: str | Iterable[str]) -> list[str]:
    if isinstance(globs, (bytes, bytearray)) or not isinstance(globs, Iterable):
        raise TypeError(f"{parameter}: a glob or an iterable of globs is wanted, not "
                        f"{type(globs).__name__}")
    return [globs] if isinstance(globs, str) else list(globs)


class ConvertReport:
    """What convert() did.

    folded     the nodes that became constants: a mapping each, with "node", "output", "x", "type",
               "shape", ...
    stripped   the nodes that were taken out, with strip_qdq: "node", "op_type", "replaced_by"
    inputs_changed, outputs_changed
               what strip_qdq made float: "name", "old_type", "new_type", "scale", "zero_point",
               "axis"
    left       the quantized nodes that stay: "node", "op_type", "domain", "output", "reason"
    bytes_in   of the model read
    bytes_out  of the model written, without its data file
    data_file  the name of the data file beside the output; empty if there is none
    cleaned    with clean_temp the files that were removed: "file", "bytes"
    warnings   sentences
    seconds    where time went: "total", "decide", and summed over threads "read", "dequantize",
               "write", "flush"
    """

    __slots__ = ("_dict", "folded", "stripped", "inputs_changed", "outputs_changed", "left",
                 "bytes_in", "bytes_out", "data_file", "cleaned", "warnings", "seconds")

    folded: tuple[Mapping[str, Any], ...]
    stripped: tuple[Mapping[str, Any], ...]
    inputs_changed: tuple[Mapping[str, Any], ...]
    outputs_changed: tuple[Mapping[str, Any], ...]
    left: tuple[Mapping[str, Any], ...]
    bytes_in: int
    bytes_out: int
    data_file: str
    cleaned: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    _dict: dict[str, Any]

    def __init__(self, report: dict[str, Any]) -> None:
        totals = report["totals"]
        lists = ("folded", "stripped", "inputs_changed", "outputs_changed", "left", "cleaned")
        facts = {key: tuple(map(MappingProxyType, report[key])) for key in lists}
        for name, value in {**facts, "_dict": report, "bytes_in": totals["model_bytes_in"],
                            "bytes_out": totals["model_bytes_out"],
                            "data_file": totals["data_file"],
                            "warnings": tuple(report["warnings"]),
                            "seconds": MappingProxyType(report["seconds"])}.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a report is not changed: {name}")

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `dequant convert --json` prints it."""
        copy: dict[str, Any] = json.loads(json.dumps(self._dict))
        return copy

    def __reduce__(self) -> tuple[type[ConvertReport], tuple[dict[str, Any]]]:
        return ConvertReport, (self._dict,)

    def __repr__(self) -> str:
        return (f"<dequant.ConvertReport {len(self.folded)} folded, {len(self.stripped)} stripped, "
                f"{len(self.left)} left, {self.bytes_in} -> {self.bytes_out} bytes>")

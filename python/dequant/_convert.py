"""dequant.convert(): writes a quantized model as a float model."""

from __future__ import annotations

import errno
import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from . import _core
from ._source import is_url, source_of, without_file
from ._typing import ModelSource


def convert(input: ModelSource, output: str | os.PathLike[str] | None = None, *,
            assume_const: bool = False, strip_qdq: bool = False, clip: str = "needed",
            dtype: Any = None, external_data: bool = False, include: str | Iterable[str] = (),
            exclude: str | Iterable[str] = (), overwrite: bool = False, dry_run: bool = False,
            require_float: bool = False, checksum: bool = True, clean_temp: bool = False,
            others: str = "keep", max_shard_size: int | str | None = None,
            shards: str | None = None, keep_unknown: bool = False, resume: bool = False,
            names: str = "gguf",
            audit: str | os.PathLike[str] | None = None,
            base_dir: str | os.PathLike[str] | None = None,
            threads: int | None = None, mem: int | None = None,
            progress: Callable[[int, int], object] | None = None,
            storage_options: Mapping[str, Any] | None = None) -> ConvertReport:
    """Writes a float model: every DequantizeLinear of constants becomes a float initializer.

    A checkpoint (a folder, its index, or a .safetensors file) becomes a dense checkpoint, a TFLite
    model a .safetensors file, and a GGUF file a GGUF file, a .safetensors file or a folder, as the
    name of the output ends.

    input          the path of a model, the bytes of its file (any object with the buffer
                   protocol), or an onnx.ModelProto. Input and output may be URLs, but not of ONNX
                   models: then the conversion is carried out in tasks, see plan()
    output         the path of the float model; a file appears complete or not at all. None, of ONNX
                   models: the `model` of the report is the float model: an object of the input's
                   class for an onnx.ModelProto, otherwise bytes. It has all data inside, at most
                   protobuf's 2 GiB
    assume_const   an initializer that is also a graph input counts as constant, although callers
                   of the model could override it
    strip_qdq      also removes QuantizeLinear and DequantizeLinear nodes from activations, inputs
                   and outputs
    clip           where a Clip node replaces a removed pair of QuantizeLinear and DequantizeLinear:
                   "needed", "always" or "never"; only with strip_qdq
    dtype          the type of the new constants: float32, float16 or bfloat16, rounded once from
                   the float32 product; a Cast node converts the constant to the original type for
                   the nodes that read it; None: the output type of each DequantizeLinear, of
                   checkpoints that which config.json says the model computes in or else that of the
                   scales, of other files float32
    external_data  stores float tensors of 1 KiB or more in a data file, for models of any size
    include        glob or globs: converts only nodes whose name, output or x matches one of them
    exclude        glob or globs: does not convert nodes whose name, output or x matches one of them
    overwrite      replaces an existing output
    dry_run        decides and reports, but writes nothing; fails where the conversion would fail
    clean_temp     first removes the temporary files that killed conversions left in the folder of
                   the output
    require_float  raises UnsupportedError and writes nothing if any part stays quantized
    checksum       compares external data with the checksums in the model; if False, a warning
                   reports that the checksums were not compared
    names          of GGUF files: "hf" gives tensors the names and rows that transformers has, and
                   an output folder a config.json; "gguf" leaves them as they are
    others         of checkpoints, GGUF files and TFLite models: tensors that are not quantized
                   "keep" their type, or get the "same" type as the dequantized ones
    max_shard_size of checkpoints and GGUF files: bytes of each file of the output at most, as a
                   number or as text such as "5G" or "512Mi"; None: 5G, of a .gguf output one file
    shards         of checkpoints: "as-input": the files of the output have the names and the
                   tensors of those of the input
    keep_unknown   of checkpoints: copies quantized tensors that no scheme explains, with a warning
    resume         of output folders: continues an interrupted conversion after its last complete
                   file
    audit          of checkpoints, GGUF files and TFLite models: path of a file that gets a JSON
                   line for each tensor
    base_dir       of a model in memory: the folder of its external data; None: external data is
                   refused
    threads        None or 0: one for each processor
    mem            bytes of memory for tensor data; None: 1 GiB
    progress       called repeatedly as progress(bytes_done, bytes_total), by the thread that called
                   convert(); the last call comes after all bytes are written and before the output
                   gets its name
    storage_options  of URLs: arguments of the file system of fsspec; for an input and an output
                   that differ in them {"input": {...}, "output": {...}}

    An exception of progress(), and KeyboardInterrupt, stop the conversion and leave no file behind,
    but for the complete files of an output folder, after which `resume` goes on. KeyboardInterrupt
    after the last call of progress() comes too late: the output is complete then.

    Raises FileExistsError, FileNotFoundError and other OSErrors; ValueError if the input is not a
    valid model; UnsupportedError. A node that cannot be folded stays in the model, and the report
    has the reason. The report also lists every other quantized operator; warnings count them.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: a callable is wanted, not {type(progress).__name__}")
    input = without_file(input)
    if is_url(input) or is_url(output):
        for name, given in {"assume_const": assume_const, "strip_qdq": strip_qdq,
                            "clip": clip != "needed", "external_data": external_data,
                            "checksum": not checksum, "clean_temp": clean_temp, "resume": resume,
                            "audit": audit is not None, "base_dir": base_dir is not None}.items():
            if given:
                raise ValueError(f"{name}: not for URLs")
        return _convert_remote(
            input, output, dtype, overwrite=bool(overwrite), dry_run=bool(dry_run),
            threads=threads, mem=mem, progress=progress, storage_options=storage_options,
            own=own_options({"keep-unknown": bool(keep_unknown), "max-shard-size": max_shard_size,
                             "shards": shards, "others": others, "names": names}),
            options={"include": include, "exclude": exclude, "require_float": require_float})
    source = source_of(input, base_dir)
    if source.contents is None:
        os.stat(source.path)  # raises FileNotFoundError with the file's name
    if output is None and (clean_temp or overwrite):
        raise ValueError(f"{'clean_temp' if clean_temp else 'overwrite'}: there is no output file")
    if output is not None and not overwrite and not resume and os.path.lexists(output):
        raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}, and overwrite is False",
                              os.fspath(output))
    if _is_negative(mem):
        raise ValueError(f"mem: {mem} is negative")
    own = own_options({
        "assume-const": bool(assume_const), "strip-qdq": bool(strip_qdq),
        "external-data": bool(external_data), "no-checksum": not checksum,
        "keep-unknown": bool(keep_unknown), "resume": bool(resume),
        "clip": clip, "others": others, "max-shard-size": max_shard_size, "shards": shards,
        "names": names,
        "audit": None if audit is None else os.fsdecode(audit)})
    text, written = _core.convert(*source[:3], output, own, dtype, bool(clean_temp),
                                  globs_of("include", include), globs_of("exclude", exclude),
                                  bool(overwrite), bool(dry_run), bool(require_float), threads,
                                  mem, progress)
    paths = {"input": None if source.contents is not None else os.fsdecode(source.path),
             "output": None if output is None else os.fsdecode(output), "dry_run": bool(dry_run)}
    return ConvertReport(paths | json.loads(text),
                         None if written is None else source.result(written))


def _convert_remote(input: ModelSource, output: str | os.PathLike[str] | None, dtype: Any, *,
                    own: dict[str, str], options: dict[str, Any], **more: Any) -> ConvertReport:
    from ._remote import convert as remote_convert
    from ._storage_errors import without_query
    from ._tasks import conversion_of
    if not isinstance(input, (str, os.PathLike)):
        raise TypeError(f"{output}: the input must be a path or a URL too, not "
                        f"{type(input).__name__}")
    if output is None:
        raise ValueError(f"{without_query(os.fsdecode(input))}: there is no output")
    conversion = conversion_of(input, own, task_size=None, **options)
    return remote_convert(conversion, dtype, os.fsdecode(output), **more)


def _is_negative(number: Any) -> bool:
    """False for an object that is no int: the core raises TypeError for it."""
    try:
        return number is not None and operator.index(number) < 0
    except TypeError:
        return False


_DEFAULTS = {"clip": "needed", "others": "keep", "names": "gguf"}


def own_options(given: Mapping[str, bool | int | str | None]) -> dict[str, str]:
    """Options of formats, by their names on the command line, as the core takes them: those that
    are None, False or a default are left out, as formats that lack them refuse them, and True is a
    flag."""
    return {name: "" if value is True else str(value) for name, value in given.items()
            if value is not None and value is not False and value != _DEFAULTS.get(name)}


def globs_of(parameter: str, globs: str | Iterable[str]) -> list[str]:
    if isinstance(globs, (bytes, bytearray)) or not isinstance(globs, Iterable):
        raise TypeError(f"{parameter}: a glob or an iterable of globs is wanted, not "
                        f"{type(globs).__name__}")
    return [globs] if isinstance(globs, str) else list(globs)


class ConvertReport:
    """The report of convert().

    model      the float model, of a conversion without an output: an onnx.ModelProto if the input
               was one, otherwise bytes; None of a dry run, and where a file was written
    converted  one mapping for each node that became a constant: "node", "output", "x", "type",
               "shape", ...; of a checkpoint, for each dequantized tensor: "name", "codes",
               "scheme", "type", "shape", ..., and "nan_scales" and "infinite_scales" where some
               scales are NaN or infinite; warnings name these tensors
    folded     the same
    stripped   one mapping for each node that strip_qdq removed: "node", "op_type", "replaced_by"
    inputs_changed, outputs_changed
               one mapping for each model input or output that strip_qdq made float: "name",
               "old_type", "new_type", "scale", "zero_point", "axis"
    left       one mapping for each quantized node that stays: "node", "op_type", "domain",
               "output", "reason"
    dropped    one mapping for each stored tensor that a dense checkpoint does not need: "name",
               "reason"
    bytes_in   bytes of the input model, without external data
    bytes_out  bytes of the output model, without its data file
    data_file  the name of the data file beside the output; empty if there is none
    cleaned    one mapping for each file that clean_temp removed: "file", "bytes"
    warnings   sentences
    seconds    durations: "total", "decide", and, summed over threads, "read", "dequantize",
               "write", "flush"
    """

    __slots__ = ("_dict", "model", "converted", "folded", "stripped", "inputs_changed",
                 "outputs_changed", "left", "dropped", "bytes_in", "bytes_out", "data_file",
                 "cleaned", "warnings", "seconds")

    model: Any
    converted: tuple[Mapping[str, Any], ...]
    folded: tuple[Mapping[str, Any], ...]
    stripped: tuple[Mapping[str, Any], ...]
    inputs_changed: tuple[Mapping[str, Any], ...]
    outputs_changed: tuple[Mapping[str, Any], ...]
    left: tuple[Mapping[str, Any], ...]
    dropped: tuple[Mapping[str, Any], ...]
    bytes_in: int
    bytes_out: int
    data_file: str
    cleaned: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    _dict: dict[str, Any]

    def __init__(self, report: dict[str, Any], model: Any = None) -> None:
        totals = report["totals"]
        lists = ("stripped", "inputs_changed", "outputs_changed", "left", "dropped", "cleaned")
        facts = {key: tuple(map(MappingProxyType, report.get(key, ()))) for key in lists}
        folded = report["folded"] if "folded" in report else report["converted"]
        facts["folded"] = facts["converted"] = tuple(map(MappingProxyType, folded))
        for name, value in {**facts, "_dict": report, "model": model,
                            "bytes_in": totals["model_bytes_in"],
                            "bytes_out": totals["model_bytes_out"],
                            "data_file": totals["data_file"],
                            "warnings": tuple(report["warnings"]),
                            "seconds": MappingProxyType(report["seconds"])}.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a report is not changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a report is not changed: {name}")

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict with the keys of `dequant convert --json`."""
        copy: dict[str, Any] = json.loads(json.dumps(self._dict))
        return copy

    def __reduce__(self) -> tuple[type[ConvertReport], tuple[dict[str, Any], Any]]:
        return ConvertReport, (self._dict, self.model)

    def __repr__(self) -> str:
        return (f"<dequant.ConvertReport {len(self.folded)} folded, {len(self.stripped)} stripped, "
                f"{len(self.left)} left, {self.bytes_in} -> {self.bytes_out} bytes>")

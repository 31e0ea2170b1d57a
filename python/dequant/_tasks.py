"""dequant.plan(), run_task() and finalize(): a conversion that several processes carry out.

plan() gives tasks, which pickle; run_task() carries one out, in any process that sees the same
input and output; finalize() completes the output. Any executor will do:

    with concurrent.futures.ProcessPoolExecutor() as pool:
        for report in pool.map(dequant.run_task, dequant.plan("DeepSeek-V3", "out")):
            print(report.file, report.bytes)
    dequant.finalize("out")
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from . import _core
from ._convert import globs_of, own_options
from ._errors import UnsupportedError
from ._source import is_url, without_file
from ._tensors import whole


@dataclasses.dataclass(frozen=True)
class Task:
    """A part of a conversion, which reads and writes byte ranges.

    number       from 0 on, below `count`
    count        tasks of the conversion
    output       the path of the output
    file         the file of the output that the task writes to
    begin, end   the bytes of that file
    reads        the bytes of the input, without headers: (file, begin, end)
    fingerprint  identifies the input, the options and the version
    conversion   the input and the options, as JSON
    storage_options  those of plan(); they are pickled with the task
    url          of an input behind a URL of HTTP: that with its query, which may be a secret
    """

    number: int
    count: int
    output: str
    file: str
    begin: int
    end: int
    reads: tuple[tuple[str, int, int], ...]
    fingerprint: str
    conversion: str
    storage_options: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False,
                                                                  compare=False)
    url: str | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def bytes(self) -> int:
        """How many bytes the task writes."""
        return self.end - self.begin


class Plan(Sequence[Task]):
    """The tasks of a conversion.

    output       the path of the output
    fingerprint  identifies the input, the options and the version
    bytes_in     bytes of the input
    bytes_out    bytes of the files with tensors
    warnings     sentences
    """

    def __init__(self, output: str, conversion: str, report: dict[str, Any],
                 storage_options: Mapping[str, Any] | None = None,
                 url: str | None = None) -> None:
        share = report["share"]
        self.output = output
        self.fingerprint: str = share["fingerprint"]
        self.bytes_in: int = report["totals"]["model_bytes_in"]
        self.bytes_out: int = report["totals"]["model_bytes_out"]
        self.warnings: tuple[str, ...] = tuple(report["warnings"])
        self._tasks = tuple(
            Task(task["task"], share["count"], output, task["file"], task["begin"], task["end"],
                 tuple((file, begin, end) for file, begin, end in task["reads"]),
                 self.fingerprint, conversion, storage_options, url)
            for task in share["tasks"])

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def __repr__(self) -> str:
        return f"<Plan of {self.output}: {len(self)} tasks, {self.bytes_out} bytes>"


@dataclasses.dataclass(frozen=True)
class TaskReport:
    """What run_task() did.

    number   of the task
    file     the file of the output
    bytes    that the task writes
    done     False where its record was there already
    seconds  by phase, as ConvertReport.seconds; zeros where the record of a task behind a URL was
             there
    warnings sentences
    """

    number: int
    file: str
    bytes: int
    done: bool
    seconds: dict[str, float]
    warnings: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class FinalizeReport:
    """What finalize() found.

    complete  the output is complete
    missing   of tasks that must be carried out: number -> reason
    count     tasks of the conversion; 0 where the output was complete before
    """

    complete: bool
    missing: dict[int, str]
    count: int


def plan(input: str | os.PathLike[str], output: str | os.PathLike[str], *,
         task_size: int | None = None, dtype: Any = None, include: str | Iterable[str] = (),
         exclude: str | Iterable[str] = (), require_float: bool = False, others: str = "keep",
         max_shard_size: int | str | None = None, shards: str | None = None,
         keep_unknown: bool = False, names: str = "gguf", assume_const: bool = False,
         strip_qdq: bool = False, clip: str = "needed", external_data: bool = False,
         checksum: bool = True, mem: int | None = None,
         storage_options: Mapping[str, Any] | None = None) -> Plan:
    """Lists the tasks of a conversion.

    The same input, options and version give the same tasks, on any machine. Of an ONNX model the
    data file has tasks.

    input, output  paths that all workers see, or URLs of file systems that the package fsspec
                   knows
    task_size      bytes that a task writes at most; None: 5 * 10**9, with which each file of the
                   output is one task
    The other options are those of convert().

    Raises as convert() does, and UnsupportedError for an ONNX model without a data file.
    """
    for parameter, path in (("input", input), ("output", output)):
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"{parameter}: a path or a URL is wanted, not {type(path).__name__}")
    input = without_file(input)
    own = own_options({
        "keep-unknown": bool(keep_unknown), "others": others, "max-shard-size": max_shard_size,
        "shards": shards, "names": names, "assume-const": bool(assume_const),
        "strip-qdq": bool(strip_qdq), "clip": clip, "external-data": bool(external_data),
        "no-checksum": not checksum})
    conversion = conversion_of(input, own, task_size=task_size, include=include, exclude=exclude,
                               require_float=require_float)
    if is_url(input) or is_url(output):
        from ._remote import plan as remote_plan
        return remote_plan(conversion, dtype, os.fspath(output), mem, storage_options)[0]
    conversion["task_bytes"] = conversion["task_bytes"] or 5_000_000_000
    text, report = _core.plan(json.dumps(conversion), dtype, output, mem, None)
    tasks = Plan(os.path.abspath(os.fsdecode(output)), text, json.loads(report))
    if not tasks:
        raise UnsupportedError(f"{input}: the output is one file without a data file, which has no "
                               "tasks: convert() writes it, or external_data gives it a data file")
    return tasks


def conversion_of(input: str | os.PathLike[str], own: dict[str, str], *, task_size: int | None,
                  include: str | Iterable[str], exclude: str | Iterable[str],
                  require_float: bool) -> dict[str, Any]:
    """The input and the options as the core reads them, but for dtype. Without a `task_size` there
    is none yet."""
    path = os.fsdecode(input)
    if not is_url(path):
        os.stat(path)  # raises FileNotFoundError with the file's name
        path = os.path.abspath(path)
    task_bytes = None if task_size is None else whole("task_size", task_size, 4096)
    return {"input": path, "dtype": None, "include": globs_of("include", include),
            "exclude": globs_of("exclude", exclude), "require_float": bool(require_float),
            "task_bytes": task_bytes, "options": own}


def run_task(task: Task, *, overwrite: bool = False, threads: int | None = None,
             mem: int | None = None,
             progress: Callable[[int, int], object] | None = None,
             storage_options: Mapping[str, Any] | None = None) -> TaskReport:
    """Carries out a task, unless its record says that it is done.

    overwrite  the output may have other files
    threads, mem, progress  as of convert()
    storage_options  in place of those of plan()

    Raises as convert() does, and ValueError where the input, the options or the version are not
    those of the plan.
    """
    if not isinstance(task, Task):
        raise TypeError(f"task: a dequant.Task is wanted, not {type(task).__name__}")
    if is_url(task.output) or is_url(json.loads(task.conversion)["input"]):
        from ._remote import run_task as remote_run_task
        return remote_run_task(task, bool(overwrite), threads, mem, progress, storage_options)
    report = json.loads(_core.run_task(task.conversion, task.output, task.number, task.fingerprint,
                                       bool(overwrite), threads, mem, progress, None, None))
    state = report["share"]["tasks"][0]["state"]
    return TaskReport(task.number, task.file, task.bytes, state == "done", report["seconds"],
                      tuple(report["warnings"]))


def finalize(output: str | os.PathLike[str], *, input: str | os.PathLike[str] | None = None,
             verify: bool = False,
             progress: Callable[[int, int], object] | None = None,
             storage_options: Mapping[str, Any] | None = None) -> FinalizeReport:
    """Completes the output of tasks that are all done; else says which are missing.

    Any process may call it, any number of times.

    input     the input, where it is not at the path that plan() was given, or its URL has a query
    verify    reads all of the output again and compares the hashes of the records
    storage_options  as of convert()

    Raises as convert() does.
    """
    from . import _remote
    input = without_file(input)
    source = _remote.input_of(os.fsdecode(output)) if input is None else input
    if is_url(output) or is_url(source):
        return _remote.finalize(os.fsdecode(output), None if input is None else os.fsdecode(input),
                                bool(verify), progress, storage_options)
    return finalize_report_of(_core.finalize(output, input, bool(verify), progress, None))


def finalize_report_of(text: str) -> FinalizeReport:
    share = json.loads(text)["share"]
    missing = {task["task"]: task["reason"] for task in share["tasks"]
               if task["state"] == "missing"}
    return FinalizeReport(share["complete"], missing, share["count"])

"""Conversions whose input or output is behind a URL: plan(), run_task(), finalize(), convert().

The core reads and writes local files in a temporary folder. Files of the input are there with their
sizes; the core asks for the bytes that it reads. A task writes its file there; once it is complete,
it is uploaded, and then its record.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable
from typing import Any

from . import _core
from ._convert import ConvertReport
from ._errors import UnsupportedError
from ._mirror import Mirror
from ._remote_output import RemoteOutput
from ._source import is_url
from ._storage import Place, StorageOptions, check_tags, options_for
from ._storage_errors import without_query
from ._tasks import FinalizeReport, Plan, Task, TaskReport, finalize_report_of
from ._workspace import Workspace, workspace

Progress = Callable[[int, int], object] | None

#: Tasks of any size: a file of an output behind a URL is written by one.
_ONE_TASK = 1 << 62
#: Those of the report of the core.
_PHASES = ("total", "decide", "read", "dequantize", "write", "flush")
#: Bytes of which three samples of each file are compared, see format/dense/records.cc.
_SAMPLE = 4096


def plan(conversion: dict[str, Any], dtype: Any, output: str, mem: int | None,
         storage_options: StorageOptions) -> tuple[Plan, dict[str, Any]]:
    """Also returns the report of the core."""
    url = conversion["input"]
    name = without_query(url)
    own = dict(conversion)
    remote: dict[str, Any] = {"query": name != url}
    if own["task_bytes"] is None:
        own["task_bytes"] = _ONE_TASK if is_url(output) else 5_000_000_000
    with workspace(mem) as space:
        if is_url(url):
            _, own["input"], remote["files"] = space.input(url, storage_options, None)
        to = output = output if is_url(output) else os.path.abspath(output)
        if is_url(output):
            place = Place(output, options_for("output", storage_options))
            if place.is_http:
                raise UnsupportedError(f"{place.url}: outputs are not written by HTTP")
            to, output = space.output(place), place.url
        text, report_text = _core.plan(json.dumps(own), dtype, to, mem, space.fetched())
    report = json.loads(report_text)
    if "folded" in report:
        raise UnsupportedError(f"{name}: ONNX models are not converted from or to URLs")
    inside = _is_inside(report)
    _check_apart(conversion["input"], output, inside, report["share"]["tasks"], storage_options)
    remote["inside"] = inside
    if is_url(output):
        _check_one_task(report["share"]["tasks"])
    text = json.dumps(json.loads(text) | {"input": name, "remote": remote})
    return Plan(output, text, report, storage_options, url if remote["query"] else None), report


def _is_inside(report: dict[str, Any]) -> bool:
    """Whether the output is a folder, with that of the tasks in it."""
    folder: str = report["share"]["folder"]
    return os.path.basename(folder) == ".dequant-tasks"


def _check_apart(url: str, output: str, inside: bool, tasks: list[dict[str, Any]],
                 storage_options: StorageOptions) -> None:
    """Demands that no file of the input would be replaced: one at the same path, with the same tag,
    as two stores may have the same paths."""
    source = Place(url, options_for("input", storage_options))
    target = RemoteOutput(Place(output, options_for("output", storage_options)), inside)
    files = source.model_files()[1]
    own = {source.real(file.path): file.path for file in files.values()}
    names = {task["file"] for task in tasks} | ({"config.json", *files} if inside else set())
    for path in (target.place.path, *map(target.final, sorted(names))):
        there = own.get(target.place.real(path))
        if there is None:
            continue
        old, new = source.file(there), target.place.file(path)
        if old is not None and new is not None and old.tag == new.tag:
            raise OSError(f"{path} is a file of the input; name another output than {output}")


def _check_one_task(tasks: list[dict[str, Any]]) -> None:
    cut = next((task["file"] for task in tasks if task["begin"] != 0), None)
    if cut is not None:
        raise ValueError(f"task_size: {cut} would have several tasks, and a file behind a URL is "
                         "written by one: leave task_size out; max_shard_size makes files smaller")


def run_task(task: Task, overwrite: bool, threads: int | None, mem: int | None,
             progress: Progress, storage_options: StorageOptions) -> TaskReport:
    conversion = json.loads(task.conversion)
    remote = conversion.get("remote", {})
    url = conversion["input"] if task.url is None else task.url
    options = task.storage_options if storage_options is None else storage_options
    with workspace(mem) as space:
        output, begun = None, False
        to = task.output
        if is_url(to):
            place = Place(to, options_for("output", options))
            to = space.output(place)
            output = RemoteOutput(place, remote["inside"])
            begun = output.is_begun(task.fingerprint)
            if begun and output.is_done(task.fingerprint, task.number, task.file, task.end):
                return TaskReport(task.number, task.file, task.bytes, False,
                                  dict.fromkeys(_PHASES, 0.0), ())
            if not begun:
                _place_others(output, to, task.file, overwrite)
        else:
            _check_local(to, remote["inside"], overwrite)
        source, path = None, url
        if is_url(url):
            source, path, _ = space.input(url, options, remote["files"])
            space.mirrors[0].fetch(task.reads)
        report = json.loads(_core.run_task(
            task.conversion, to, task.number, task.fingerprint, overwrite, threads, mem, progress,
            path, space.fetched()))
        if source is not None:  # what was read meanwhile; finalize() looks again
            check_tags(source.url, source.model_files()[1], remote["files"])
        if output is not None:
            text = {**conversion, "fingerprint": task.fingerprint, "tasks": task.count,
                    "replace": overwrite}
            output.put(to, text, begun, task.number, task.file, task.end)
    state = report["share"]["tasks"][0]["state"]
    return TaskReport(task.number, task.file, task.bytes, state == "done", report["seconds"],
                      tuple(report["warnings"]))


def _check_output(tasks: Plan, inside: bool, overwrite: bool,
                  storage_options: StorageOptions) -> None:
    """Demands what the first task will demand of the output."""
    if not is_url(tasks.output):
        _check_local(tasks.output, inside, overwrite)
        return
    output = RemoteOutput(Place(tasks.output, options_for("output", storage_options)), inside)
    if not output.is_begun(tasks.fingerprint):
        _others(output, tuple({task.file for task in tasks}), overwrite)


def _check_local(output: str, inside: bool, overwrite: bool) -> None:
    """Demands that an output is not there, but for the folder of its tasks."""
    if not os.path.lexists(output) or overwrite:
        return
    if not inside or not os.path.isdir(output) or (
            os.listdir(output) and not os.path.exists(f"{output}/.dequant-tasks")):
        raise _exists(output)


def _exists(output: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}, and overwrite is False",
                           output)


def _others(output: RemoteOutput, files: tuple[str, ...], overwrite: bool) -> list[str]:
    """The files that an output has before its first task."""
    others = output.others(files)
    if others and not overwrite:
        raise _exists(output.place.url)
    return others


def _place_others(output: RemoteOutput, to: str, file: str, overwrite: bool) -> None:
    """Gives the local output the names of the files that the output has: the core says whether it
    may write beside them."""
    for name in _others(output, (file,), overwrite):
        path = os.path.join(to if output.inside else os.path.dirname(to), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb"):
            pass


def input_of(output: str) -> str | None:
    """The URL of the input of a conversion to a local output; None: it has none."""
    for folder in (f"{output}/.dequant-tasks", f"{output}.dequant-tasks"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(f"{folder}/conversion.json", encoding="utf-8") as file:
                url = json.load(file)["input"]
            return url if is_url(url) else None
    return None


def finalize(output: str, input: str | None, verify: bool, progress: Progress,
             storage_options: StorageOptions) -> FinalizeReport:
    if not is_url(output):
        with open(_text_path(output), encoding="utf-8") as file:
            text = json.load(file)
        with workspace() as space:
            path = _finalize_input(space, input, text, storage_options)
            return finalize_report_of(_core.finalize(output, path, verify, progress,
                                                     space.fetched()))
    place = Place(output, options_for("output", storage_options))
    place.fs.invalidate_cache()
    for remote in (RemoteOutput(place, True), RemoteOutput(place, False)):
        text = remote.text()
        if text is not None:
            return _finalize_begun(remote, text, input, verify, progress, storage_options)
    return _finalize_complete(place, progress)


def _text_path(output: str) -> str:
    inside = f"{output}/.dequant-tasks/conversion.json"
    return inside if os.path.exists(inside) else f"{output}.dequant-tasks/conversion.json"


def _finalize_input(space: Workspace, input: str | None, text: dict[str, Any],
                    options: StorageOptions) -> str | None:
    """The local path of the input."""
    if input is None and text.get("remote", {}).get("query"):
        raise ValueError(f"{text['input']}: the query of the URL of the input is not stored: give "
                         "the URL to finalize(), as its input")
    url = input if input is not None else text["input"]
    if not is_url(url):
        return input
    return space.input(url, options, text.get("remote", {}).get("files"))[1]


def _finalize_begun(output: RemoteOutput, text: dict[str, Any], input: str | None, verify: bool,
                    progress: Progress, options: StorageOptions) -> FinalizeReport:
    fingerprint = text["fingerprint"]
    with workspace() as space:
        path = _finalize_input(space, input, text, options)
        to = space.output(output.place)
        files = {name: file for name, file in output.place.files(output.work).items()
                 if name.partition("/")[0] in ("conversion.json", f"data-{fingerprint}",
                                               f"records-{fingerprint}")}
        work = Mirror(output.place, files, output.local_work(to))
        space.mirrors.append(work)
        work.fetch((name, at, at + _SAMPLE) for name, file in files.items()
                   for at in ((0, (file.size - _SAMPLE) // 2, file.size - _SAMPLE)
                              if name.startswith("data-") and file.size > _SAMPLE else (0,)))
        report_text = _core.finalize(to, path, verify, progress, space.fetched())
        report = finalize_report_of(report_text)
        if not report.complete:
            return report
        data = {task["file"]: files[f"data-{fingerprint}/{task['file']}"].size
                for task in json.loads(report_text)["share"]["tasks"]}
        try:
            output.complete(to, fingerprint, data, text.get("replace") is True)
        except FileNotFoundError:  # somebody else has completed and removed it
            if output.text() is not None:
                raise
            return _finalize_complete(output.place, progress)
    return report


def _finalize_complete(place: Place, progress: Progress) -> FinalizeReport:
    """Of an output without a text: it is complete, or none was begun."""
    with workspace() as space:
        try:
            to_folder, files = place.model_files()
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "no conversion to it was begun by tasks",
                                    place.url) from error
        to = space.output(place)
        space.mirrors.append(Mirror(place, files, to if to_folder else os.path.dirname(to)))
        report = finalize_report_of(_core.finalize(to, None, False, progress,
                                                   space.fetched()))
        RemoteOutput(place, to_folder).remove()  # what an interrupted finalize() has left
        return report


def convert(conversion: dict[str, Any], dtype: Any, output: str, *, overwrite: bool,
            dry_run: bool, threads: int | None, mem: int | None, progress: Progress,
            storage_options: StorageOptions) -> ConvertReport:
    """All tasks, one after the other."""
    tasks, report = plan(conversion, dtype, output, mem, storage_options)
    _check_output(tasks, _is_inside(report), overwrite, storage_options)
    warnings = list(report["warnings"])
    done = 0
    for task in () if dry_run else tasks:
        def tell(own: int, _total: int, before: int = done) -> None:
            if progress is not None:
                progress(before + own, tasks.bytes_out)
        ran = run_task(task, overwrite, threads, mem, tell, None)
        done += task.bytes
        warnings += [w for w in ran.warnings if w not in warnings]
        for phase, seconds in ran.seconds.items():
            report["seconds"][phase] = report["seconds"].get(phase, 0) + seconds
    if not dry_run:
        url = conversion["input"] if is_url(conversion["input"]) else None
        found = finalize(tasks.output, url, False, None, storage_options)
        if not found.complete:
            number, reason = next(iter(found.missing.items()))
            raise OSError(f"{tasks.output}: task {number}: {reason}: somebody else has changed the "
                          "output meanwhile; convert it again")
    del report["share"]
    return ConvertReport({"input": without_query(conversion["input"]), "output": tasks.output,
                          "dry_run": dry_run} | report | {"warnings": warnings})

"""`python -m dequant.ray convert IN -o OUT`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import re
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import ray

from ._errors import UnsupportedError
from ._ray_report import RayReport

#: Exit codes of the command line.
MALFORMED, UNSUPPORTED, FILES, MEMORY, INTERRUPTED = 3, 4, 5, 6, 130
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15, "e": 10**18,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50, "ei": 2**60}


def size(text: str) -> int:
    """A number of bytes, such as 5G or 512Mi."""
    found = re.fullmatch(r"([0-9]+)([kmgtpe]i?)?b?", text.lower())
    number = int(found[1]) * _UNITS[found[2] or ""] if found else 1 << 63
    if number >= 1 << 63:
        raise argparse.ArgumentTypeError(f'"{text}" is no size such as 5G or 512Mi')
    return number


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m dequant.ray", description=__doc__)
    sub = top.add_subparsers(required=True, metavar="convert")
    p = sub.add_parser("convert", help="convert a model by tasks of Ray",
                       epilog="Options without a description are those of dequant convert.")
    p.add_argument("input", metavar="IN", help="model, on storage that all nodes see")
    p.add_argument("output_place", metavar="OUT", nargs="?", help="the same as -o")
    p.add_argument("-o", "--output", metavar="OUT", help="model to write, on such storage")
    p.add_argument("--address", default="auto", help="auto, local, or the address of a cluster; "
                   "default auto")
    p.add_argument("--cpus-per-task", type=int, default=1, metavar="K", help="default 1")
    p.add_argument("--max-in-flight", type=int, metavar="M", help="tasks at once at most; default "
                   "two for each place of the cluster")
    p.add_argument("--memory", type=size, metavar="SIZE", help="memory that Ray is asked for, for "
                   "each task; default --mem and 512Mi, 0 asks for none")
    p.add_argument("--retries", type=int, default=5, metavar="N", help="of a task whose worker or "
                   "node died; default 5, -1 any number")
    p.add_argument("--node-timeout", type=float, default=600, metavar="SECONDS",
                   help="to wait while no node is large enough for a task; default 600, inf "
                   "forever")
    p.add_argument("--task-size", type=size, metavar="SIZE", help="bytes that a task writes at "
                   "most; default 5G")
    p.add_argument("--dtype", choices=["auto", "float32", "float16", "bfloat16"])
    p.add_argument("--include", action="append", default=[], metavar="GLOB")
    p.add_argument("--exclude", action="append", default=[], metavar="GLOB")
    p.add_argument("--require-float", action="store_true")
    p.add_argument("--others", choices=["keep", "same"], default="keep")
    p.add_argument("--max-shard-size", metavar="SIZE")
    p.add_argument("--shards", choices=["as-input"])
    p.add_argument("--keep-unknown", action="store_true")
    p.add_argument("--names", choices=["gguf", "hf"], default="gguf")
    p.add_argument("--assume-const", action="store_true")
    p.add_argument("--strip-qdq", action="store_true")
    p.add_argument("--clip", choices=["needed", "always", "never"], default="needed")
    p.add_argument("--external-data", action="store_true")
    p.add_argument("--no-checksum", dest="checksum", action="store_false")
    p.add_argument("--mem", type=size, metavar="SIZE", help="memory for tensor data of a task; "
                   "default 1Gi")
    p.add_argument("--verify", action="store_true", help="read the output again at the end")
    p.add_argument("-f", "--force", dest="overwrite", action="store_true")
    p.add_argument("-q", "--quiet", action="store_true")
    p.add_argument("--json", action="store_true", help="print the report as one JSON object")
    return top


class Bar:
    """The progress of the whole, on a terminal."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if not sys.stderr.isatty() or total == 0:
            return
        filled = 40 * done // total
        rate = done / max(time.monotonic() - self._begin, 1e-9)
        unit, name = (1e9, "GB") if total >= 1e10 else (1e6, "MB")
        sys.stderr.write(f"\rconverting [{'#' * filled:.<40}] {100 * done // total:3} %  "
                         f"{done / unit:.1f} of {total / unit:.1f} {name}  {rate / 1e6:.0f} MB/s"
                         "\033[K")
        sys.stderr.flush()

    def clear(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


def show(report: RayReport) -> None:
    print(f"{'node':12}  {'host':20}  {'tasks':>6}  {'bytes':>15}  {'seconds':>8}  {'MB/s':>8}")
    for node in report.nodes:
        print(f"{node.node[:12]:12}  {node.host[:20]:20}  {node.tasks:6}  {node.bytes:15}  "
              f"{node.seconds:8.1f}  {node.bytes_per_second / 1e6:8.1f}")
    for s in report.stragglers:
        print(f"straggler: task {s.number} on {s.host} ({s.node[:12]}) took {s.seconds:.1f} s, "
              f"more than three times the {s.median:.1f} s of half of the tasks")
    print(f"\n{report.tasks} tasks, {report.found} found done, {report.again} times one began "
          f"again; {report.bytes / 1e9:.3f} GB in {report.seconds:.1f} s, "
          f"{report.bytes / max(report.seconds, 1e-9) / 1e6:.1f} MB/s")
    print(f"{report.output} is complete")


def fail(error: BaseException | str, code: int) -> NoReturn:
    text = error
    if isinstance(error, OSError) and error.strerror:  # without Python's "[Errno 2]"
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    print(f"dequant: error: {text}", file=sys.stderr)
    sys.exit(code)


def main(convert: Callable[..., RayReport]) -> None:
    """`convert` is dequant.ray.convert()."""
    top = parser()
    given: dict[str, Any] = vars(top.parse_args())
    quiet, as_json = given.pop("quiet"), given.pop("json")
    source, place = given.pop("input"), given.pop("output_place")
    output = given.pop("output")
    if (place is None) == (output is None):
        top.error("one output is needed: convert IN -o OUT")
    if given["dtype"] == "auto":
        given["dtype"] = None
    bar = Bar()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # Ray prints messages of the cluster there
            report = convert(source, place or output, progress=bar, **given)
    except (UnsupportedError, ImportError) as error:  # a URL whose package is not there
        fail(error, UNSUPPORTED)
    except (ValueError, TypeError, OverflowError) as error:
        fail(error, MALFORMED)
    except MemoryError as error:
        fail(error, MEMORY)
    except (OSError, ray.exceptions.RayError) as error:
        fail(error, FILES)
    except KeyboardInterrupt:
        fail("interrupted; the same command continues", INTERRUPTED)
    finally:
        bar.clear()
    for warning in report.warnings:
        print(f"dequant: warning: {warning}", file=sys.stderr)
    if as_json:
        print(json.dumps(dataclasses.asdict(report), indent=2))
    elif not quiet:
        show(report)

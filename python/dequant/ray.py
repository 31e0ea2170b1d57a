"""dequant.ray: a conversion whose tasks a Ray cluster carries out.

    import dequant.ray
    dequant.ray.convert("DeepSeek-V3", "DeepSeek-V3-bf16", address="auto", dtype="bfloat16")

or `python -m dequant.ray convert DeepSeek-V3 -o DeepSeek-V3-bf16 --dtype bfloat16`. Ray places the
tasks, and repeats those whose worker or node died. Importing this module raises ImportError where
the package ray is missing.
"""

from __future__ import annotations

import contextlib
import numbers
import os
from collections.abc import Callable, Iterator
from typing import Any

try:
    import ray
except ImportError as error:
    raise ImportError("dequant.ray needs the package ray: pip install 'ray>=2.9'",
                      name="ray") from error

from . import finalize, plan
from ._ray_nodes import NodeTimeout, Request
from ._ray_report import NodeReport, RayReport, Straggler, report_of
from ._ray_run import Run
from ._source import is_url
from ._tensors import whole

__all__ = ["NodeReport", "RayReport", "Straggler", "convert"]

#: Bytes that Ray is asked for beside those of tensor data: the interpreter, the structure of the
#: model, and what a worker of Ray needs itself.
_BESIDE = 512 << 20
_TENSOR_DATA = 1 << 30


def convert(input: str | os.PathLike[str], output: str | os.PathLike[str], *,
            address: str | None = "auto", cpus_per_task: int = 1,
            max_in_flight: int | None = None, memory: int | None = None, retries: int = 5,
            node_timeout: float | None = 600, overwrite: bool = False, mem: int | None = None,
            verify: bool = False, progress: Callable[[int, int], object] | None = None,
            **options: Any) -> RayReport:
    """Converts a model by tasks of Ray, and completes the output.

    input, output  paths that the driver and all nodes see, or URLs
    address        "auto" or an address: a cluster that runs; "local": one on this machine, for the
                   time of the call. Not used where ray.init() was called before
    cpus_per_task  processors that Ray is asked for, and threads of a task
    max_in_flight  tasks that run or wait for a place at once; None: two for each place that the
                   cluster has at the beginning
    memory         bytes of memory that each task requests of Ray; None: `mem` and 512 MiB; 0: a
                   task requests no memory
    retries        how often Ray repeats a task whose worker or node died, or whose storage
                   failed for a moment; -1: any number
    node_timeout   seconds to wait while no node of the cluster is large enough for a task, as an
                   autoscaler may start one; None: forever. Nothing joins a cluster that
                   address="local" starts: there is no wait
    overwrite      the output may have other files
    mem            bytes of memory for tensor data of a task; None: 1 GiB
    verify         finalize() reads all of the output again and compares hashes
    progress       called as progress(bytes_done, bytes_total) at most twice a second, and at the
                   end
    The other options are those of plan().

    All nodes must have the version of dequant that the driver has: a task of another version has
    another fingerprint and raises ValueError. After an exception the same call continues: tasks
    that are done are not repeated.

    Raises as plan(), run_task() and finalize() do; ray.exceptions.RayError where Ray gives up a
    task; TimeoutError after node_timeout, and ValueError where a node that address="local" started
    is not large enough; OSError where tasks are done and the driver does not find the records of
    these tasks.
    """
    cpus = whole("cpus_per_task", cpus_per_task, 1)
    most = None if max_in_flight is None else whole("max_in_flight", max_in_flight, 1)
    asked = None if memory is None else whole("memory", memory, 0)
    retries = whole("retries", retries, -1)
    if node_timeout is not None:
        if not isinstance(node_timeout, numbers.Real):
            raise TypeError("node_timeout: a number of seconds is wanted, not "
                            f"{type(node_timeout).__name__}")
        if not node_timeout >= 0:
            raise ValueError(f"node_timeout: {node_timeout} is less than 0")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: a callable is wanted, not {type(progress).__name__}")
    tasks = plan(input, output, mem=mem, **options)
    if asked is None:
        asked = (_TENSOR_DATA if mem is None else mem) + _BESIDE
    request = Request(cpus, asked)
    with _connected(address) as alone:
        places = request.places()
        if alone and places == 0:
            raise ValueError(request.refusal())
        run = Run(len(tasks), sum(task.bytes for task in tasks), progress,
                  in_flight=most or max(1, places) * 2,
                  node_timeout=NodeTimeout(request, node_timeout),
                  remote={"num_cpus": cpus, "memory": asked or None, "max_retries": retries},
                  arguments={"overwrite": overwrite, "threads": cpus, "mem": mem})
        run.carry_out(tasks)
        own = options.get("storage_options")
        source = input if is_url(input) else None  # with its query, which is stored nowhere
        end = finalize(output, input=source, verify=verify, storage_options=own)
        if end.missing:
            run.carry_out([tasks[number] for number in end.missing])
            end = finalize(output, input=source, verify=verify, storage_options=own)
    if not end.complete:
        number, reason = next(iter(end.missing.items()))
        raise OSError(f"{len(end.missing)} of {len(tasks)} tasks ran and left nothing that this "
                      f"machine sees, such as task {number}: {reason}. {tasks.output} must be one "
                      "folder on storage that all nodes share")
    return report_of(tasks, run.done, run.stragglers, run.end - run.begin)


@contextlib.contextmanager
def _connected(address: str | None) -> Iterator[bool]:
    """Connects to a cluster for the time of a call, unless the program is connected. Gives whether
    the cluster is one of this call, which no node joins."""
    if ray.is_initialized():
        yield False
        return
    own = {"include_dashboard": False} if address == "local" else {}
    ray.init(address=address, logging_level="warning", **own)
    try:
        yield address == "local"
    finally:
        ray.shutdown()


if __name__ == "__main__":
    from dequant._ray_command import main

    main(convert)

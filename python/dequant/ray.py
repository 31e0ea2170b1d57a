"""dequant.ray: a conversion whose tasks a Ray cluster carries out.

    dequant.ray.convert("DeepSeek-V3", "DeepSeek-V3-bf16", address="auto", dtype="bfloat16")

or `python -m dequant.ray convert DeepSeek-V3 -o DeepSeek-V3-bf16 --dtype bfloat16`. Ray places the
tasks, and repeats those whose worker or node died. Importing this module raises ImportError where
the package ray is missing.
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any

try:
    import ray
except ImportError as error:
    raise ImportError("dequant.ray needs the package ray: pip install 'ray>=2.9'",
                      name="ray") from error

from . import finalize, plan
from ._ray_report import NodeReport, RayReport, Straggler, report_of
from ._ray_run import Run
from ._source import is_url

__all__ = ["NodeReport", "RayReport", "Straggler", "convert"]

#: Bytes that Ray is asked for beside those of tensor data: the interpreter, the structure of the
#: model, and what a worker of Ray needs itself.
_BESIDE = 512 << 20
_TENSOR_DATA = 1 << 30


def convert(input: str | os.PathLike[str], output: str | os.PathLike[str], *,
            address: str | None = "auto", cpus_per_task: int = 1,
            max_in_flight: int | None = None, memory: int | None = None, retries: int = 5,
            overwrite: bool = False, mem: int | None = None, verify: bool = False,
            progress: Callable[[int, int], object] | None = None, **options: Any) -> RayReport:
    """Converts a model by tasks of Ray, and completes the output.

    input, output  paths that the driver and all nodes see, or URLs
    address        "auto" or an address: a cluster that runs; "local": one on this machine, for the
                   time of the call. Not used where ray.init() was called before
    cpus_per_task  processors that Ray is asked for, and threads of a task
    max_in_flight  tasks that run or wait for a place at once; None: two for each place that the
                   cluster has at the beginning
    memory         bytes of memory that Ray is asked for; None: `mem` and 512 MiB
    retries        how often Ray repeats a task whose worker or node died, or whose storage
                   failed for a moment; -1: any number
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
    task; OSError where tasks are done and their records are not where the driver looks for them.
    """
    cpus = operator.index(cpus_per_task)
    if cpus < 1:
        raise ValueError(f"cpus_per_task: {cpus} is less than 1")
    if max_in_flight is not None and operator.index(max_in_flight) < 1:
        raise ValueError(f"max_in_flight: {max_in_flight} is less than 1")
    tasks = plan(input, output, mem=mem, **options)
    if memory is None:
        memory = (_TENSOR_DATA if mem is None else mem) + _BESIDE
    with _connected(address):
        run = Run(len(tasks), sum(task.bytes for task in tasks), progress,
                  in_flight=max_in_flight or _places(cpus, memory) * 2,
                  remote={"num_cpus": cpus, "memory": memory, "max_retries": retries},
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
def _connected(address: str | None) -> Iterator[None]:
    """Connects to a cluster for the time of a call, unless the program is connected."""
    if ray.is_initialized():
        yield
        return
    own = {"include_dashboard": False} if address == "local" else {}
    ray.init(address=address, logging_level="warning", **own)
    try:
        yield
    finally:
        ray.shutdown()


def _places(cpus: int, memory: int) -> int:
    """How many tasks the nodes of the cluster can run at once."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return max(1, sum(min(int(node.get("CPU", 0)) // cpus, int(node.get("memory", 0)) // memory)
                      for node in nodes))


if __name__ == "__main__":
    from dequant._ray_command import main

    main(convert)

"""Processors and memory: the request of a task of dequant.ray, and those of a cluster's nodes."""

from __future__ import annotations

import errno
import time
from typing import NamedTuple

import ray

from ._errors import system_error

#: Seconds between two looks at the nodes.
INTERVAL = 5.0


class Request(NamedTuple):
    """Processors, and bytes of memory, of each task; 0 bytes: any node has as many."""

    cpus: int
    memory: int

    def places(self) -> int:
        """How many tasks the nodes of the cluster can run at once."""
        return sum(min(cpus // self.cpus,
                       memory // self.memory if self.memory else cpus) for cpus, memory in nodes())

    def refusal(self) -> str:
        found = max(nodes(), default=None)
        most = "" if found is None else \
            f"; that with most processors has {_text(*found)}"
        return (f"cpus_per_task, memory: no node of the cluster has {_text(*self)} for a task"
                f"{most}")


def nodes() -> list[tuple[int, int]]:
    """Processors and bytes of memory of each node, used or not."""
    found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [(int(node.get("CPU", 0)), int(node.get("memory", 0))) for node in found]


def _text(cpus: int, memory: int) -> str:
    return f"{cpus} processor{'' if cpus == 1 else 's'} and {memory} bytes of memory"


class NodeTimeout:
    """Ends a wait for nodes: Ray itself waits forever for one that can run a task."""

    def __init__(self, request: Request, seconds: float | None) -> None:
        self._request = request
        self._seconds = seconds
        self._seen = time.monotonic()  # when a node could run a task
        self._next = self._seen

    def check(self) -> None:
        """Raises TimeoutError where no node could run a task for `seconds`."""
        now = time.monotonic()
        if self._seconds is None or now < self._next:
            return
        self._next = now + min(INTERVAL, self._seconds)
        if self._request.places() > 0:
            self._seen = now
        elif now - self._seen >= self._seconds:
            raise system_error(errno.ETIMEDOUT, f"{self._request.refusal()}, and none came within "
                               f"{self._seconds:g} s")

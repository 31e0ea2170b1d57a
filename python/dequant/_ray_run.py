"""The tasks of a conversion as tasks of Ray."""

from __future__ import annotations

import bisect
import errno
import platform
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from . import Task, run_task
from ._ray_nodes import NodeTimeout
from ._ray_report import Done, Straggler

#: Seconds between two messages about a running task, and at least between two looks at all of them.
INTERVAL = 0.5
#: A straggler runs longer than this many medians of the tasks that are done, and than a second.
SLOW = 3
#: Tasks that must be done before there are stragglers.
ENOUGH = 3

_PASSING = {errno.EIO, errno.EAGAIN, errno.ETIMEDOUT, errno.ESTALE, errno.ECONNRESET,
            errno.ECONNABORTED, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH,
            errno.EREMOTEIO, errno.ENOLCK}


class PassingError(Exception):
    """An error of storage that may pass, its argument: Ray repeats the task. Callers see the
    argument."""


def earlier_attempts() -> int:
    """How often Ray began the task of this worker before; 0 with a Ray that does not say it."""
    try:
        worker = ray._private.worker.global_worker.core_worker
        return int(worker.get_current_task_attempt_number())
    except AttributeError:
        return 0


class Running(NamedTuple):
    node: str
    host: str
    begin: float  # by the clock of the board
    bytes: int


class Board:
    """An actor that running tasks tell of themselves, for the driver to look at. Nothing depends on
    what it says but what people are shown."""

    def __init__(self) -> None:
        self._running: dict[int, Running] = {}

    def begin(self, number: int, node: str, host: str) -> None:
        self._running[number] = Running(node, host, time.monotonic(), 0)

    def advance(self, number: int, done: int) -> None:
        if number in self._running:
            self._running[number] = self._running[number]._replace(bytes=done)

    def look(self, done: list[int]) -> dict[int, tuple[Running, float]]:
        """Forgets tasks that are done. Returns the others with their seconds."""
        for number in done:
            self._running.pop(number, None)
        now = time.monotonic()
        return {n: (r, now - r.begin) for n, r in self._running.items()}


def carry_out(task: Task, board: Any, arguments: dict[str, Any]) -> Done:
    """Runs in a worker."""
    node, host = ray.get_runtime_context().get_node_id(), platform.node()
    begin, told = time.time(), time.monotonic()
    board.begin.remote(task.number, node, host)

    def progress(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > INTERVAL:
            board.advance.remote(task.number, done)
            told = time.monotonic()

    try:
        report = run_task(task, progress=progress, **arguments)
    except OSError as error:
        if error.errno in _PASSING:
            raise PassingError(error) from error
        raise
    return Done(report, earlier_attempts(), node, host, begin, time.time())


class Run:
    """Carries out tasks, at most `in_flight` at once, and keeps what is known of them."""

    def __init__(self, count: int, bytes: int, progress: Callable[[int, int], object] | None, *,
                 in_flight: int, node_timeout: NodeTimeout, remote: dict[str, Any],
                 arguments: dict[str, Any]) -> None:
        self.count = count
        self.bytes = bytes
        self.done: dict[int, Done] = {}
        self.stragglers: dict[int, Straggler] = {}
        self._seconds: list[float] = []  # of tasks that were carried out, sorted
        self.begin = self.end = self._looked = time.monotonic()
        self._untold: list[int] = []  # numbers of done tasks that the board has not been told
        self._progress = progress
        self._node_timeout = node_timeout
        self._most = in_flight
        self._arguments = arguments
        self._function = ray.remote(carry_out)
        self._remote = {"retry_exceptions": [PassingError], "scheduling_strategy": "SPREAD",
                        **remote}
        here = ray.get_runtime_context().get_node_id()
        self._board = ray.remote(Board).options(
            num_cpus=0, max_restarts=-1,
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=True)).remote()

    def carry_out(self, tasks: Iterable[Task]) -> None:
        """Raises the exception of a task; tasks that run then are cancelled."""
        waiting = list(tasks)[::-1]
        flying: dict[Any, Task] = {}
        try:
            while waiting or flying:
                while waiting and len(flying) < self._most:
                    task = waiting.pop()
                    flying[self._start(task)] = task
                left = self._looked + INTERVAL - time.monotonic()
                ray.wait(list(flying), timeout=max(0, left))
                ready, _ = ray.wait(list(flying), num_returns=len(flying), timeout=0)
                for reference in ready:
                    self._collect(reference, flying.pop(reference))
                if time.monotonic() - self._looked >= INTERVAL or not (waiting or flying):
                    self._look()
                if flying:
                    self._node_timeout.check()
        finally:
            self.end = time.monotonic()
            for reference in flying:
                ray.cancel(reference, force=True)

    def _start(self, task: Task) -> Any:
        function = self._function.options(name=f"dequant {task.number}", **self._remote)
        return function.remote(task, self._board, self._arguments)

    def _collect(self, reference: Any, task: Task) -> None:
        try:
            done: Done = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, PassingError):
                cause = cause.args[0]
            if isinstance(cause, Exception):
                raise cause from None
            raise
        self._note(task.number, done.node, done.host, done.end - done.begin)
        self.done[task.number] = done
        self._untold.append(task.number)
        if done.report.done:
            bisect.insort(self._seconds, done.end - done.begin)

    def _note(self, number: int, node: str, host: str, seconds: float) -> None:
        """Keeps a task that runs, or ran, for much longer than others did."""
        if len(self._seconds) < ENOUGH:
            return
        median = self._seconds[len(self._seconds) // 2]
        if seconds > max(1, SLOW * median):
            self.stragglers[number] = Straggler(number, node, host, seconds, median)

    def _look(self) -> None:
        self._looked = time.monotonic()
        try:
            told = ray.get(self._board.look.remote(self._untold), timeout=5)
        except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError):
            return
        self._untold = []
        # What a task tells the board may come after its end.
        running = {n: seen for n, seen in told.items() if n not in self.done}
        for number, (task, seconds) in running.items():
            self._note(number, task.node, task.host, seconds)
        if self._progress is not None:
            done = sum(d.report.bytes for d in self.done.values())
            self._progress(min(done + sum(t.bytes for t, _ in running.values()), self.bytes),
                           self.bytes)

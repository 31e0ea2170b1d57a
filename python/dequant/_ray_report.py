"""What a conversion by Ray did, and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ._tasks import Plan, TaskReport


class Done(NamedTuple):
    """A task that was carried out: where, when by the clock of that node, and after how many
    attempts that failed."""

    report: TaskReport
    attempts: int
    node: str
    host: str
    begin: float
    end: float


@dataclasses.dataclass(frozen=True)
class NodeReport:
    """What a node did.

    node              the identifier that Ray gives it
    host              the name of its machine
    tasks, bytes      that it carried out, and what these wrote
    seconds           in which at least one of these ran
    bytes_per_second  of these seconds
    """

    node: str
    host: str
    tasks: int
    bytes: int
    seconds: float
    bytes_per_second: float


@dataclasses.dataclass(frozen=True)
class Straggler:
    """A task that ran for more than three times the median of the tasks done by then, and for more
    than a second.

    number, node, host  of the task
    seconds             that it ran
    median              seconds of the tasks that were done when it was last seen
    """

    number: int
    node: str
    host: str
    seconds: float
    median: float


@dataclasses.dataclass(frozen=True)
class RayReport:
    """What dequant.ray.convert() did.

    output      the path of the output, which is complete
    tasks       of the conversion
    found       those whose records were there before
    again       how often Ray began a task again, as its worker or node died
    bytes       that were written
    seconds     of the call, without planning and completing
    nodes       by name
    stragglers  by number
    warnings    sentences
    """

    output: str
    tasks: int
    found: int
    again: int
    bytes: int
    seconds: float
    nodes: tuple[NodeReport, ...]
    stragglers: tuple[Straggler, ...]
    warnings: tuple[str, ...]


def report_of(plan: Plan, tasks: Mapping[int, Done], stragglers: Mapping[int, Straggler],
              seconds: float) -> RayReport:
    """Of tasks and stragglers by their numbers."""
    ran = [done for done in tasks.values() if done.report.done]
    nodes = []
    for host, node in sorted({(done.host, done.node) for done in ran}):
        own = [done for done in ran if done.node == node]
        written = sum(done.report.bytes for done in own)
        busy = covered((done.begin, done.end) for done in own)
        nodes.append(NodeReport(node, host, len(own), written, busy,
                                written / busy if busy > 0 else 0.0))
    warnings = [*plan.warnings, *(w for done in ran for w in done.report.warnings)]
    return RayReport(plan.output, len(plan), len(tasks) - len(ran),
                     sum(done.attempts for done in tasks.values()),
                     sum(done.report.bytes for done in ran), seconds, tuple(nodes),
                     tuple(stragglers[number] for number in sorted(stragglers)),
                     tuple(dict.fromkeys(warnings)))


def covered(intervals: Iterable[tuple[float, float]]) -> float:
    """The length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total

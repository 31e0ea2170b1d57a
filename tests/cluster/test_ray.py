"""dequant.ray on a cluster of several nodes, whose workers and nodes die."""

import os
import pathlib
import random
import signal
import threading
import time

import pytest

import dequant

ray = pytest.importorskip("ray")

import dequant.ray  # noqa: E402
from cluster_support import files_of, write_checkpoint  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

NODE = {"num_cpus": 2, "memory": 6 << 30, "object_store_memory": 80 << 20}
TASK = 400_000


@pytest.fixture(scope="module", name="cluster")
def started():
    """A head without processors, and three nodes."""
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0})
    for _ in range(3):
        cluster.add_node(**NODE)
    ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module", name="model")
def checkpoint(tmp_path_factory):
    """The input, and the files of one dequant.convert()."""
    folder = tmp_path_factory.mktemp("ray")
    write_checkpoint(folder / "in", files=8, rows=1024, columns=1024, tensors=8)
    dequant.convert(folder / "in", folder / "expected")
    return folder / "in", files_of(folder / "expected")


def running_workers():
    """Processes that carry out a task, to which Ray gives its name, and have loaded the package."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            named = path.read_bytes().startswith(b"ray::dequant ")
            if named and b"dequant/_core." in (path.parent / "maps").read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # the process ended
            pass
    return found


class Trouble(threading.Thread):
    """Kills workers that carry out a task, and a node, while a conversion runs."""

    def __init__(self, cluster, seed, kills):
        super().__init__()
        self.random = random.Random(seed)
        self.cluster, self.left = cluster, kills
        self.killed = self.removed = 0
        self.began, self.ended = threading.Event(), threading.Event()

    def progress(self, done, total):
        """Workers that only load the package are no trouble: waits for bytes."""
        if done > total / 10:
            self.began.set()

    def run(self):
        self.began.wait()
        node_at = self.random.randrange(1, self.left)
        while self.left > 0 and not self.ended.wait(self.random.uniform(0.05, 0.4)):
            workers = running_workers()
            if not workers:
                continue
            try:
                os.kill(self.random.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.killed += 1
            self.left -= 1
            if self.killed == node_at:
                self.remove_node()

    def remove_node(self):
        nodes = [n for n in self.cluster.list_all_nodes() if n is not self.cluster.head_node]
        self.cluster.remove_node(self.random.choice(nodes), allow_graceful=False)
        self.removed += 1

    def stop(self):
        self.ended.set()
        self.began.set()
        self.join()


@pytest.mark.parametrize("seed", range(10))
def test_killed_workers_and_removed_nodes_leave_the_bytes_of_one_convert(cluster, model, seed,
                                                                         tmp_path):
    source, expected = model
    trouble = Trouble(cluster, seed, kills=6)
    trouble.start()
    try:
        report = dequant.ray.convert(source, tmp_path / "out", task_size=TASK, max_in_flight=12,
                                     retries=-1, progress=trouble.progress)
    finally:
        trouble.stop()
        for _ in range(trouble.removed):
            cluster.add_node(**NODE)
        cluster.wait_for_nodes()
    print(f"\nseed {seed}: {report.tasks} tasks in {report.seconds:.1f} s, {trouble.killed} "
          f"workers killed, {trouble.removed} nodes removed, {report.again} tasks began again, "
          f"{len(report.nodes)} nodes")
    assert files_of(tmp_path / "out") == expected
    assert trouble.killed >= 3 and trouble.removed == 1 and report.again >= 3
    assert report.tasks > 100 and len(report.nodes) >= 2
    assert sum(node.bytes for node in report.nodes) == report.bytes
    assert sum(node.tasks for node in report.nodes) + report.found == report.tasks


def test_input_and_output_may_be_urls(cluster, model, tmp_path):
    source, _ = model
    report = dequant.ray.convert(f"file://{source}", f"file://{tmp_path}/out",
                                 max_shard_size=4_000_000, storage_options={"auto_mkdir": True})
    assert report.tasks > 2 and report.found == 0
    dequant.convert(source, tmp_path / "local", max_shard_size=4_000_000)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "local")


def test_at_most_so_many_are_in_flight_and_progress_reaches_all(cluster, model, tmp_path):
    source, expected = model
    most, seen, ended = [], [], threading.Event()

    def watch():
        while not ended.wait(0.02):
            most.append(len(running_workers()))
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        report = dequant.ray.convert(source, tmp_path / "out", task_size=TASK, max_in_flight=2,
                                     progress=lambda done, total: seen.append((done, total)))
    finally:
        ended.set()
        thread.join()
    assert max(most) in (1, 2)
    assert seen == sorted(seen) and seen[-1][0] == seen[-1][1] == report.bytes
    assert files_of(tmp_path / "out") == expected


def test_a_second_call_continues_what_a_first_one_left(cluster, model, tmp_path):
    source, expected = model

    def stop(done, total):
        if done > total / 4:
            raise InterruptedError("enough")
    with pytest.raises(InterruptedError, match="enough"):
        dequant.ray.convert(source, tmp_path / "out", task_size=TASK, progress=stop)
    time.sleep(1)
    assert not (tmp_path / "out" / "config.json").exists()
    report = dequant.ray.convert(source, tmp_path / "out", task_size=TASK)
    assert 0 < report.found < report.tasks
    assert files_of(tmp_path / "out") == expected


def test_a_worker_that_stands_still_is_a_straggler(cluster, model, tmp_path):
    source, expected = model
    stopped = []

    def stop_one(done, total):
        """After some tasks, one worker stands still for three seconds."""
        if done > total / 4 and not stopped:
            stopped.extend(running_workers()[:1])
            for worker in stopped:
                os.kill(worker, signal.SIGSTOP)
                threading.Timer(3, os.kill, (worker, signal.SIGCONT)).start()
    report = dequant.ray.convert(source, tmp_path / "out", task_size=TASK, progress=stop_one)
    assert stopped
    worst = max(report.stragglers, key=lambda s: s.seconds)
    assert worst.seconds > 2 and worst.seconds > 3 * worst.median
    assert worst.node in [node.node for node in report.nodes]
    assert files_of(tmp_path / "out") == expected


def test_an_output_that_the_nodes_do_not_share_is_said(cluster, model, tmp_path, monkeypatch):
    source, _ = model
    real = dequant.ray.finalize
    monkeypatch.setattr(dequant.ray, "finalize", lambda output, **o: forget(output, real, **o))

    def forget(output, real, **options):
        """As where the driver looks elsewhere."""
        for record in (tmp_path / "out" / ".dequant-tasks").glob("records-*/*"):
            record.unlink()
        return real(output, **options)
    with pytest.raises(OSError, match="no record.* must be one folder on storage that all nodes"):
        dequant.ray.convert(source, tmp_path / "out", task_size=20_000_000)


def test_a_task_that_fails_ends_the_conversion_with_its_exception(cluster, tmp_path):
    write_checkpoint(tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_text("")
    with pytest.raises(OSError, match="out exists and is not empty$"):
        dequant.ray.convert(tmp_path / "in", tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["other"]


def test_arguments(cluster, tmp_path):
    for wrong in ({"cpus_per_task": 0}, {"max_in_flight": 0}, {"task_size": 1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: "):
            dequant.ray.convert(tmp_path, tmp_path / "out", **wrong)
    with pytest.raises(TypeError, match="unknown"):
        dequant.ray.convert(tmp_path, tmp_path / "out", unknown=1)
    with pytest.raises(FileNotFoundError):
        dequant.ray.convert(tmp_path / "nothing", tmp_path / "out")


def test_another_version_on_the_nodes_is_refused_with_the_sentence_of_the_fingerprint(
        cluster, model, tmp_path, monkeypatch):
    source, _ = model
    real = dequant.ray.plan

    def planned(*arguments, **options):
        """As a driver of another version plans."""
        plan = real(*arguments, **options)
        for task in plan:
            object.__setattr__(task, "fingerprint", "0" * 32)
        return plan
    monkeypatch.setattr(dequant.ray, "plan", planned)
    with pytest.raises(ValueError, match="the fingerprint .* version of dequant changed since"):
        dequant.ray.convert(source, tmp_path / "out", task_size=TASK)
    assert not list((tmp_path / "out").glob("*.json"))

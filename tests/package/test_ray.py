"""dequant.ray over a Ray of one process; tests/cluster has clusters."""

import errno
import json
import runpy
import sys
import time

import pytest

import dequant
from ray_support import fixture_cluster  # noqa: F401
from remote_support import contents, make_checkpoint

MEMORY = 3 << 29  # of a task, unless it is given


@pytest.fixture(scope="module", name="model")
def fixture_model(tmp_path_factory):
    return make_checkpoint(tmp_path_factory.mktemp("ray") / "fp8")


@pytest.fixture(name="convert")
def fixture_convert(cluster, model, tmp_path):
    """dequant.ray.convert() of the model, in tasks."""
    import dequant.ray

    def convert(**options):
        return dequant.ray.convert(model, tmp_path / "out", task_size=100_000, **options)
    return convert


@pytest.fixture(name="command")
def fixture_command(cluster, model, tmp_path, capsys, monkeypatch):
    """`python -m dequant.ray convert`: its exit code, stdout and stderr."""
    def command(*arguments, source=model):
        monkeypatch.setattr(sys, "argv", ["ray", "convert", str(source), "-o",
                                          str(tmp_path / "out"), *arguments])
        code = 0
        try:
            runpy.run_module("dequant.ray", run_name="__main__")
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()
    return command


def test_the_bytes_are_those_of_one_conversion(convert, model, cluster, tmp_path):
    dequant.convert(model, tmp_path / "one")
    told = []
    report = convert(progress=lambda *bytes: told.append(bytes), address="local")
    assert contents(tmp_path / "out") == contents(tmp_path / "one")
    assert report.tasks > 10 and told[-1] == (report.bytes, report.bytes)
    assert cluster.init is None and len(cluster.options) == report.tasks
    assert {(o["num_cpus"], o["memory"], o["max_retries"]) for o in cluster.options} == {
        (1, MEMORY, 5)}


def test_progress_was_called_for_every_task(convert, monkeypatch):
    """Tasks end at once, and the clock stands still but for a hundredth of a second at each look
    at it."""
    from dequant import _ray_run
    now = [0.0]

    def clock():
        now[0] += 0.01
        return now[0]
    monkeypatch.setattr(_ray_run, "time",
                        type("time", (), {"monotonic": clock, "time": time.time}))
    told = []
    report = convert(progress=lambda done, total: told.append((now[0], done)))
    assert told[-1][1] == report.bytes and 1 < len(told) < report.tasks
    assert all(b - a >= 0.5 for (a, _), (b, _) in zip(told[:-2], told[1:-1]))


def fails(monkeypatch, number, times):
    """run_task() raises an error of the system at the first of its calls."""
    from dequant import _ray_run, run_task
    from dequant._errors import system_error
    left = [times]

    def run(task, **arguments):
        if left[0] > 0:
            left[0] -= 1
            raise system_error(number, "f0: of the system")
        return run_task(task, **arguments)
    monkeypatch.setattr(_ray_run, "run_task", run)
    return left


@pytest.mark.parametrize(("number", "kind"), [
    (errno.ETIMEDOUT, TimeoutError), (errno.ECONNRESET, ConnectionResetError),
    (errno.EIO, OSError)])
def test_an_error_that_stayed_was_of_a_private_class_without_errno(convert, monkeypatch, number,
                                                                   kind):
    left = fails(monkeypatch, number, 100)
    with pytest.raises(kind, match="^f0: of the system$") as caught:
        convert(retries=2)
    assert caught.value.errno == number and left == [97]
    assert type(caught.value).__name__ == kind.__name__


def test_an_error_that_passes_is_repeated(convert, monkeypatch):
    left = fails(monkeypatch, errno.ESTALE, 3)
    assert convert(retries=3).bytes > 0 and left == [0]


def test_an_error_that_does_not_pass_is_not_repeated(convert, monkeypatch):
    left = fails(monkeypatch, errno.ENOSPC, 3)
    with pytest.raises(OSError, match="of the system") as caught:
        convert()
    assert caught.value.errno == errno.ENOSPC and left == [2]


@pytest.mark.parametrize("wanted", [{"cpus_per_task": 4}, {"memory": 1 << 45},
                                    {"mem": 8 << 30}])
def test_a_task_that_no_node_can_run_waited_forever(convert, cluster, wanted):
    cpus = wanted.get("cpus_per_task", 1)
    memory = {"memory": 1 << 45, "mem": 17 << 29}.get(next(iter(wanted)), MEMORY)
    text = (f"cpus_per_task, memory: no node of the cluster has {cpus} processors? and {memory} "
            "bytes of memory for a task; that with most processors has 2 processors and "
            f"{8 << 30} bytes of memory")
    with pytest.raises(ValueError, match=f"^{text}$"):
        convert(address="local", **wanted)
    assert not cluster.options and cluster.init is None
    with pytest.raises(TimeoutError, match=f"^{text}, and none came within 0.1 s$") as caught:
        convert(node_timeout=0.1, **wanted)
    assert cluster.options and caught.value.errno == errno.ETIMEDOUT


def test_nodes_that_join_are_waited_for(convert, cluster, monkeypatch):
    from dequant import _ray_nodes
    monkeypatch.setattr(_ray_nodes, "INTERVAL", 0.01)
    cluster.nodes, found = [{"memory": 1.0}], cluster.nodes
    looks, listed = [], cluster.module.nodes

    def nodes():
        looks.append(1)
        if len(looks) == 3:
            cluster.nodes = found
        return listed()
    cluster.module.nodes = nodes
    assert convert(node_timeout=60).bytes > 0
    assert len(looks) >= 3


def test_memory_of_zero_was_a_division_by_zero(convert, cluster):
    cluster.nodes = [{"CPU": 2.0}]
    assert convert(memory=0, address="local").bytes > 0
    assert {o["memory"] for o in cluster.options} == {None}


@pytest.mark.parametrize(("name", "value", "error"), [
    ("memory", -1, ValueError), ("memory", "2G", TypeError), ("retries", -2, ValueError),
    ("retries", 1.5, TypeError), ("cpus_per_task", 0, ValueError),
    ("cpus_per_task", "1", TypeError), ("max_in_flight", 0, ValueError),
    ("node_timeout", -1, ValueError), ("node_timeout", float("nan"), ValueError),
    ("node_timeout", "1", TypeError)])
def test_wrong_numbers_were_refused_without_their_names(convert, cluster, name, value, error):
    with pytest.raises(error, match=f"^{name}: "):
        convert(**{name: value})
    assert not cluster.options


def test_progress_that_is_not_callable_was_found_after_tasks_had_begun(convert, cluster):
    with pytest.raises(TypeError, match="^progress: a callable is wanted, not int$"):
        convert(progress=3)
    assert not cluster.options


def test_messages_of_ray_were_between_the_json_of_the_report(command, cluster):
    cluster.said = "(autoscaler +2s) Tip: use `ray status`\n"
    code, out, err = command("--json", "--task-size", "100K")
    assert code == 0 and json.loads(out)["tasks"] == len(cluster.options) > 10
    assert err.count("(autoscaler +2s)") == len(cluster.options)


def test_the_command_printed_a_traceback_for_a_url_without_fsspec(command, monkeypatch):
    for name in ("fsspec", "fsspec.core"):  # other tests have imported it
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = command(source="s3://a/b")
    assert (code, out) == (4, "")
    assert err.startswith("dequant: error: s3://a/b: URLs need the package fsspec")


def test_the_command_printed_the_numbers_of_errors(command, tmp_path):
    nothing = tmp_path / "nothing"
    assert command(source=nothing) == (
        5, "", f"dequant: error: {nothing}: No such file or directory\n")


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (["--memory", "1Ei"], 3, "has 1 processor and 1152921504606846976 bytes"),
    (["--retries", "-2"], 3, "retries: -2 is less than -1"),
    (["--mem", "8E"], 3, "no node of the cluster"),
    (["--cpus-per-task", "3", "--node-timeout", "inf"], 3, "no node of the cluster has 3"),
    (["--memory", "9E"], 3, "has 1 processor and 9000000000000000000 bytes"),
    (["--memory", "8Ei"], 2, "is no size such as 5G or 512Mi")])
def test_sizes_of_the_command_and_what_it_refuses(command, arguments, code, text):
    found, out, err = command("--address", "local", *arguments)
    assert (found, out) == (code, "") and text in err

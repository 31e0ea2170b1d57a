"""--clean-temp removes the temporary files of dead runs, and nothing else."""

import itertools
import json
import os
import signal
import time

import pytest

from hostile_support import CLI, assert_error, listing, run
from interrupted import COMPLETE, NEEDS, NOTHING, ORPHAN, TEMPORARY, Conversion, folder, shim

pytestmark = NEEDS


def clean(folder, *options, output="out.onnx"):
    return run("convert", "--clean-temp", "-o", output, *options, cwd=folder)


def leftover(shim, folder, **options):
    """The name of what a killed run leaves."""
    conversion = Conversion(folder, shim, "tmpfile", **options)
    for path in folder.glob("out.onnx*"):
        path.unlink()
    conversion.run(FAULT_CALL="pwrite", FAULT_AT=2, FAULT_KILL=int(signal.SIGKILL))
    left = [name for name in listing(folder) if name.startswith(".dq-tmp-")]
    assert len(left) == 2  # of the model and its data
    return left


@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
@pytest.mark.parametrize("without", ["", "tmpfile", "tmpfile renameat2"],
                         ids=lambda w: f"without {w}")
def test_what_killed_runs_left_stayed(shim, folder, without, force):
    conversion = Conversion(folder, shim, without, force)
    seen = set()
    for left in conversion.at_each_call(signal.SIGKILL):
        seen |= left
        outcome = clean(folder)
        assert outcome.code == 0 and outcome.err == "", outcome
        assert outcome.out.count("removed: the run that wrote it is dead") == \
            outcome.out.count("\n")
        after = conversion.left()
        assert after == left - {TEMPORARY} or (left == {TEMPORARY} and after == {NOTHING}), \
            (left, after)
        assert (TEMPORARY in left) == (outcome.out != "")
    assert seen == {NOTHING, COMPLETE, ORPHAN} | ({TEMPORARY} if without or force else set())


@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
@pytest.mark.parametrize("without", ["", "tmpfile", "tmpfile flock"], ids=lambda w: f"without {w}")
def test_files_of_a_run_that_is_alive_stay_whatever_it_is_about(shim, folder, without, force):
    """Stopped before each call of the system in turn, it goes on after a cleaning as if nothing had
    been."""
    conversion = Conversion(folder, shim, without, force)
    temporary = 0
    for k in itertools.count(1):
        process = conversion.start(FAULT_CALL="any", FAULT_AT=k, FAULT_KILL=int(signal.SIGSTOP))
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not conversion.hit.exists():
            assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
            process.returncode = 0
            process.communicate()
            break
        assert os.WIFSTOPPED(status)
        temporary += any(name.startswith(".dq-tmp-") for name in listing(folder))
        assert clean(folder).code == 0
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, b"") and conversion.left() == {COMPLETE}, k
    assert (temporary > 0) == (force or "tmpfile" in without) and k > 20


def test_it_is_said_why_files_stay(shim, folder):
    conversion = Conversion(folder, shim, "tmpfile")
    process = conversion.start(FAULT_CALL="pwrite", FAULT_AT=1, FAULT_KILL=int(signal.SIGSTOP))
    os.waitpid(process.pid, os.WUNTRACED)
    outcome = clean(folder)
    process.kill()
    process.communicate()
    assert outcome.code == 0 and outcome.err.count("stays: a run is writing it") == 2, outcome
    assert clean(folder).out.count("removed") == 2 and listing(folder) == ["in.onnx", "w"]
    left = [name for name in leftover(shim, folder)]
    name = left[0][:8] + ("1" if left[0][8] == "0" else "0") + left[0][9:]
    os.rename(folder / left[0], folder / name)
    outcome = clean(folder)
    assert f"{name} stays: it is less than a day old and not of this start" in outcome.err, outcome
    os.utime(folder / name, (time.time() - 90000,) * 2)
    assert name in clean(folder).out and listing(folder) == ["in.onnx", "w"]


def test_without_locks_nobody_knows_and_all_stays(shim, folder):
    Conversion(folder, shim, "tmpfile flock").run(FAULT_CALL="pwrite", FAULT_AT=2,
                                                  FAULT_KILL=int(signal.SIGKILL))
    before = listing(folder)
    outcome = clean(folder)
    assert outcome.code == 0 and outcome.err.count("nothing tells whether the run that made it is "
                                                   "alive") == 2
    assert outcome.out == "" and listing(folder) == before and len(before) == 4


def test_what_only_looks_alike_stays(shim, folder):
    name, other = leftover(shim, folder)
    (folder / "deeper").mkdir()
    (folder / "deeper" / name).write_bytes(b"")
    os.rename(folder / name, folder / (name + ".npy"))
    (folder / name).symlink_to("in.onnx")
    # Another name, whichever digits this one has.
    (folder / (name[:-1] + ("1" if name[-1] == "0" else "0"))).mkdir()
    for like in (".dq-tmp-", ".dq-tmp-0", ".dq-tmp-" + "0" * 33, name.upper(), "out.onnx.data",
                 ".dq-tmp-g" + name[9:]):
        (folder / like).write_bytes(b"mine")
    before = listing(folder)
    outcome = clean(folder)
    assert outcome.code == 0, outcome
    assert listing(folder) == sorted(set(before) - {other}) and listing(folder / "deeper") == [name]


def test_it_cleans_before_a_conversion_and_says_so(shim, folder):
    left = leftover(shim, folder)
    outcome = run("convert", "in.onnx", "-o", "out.onnx", "--clean-temp", "--json",
                  "--dry-run", cwd=folder)
    expected = [{"file": name, "bytes": os.stat(folder / name).st_size} for name in left]
    assert json.loads(outcome.out)["cleaned"] == expected and set(left) < set(listing(folder))
    outcome = run("convert", "in.onnx", "-o", "out.onnx", cwd=folder)
    assert outcome.code == 0 and "removed" not in outcome.out and set(left) < set(listing(folder))
    outcome = run("convert", "in.onnx", "-o", "out.onnx", "--clean-temp", "--json",
                  "-f", cwd=folder)
    assert json.loads(outcome.out)["cleaned"] == expected
    assert listing(folder) == ["in.onnx", "out.onnx", "out.onnx.data", "out.onnx.data.1", "w"]


def test_a_folder_may_be_cleaned_without_a_model(shim, folder):
    left = leftover(shim, folder)
    outcome = clean(folder.parent, "--dry-run", "--json", output="f")
    assert [row["file"] for row in json.loads(outcome.out)["cleaned"]] == left and outcome.code == 0
    assert set(left) < set(listing(folder))
    outcome = clean(folder.parent, output="f/")
    assert outcome.code == 0 and outcome.out.count("removed") == 2 and listing(folder) == \
        ["in.onnx", "w"]
    assert_error(clean(folder, output="missing/out"), 5, "folder missing")
    assert_error(run("convert", "-o", "out", cwd=folder), 2, "MODEL is required")

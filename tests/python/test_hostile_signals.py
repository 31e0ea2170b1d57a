"""A signal at any moment: the output is there, whole, or nothing is, and the command dies by the
signal."""

import itertools
import signal

import pytest

import interrupted
from hostile_support import CLI, MIB, listing, run
from interrupted import COMPLETE, NEEDS, NOTHING, ORPHAN, TEMPORARY, Conversion, folder, shim

pytestmark = NEEDS


@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
@pytest.mark.parametrize("number, without",
                         [*itertools.product(interrupted.HANDLED, interrupted.SYSTEMS[:2]),
                          *((signal.SIGTERM, without) for without in interrupted.SYSTEMS[2:])])
def test_an_interrupted_conversion_left_a_data_file_or_a_temporary_one(shim, folder, number,
                                                                       without, force):
    ends = list(Conversion(folder, shim, without, force).at_each_call(number))
    assert all(left in ({NOTHING}, {COMPLETE}) for left in ends), ends
    assert ends[0] == {NOTHING} and ends[-1] == {COMPLETE}


@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
@pytest.mark.parametrize("without", interrupted.SYSTEMS, ids=lambda w: f"without {w}")
def test_a_killed_conversion_tears_nothing(shim, folder, without, force):
    """SIGKILL cannot be handled: what may stay is told in docs/cli.md, and counted."""
    ends = list(Conversion(folder, shim, without, force).at_each_call(signal.SIGKILL))
    assert all(left <= {NOTHING, COMPLETE, ORPHAN, TEMPORARY} for left in ends), ends
    assert ends[0] == {NOTHING} and ends[-1] == {COMPLETE}
    # Between the names of the two files; one call more where a name is moved by a link and an
    # unlink.
    assert sum(ORPHAN in left for left in ends) == (2 if "renameat2" in without else 1), ends
    if "tmpfile" not in without:  # a file that replaces another has a temporary name at the end
        assert sum(TEMPORARY in left for left in ends) == (2 if force else 0), ends


@pytest.mark.parametrize("number", [*interrupted.HANDLED[:3], signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.parametrize("without", interrupted.SYSTEMS[:2], ids=lambda w: f"without {w}")
def test_threads_that_are_interrupted_at_any_moment_leave_the_same(shim, folder, number, without):
    conversion = Conversion(folder, shim, without, size=MIB, threads=4)
    allowed = {NOTHING, COMPLETE} | ({ORPHAN, TEMPORARY} if number == signal.SIGKILL else set())
    for seed in range(40):
        _, left = conversion.at_random(number, seed)
        assert left <= allowed, (seed, left)


@pytest.mark.parametrize("number", interrupted.HANDLED[:3], ids=lambda n: n.name)
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(shim, folder, number):
    """As under nohup."""
    conversion = Conversion(folder, shim)
    ignoring = ["bash", "-c", f"trap '' {int(number)}; exec \"$0\" \"$@\""]
    conversion.command = [*ignoring, *conversion.command]
    code, err = conversion.run(FAULT_CALL="any", FAULT_AT=10, FAULT_KILL=int(number))
    assert conversion.hit.exists() and (code, err) == (0, b"") and conversion.left() == {COMPLETE}


COMMANDS = {
    "extract": ["extract", "in.onnx", "y", "-o", "out"],
    "inspect": ["inspect", "in.onnx", "--html", "out"],
    "vectors": ["vectors", "microsoft", "-n0", "-o", "out"],
    "op": ["op", "onnx", "--x", "x.npy", "--scale", "s.npy", "-o", "out"],
    "convert": ["convert", "in.onnx", "-o", "out"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_other_commands_left_temporary_files_too(shim, folder, command):
    conversion = Conversion(folder, shim, without="tmpfile")
    assert run("extract", folder / "in.onnx", "x", "--raw", "-o", folder / "x.npy").code == 0
    assert run("extract", folder / "in.onnx", "s", "-o", folder / "s.npy").code == 0
    conversion.given |= {"x.npy", "s.npy"}
    conversion.command = [CLI, *COMMANDS[command], "-f"]
    ends = set()
    for k in range(1, 1000):
        code, err = conversion.run(FAULT_CALL="any", FAULT_AT=k, FAULT_KILL=int(signal.SIGTERM))
        if not conversion.hit.exists():
            break
        assert code == -signal.SIGTERM and err == b"", (k, code, err)
        left = {name for name in listing(folder)} - conversion.given
        assert left in (set(), {"out"}, {"out", "out.data"}), (k, left)
        ends.add("out" in left)
    assert code == 0 and ends == {False, True}

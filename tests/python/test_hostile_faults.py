"""The system fails: each call in turn, once or from then on. Then there is an error and no output,
or the output is there as if nothing had happened."""

import errno
import itertools
import os
import subprocess

import onnx
import pytest

import interrupted
from hostile_support import (CLI, FLOAT, INT8, LIMITED, MIB, assert_error, external, initializer,
                             listing, model, node, quantized, run, tensor)

pytestmark = [
    pytest.mark.skipif(interrupted.COMPILER is None,
                       reason="NO C COMPILER for the calls that fail"),
    pytest.mark.skipif(not LIMITED, reason="SANITIZED: the sanitizer's own calls must not fail"),
]

OLD = b"old"
SIZE = MIB  # of x, so that reading and writing take several calls


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return interrupted.build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def folder(tmp_path):
    """A model with its data beside it, and what it becomes."""
    inside = tmp_path / "f"
    inside.mkdir()
    (inside / "w").write_bytes(bytes(range(256)) * (SIZE // 256))
    data = model(node("DequantizeLinear", ["x", "s"], ["y"]),
                 initializer(external("x", [SIZE], INT8, location="w")),
                 initializer(tensor("s", [], FLOAT, raw=b"\0\0\x80\x3f")))
    (inside / "in.onnx").write_bytes(data)
    return inside


class Faults:
    """Conversions of the folder's model under faults, checked afterwards."""

    def __init__(self, shim, folder, force, without=""):
        self.folder, self.force = folder, force
        self.target = folder / "out.onnx"
        self.data = folder / "out.onnx.data"
        self.hit = folder.parent / "hit"
        self.env = dict(os.environ, LD_PRELOAD=str(shim), FAULT_HIT=str(self.hit),
                        FAULT_WITHOUT=without)
        self.new = self.once()[1]
        assert self.new is not None

    def once(self, **fault):
        """(how it ended, the output's bytes or None); True where the fault happened"""
        for path in (self.target, self.data, self.hit, *self.folder.glob(".dq-tmp-*")):
            path.unlink(missing_ok=True)
        if self.force:
            self.target.write_bytes(OLD)
        env = {**self.env, **{k: str(v) for k, v in fault.items() if v is not None}}
        command = [CLI, "convert", "in.onnx", "-o", "out.onnx", "-q", "-T1", "--mem", "8Mi"]
        done = subprocess.run(command + (["--force"] if self.force else []),
                              cwd=self.folder, env=env, stderr=subprocess.PIPE, timeout=20,
                              check=False)
        return done, self.target.read_bytes() if self.target.exists() else None

    def assert_whole_or_nothing(self, done, output, codes=(5,), size=SIZE):
        left = set(listing(self.folder)) - {"in.onnx", "w"}
        if output == self.new:
            in_place = b"is in place" in done.stderr
            assert done.returncode == (5 if in_place else 0), done
            assert left == {"out.onnx", "out.onnx.data"}, (done, left)
            proto = onnx.load(self.target)
            assert len(proto.graph.initializer[0].raw_data) == 4 * size
        else:
            assert done.returncode in codes and output == (OLD if self.force else None), \
                (done, output)
            assert done.stderr.startswith(b"dequant: error: ") and done.stderr.count(b"\n") == 1, \
                done
            assert left == ({"out.onnx"} if self.force else set()), (done, left)

    def every(self, call, error, codes=(5,), forever=False, size=SIZE):
        """Lets each call fail in turn; the exit codes in order."""
        ends = []
        for k in itertools.count(1):
            done, output = self.once(FAULT_CALL=call, FAULT_AT=k, FAULT_ERRNO=error,
                                     FAULT_FOREVER=1 if forever else None)
            if not self.hit.exists():
                assert done.returncode == 0, done
                return ends
            ends.append(done.returncode)
            self.assert_whole_or_nothing(done, output, codes, size)


CALLS = {  # the errors that matter, and whether the command must notice
    "open": [errno.EMFILE, errno.EACCES], "openat": [errno.ENOSPC, errno.EROFS],
    "openat2": [errno.EIO], "pread": [errno.EIO],
    "pwrite": [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG],
    "fsync": [errno.EIO, errno.ENOSPC], "fallocate": [errno.ENOSPC],
    "linkat": [errno.EXDEV, errno.EACCES], "renameat": [errno.EXDEV, errno.EROFS],
    "renameat2": [errno.EACCES], "fstat": [errno.EIO], "close": [errno.EIO],
    "flock": [errno.ENOLCK, errno.EWOULDBLOCK], "fchmod": [errno.EPERM],
}
#: When what was written is flushed already, where a file system has no locks, and where it has no
#: permissions.
HARMLESS = {"close", "flock", "fchmod"}


@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
@pytest.mark.parametrize("without", ["", "tmpfile"], ids=["unnamed", "named"])
@pytest.mark.parametrize("call", CALLS)
def test_any_call_may_fail(shim, folder, call, without, force):
    faults = Faults(shim, folder, force, without)
    for error in CALLS[call]:
        ends = faults.every(call, error)
        assert call in HARMLESS or 0 not in ends, ends
    # which of them it is, depends on the rest
    assert ends or call in ("linkat", "renameat", "renameat2", "fchmod")


@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
@pytest.mark.parametrize("call, without", [("linkat", ""), ("renameat2", "tmpfile"),
                                           ("linkat", "tmpfile renameat2")])
def test_the_name_of_the_data_file_was_refused_when_it_was_taken_meanwhile(shim, folder, call,
                                                                           without, force):
    faults = Faults(shim, folder, force, without)
    first = 2 if force and not without else 1  # after that of the model's temporary name
    done, output = faults.once(FAULT_CALL=call, FAULT_AT=first, FAULT_ERRNO=errno.EEXIST)
    assert (done.returncode, done.stderr) == (0, b"") and faults.hit.exists()
    assert set(listing(folder)) == {"in.onnx", "w", "out.onnx", "out.onnx.data.1"}
    proto = onnx.load(faults.target)
    assert len(proto.graph.initializer[0].raw_data) == 4 * SIZE and b"out.onnx.data.1" in output


def test_a_system_that_says_of_every_name_that_it_is_taken_gives_an_end(shim, folder):
    done, output = Faults(shim, folder, force=False).once(
        FAULT_CALL="linkat", FAULT_AT=1, FAULT_ERRNO=errno.EEXIST, FAULT_FOREVER=1)
    assert done.returncode == 5 and output is None and b"--force" not in done.stderr, done
    assert set(listing(folder)) == {"in.onnx", "w"}


def test_a_temporary_file_that_cannot_be_removed_does_no_harm(shim, folder):
    faults = Faults(shim, folder, force=False, without="tmpfile")
    done, output = faults.once(FAULT_CALL="unlinkat", FAULT_AT=1, FAULT_ERRNO=errno.EACCES,
                               FAULT_FOREVER=1)
    assert faults.hit.exists() and (done.returncode, output) == (0, faults.new)
    left = set(listing(folder)) - {"in.onnx", "w", "out.onnx", "out.onnx.data"}
    assert len(left) == 1 and left.pop().startswith(".dq-tmp-")  # with which the folder was checked


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_disk_that_stays_broken_is_the_same_error(shim, folder, call):
    faults = Faults(shim, folder, force=True)
    assert set(faults.every(call, errno.EIO, forever=True)) == {5}


@pytest.mark.parametrize("call, error", [("pread", 0), ("pwrite", 0), ("pread", errno.EINTR),
                                         ("pwrite", errno.EINTR), ("fallocate", errno.EOPNOTSUPP)])
def test_what_is_done_in_parts_is_done_in_the_end(shim, folder, call, error):
    faults = Faults(shim, folder, force=False)
    ends = faults.every(call, error)
    assert ends and set(ends) == {0}
    if error == 0:  # always only half of what was asked for
        done, output = faults.once(FAULT_CALL=call, FAULT_AT=1, FAULT_ERRNO=0, FAULT_FOREVER=1)
        faults.assert_whole_or_nothing(done, output)
        assert done.returncode == 0


def test_flushing_early_is_optional(shim, folder):
    large = 9 * MIB  # whose output takes more than one step of it
    (folder / "w").write_bytes(bytes(large))
    (folder / "in.onnx").write_bytes(
        model(node("DequantizeLinear", ["x", "s"], ["y"]),
              initializer(external("x", [large], INT8, location="w")),
              initializer(tensor("s", [], FLOAT, raw=b"\0\0\x80\x3f"))))
    assert Faults(shim, folder, force=False).every("sync_file_range", errno.EIO, size=large) == [0]


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
def test_any_allocation_may_fail(shim, folder, forever):
    faults = Faults(shim, folder, force=True)
    ends = faults.every("malloc", errno.ENOMEM, codes=(6,), forever=forever)
    assert len(ends) > 50 and ends.count(6) > 30


COMMANDS = {
    "convert": ["in.onnx", "-q", "-o", "out.onnx", "--force"],
    "inspect": ["in.onnx", "--json"],
    "extract": ["in.onnx", "y", "-o", "y.npy", "--force"],
    "check": ["cases.json"],
    "--version": [],
    "--help": [],
    "--no-such-option": [],
}


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize("command", COMMANDS)
def test_any_allocation_may_fail_from_the_start_of_the_process(shim, folder, command, forever):
    """Also before main. The first 39, which are of loading; then each nineteenth of a conversion,
    and each sixty-first of the other commands, most of which a conversion has too."""
    (folder / "in.onnx").write_bytes(quantized())  # whose output is one file
    (folder / "cases.json").write_text('{"format": "dequant-cases", "version": 1, "cases": []}')
    hit = folder.parent / "hit"
    env = dict(os.environ, LD_PRELOAD=str(shim), FAULT_HIT=str(hit), FAULT_CALL="malloc",
               FAULT_ERRNO=str(errno.ENOMEM), FAULT_FROM_START="1",
               **({"FAULT_FOREVER": "1"} if forever else {}))
    line = [CLI, command, *COMMANDS[command],
            *(["-T1"] if COMMANDS[command] and command != "check" else [])]
    wanted = subprocess.run(line, cwd=folder, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    before = {name: (folder / name).read_bytes() for name in listing(folder)}
    sentences = {b"dequant: error: out of memory\n", b"dequant: error: in.onnx: out of memory\n",
                 b"dequant: error: cases.json: out of memory\n"}
    codes = []
    step = 19 if command == "convert" else 61
    for k in itertools.chain(range(1, 40), itertools.count(40, step)):
        hit.unlink(missing_ok=True)
        done = subprocess.run(line, cwd=folder, env={**env, "FAULT_AT": str(k)},
                              check=False, timeout=20, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if not hit.exists():
            break
        codes.append(done.returncode)
        if done.returncode == 6:
            assert done.stderr in sentences, (k, done)
        else:  # what did without
            assert (done.returncode, done.stdout, done.stderr) == (wanted.returncode, wanted.stdout,
                                                                   wanted.stderr), (k, done)
        assert {name: (folder / name).read_bytes() for name in listing(folder)} == before, (k, done)
    assert codes.count(6) > 80
    # The last allocations of a process may be such that it does without, as those for what it
    # prints.
    assert not forever or set(codes[:-2]) == {6}


@pytest.mark.parametrize("without", ["openat2", "tmpfile", "renameat2", "flock", "tmpfile flock",
                                     "tmpfile renameat2", "openat2 tmpfile renameat2",
                                     "tmpfile renameat2 linkat"])
@pytest.mark.parametrize("force", [False, True], ids=["new", "force"])
def test_systems_without_the_newest_calls_will_do(shim, folder, without, force):
    faults = Faults(shim, folder, force, without)
    done, output = faults.once()
    faults.assert_whole_or_nothing(done, output)
    assert done.returncode == 0
    if not force:  # and an output is not replaced there either
        again = subprocess.run([CLI, "convert", "in.onnx", "-o", "out.onnx", "-q"], cwd=folder,
                               env=faults.env, stderr=subprocess.PIPE, check=False)
        assert again.returncode == 5 and b"exists" in again.stderr


def test_without_openat2_no_link_is_followed_but_the_cache_is_read(shim, tmp_path):
    env = dict(os.environ, LD_PRELOAD=str(shim), FAULT_WITHOUT="openat2")
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    (tmp_path / "secret").write_bytes(bytes(6))
    (blobs / "d").write_bytes(bytes(6))
    for location, data in (("d", 0), ("out", 5), ("secret", 5), ("folder/d", 5)):
        (blobs / "m").write_bytes(quantized(x=external("x", [2, 3], INT8, location=location)))
        for name in ("m.onnx", "d", "out", "folder"):
            (snapshot / name).unlink(missing_ok=True)
        (snapshot / "m.onnx").symlink_to("../blobs/m")
        (snapshot / "d").symlink_to("../blobs/d")
        (snapshot / "out").symlink_to("../secret")
        (snapshot / "folder").symlink_to("../blobs")
        outcome = run("inspect", snapshot / "m.onnx", env=env)
        assert outcome.code == data, (location, outcome)


def test_without_proc_an_output_is_written_under_a_temporary_name(tmp_path):
    if os.getuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("NOT ROOT: /proc cannot be hidden")
    (tmp_path / "in.onnx").write_bytes(quantized())
    script = "mount -t tmpfs none /proc && exec \"$0\" convert in.onnx -o out.onnx -q"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, CLI], cwd=tmp_path, check=False,
                          stderr=subprocess.PIPE)
    assert done.returncode == 0, done
    assert listing(tmp_path) == ["in.onnx", "out.onnx"]


def test_little_memory_is_enough_or_an_error(tmp_path):
    """From what the loader needs, in steps of two MiB; the scales are 32 MiB, which are held."""
    (tmp_path / "in.onnx").write_bytes(model(
        node("DequantizeLinear", ["x", "s"], ["y"]),
        initializer(tensor("x", [1, 8 * MIB], INT8, raw=bytes(range(256)) * (8 * MIB // 256))),
        initializer(tensor("s", [8 * MIB], FLOAT, raw=b"\0\0\x80\x3f" * (8 * MIB)))))
    least = next(m for m in range(1, 1000) if run("--version", address_space=m * MIB).code == 0)
    codes = []
    for mebibytes in range(least + 1, least + 80, 2):
        outcome = run("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "-q",
                      "-f", "-T1",
                      address_space=mebibytes * MIB)
        codes.append(outcome.code)
        if outcome.code != 0:
            assert_error(outcome, 6, "in.onnx: out of memory")
        assert set(listing(tmp_path)) <= {"in.onnx", "out.onnx"}
    assert codes[0] == 6 and codes[-1] == 0 and codes == sorted(codes, reverse=True)


def test_a_stack_that_could_not_grow_ended_the_command_by_a_signal(tmp_path):
    """Where all memory but some pages is in use. In steps of 16 KiB below what is enough."""
    (tmp_path / "in.onnx").write_bytes(model(
        node("DequantizeLinear", ["x", "s"], ["y"]),
        initializer(tensor("x", [1, MIB], INT8, raw=bytes(range(256)) * (MIB // 256))),
        initializer(tensor("s", [MIB], FLOAT, raw=b"\0\0\x80\x3f" * MIB))))

    def outcome(kibibytes):
        return run("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "-q", "-f", "-T1",
                   address_space=kibibytes * 1024)

    below, enough = 1024, 512 * 1024
    while enough - below > 4:
        middle = (below + enough) // 2
        below, enough = (below, middle) if outcome(middle).code == 0 else (middle, enough)
    for kibibytes in range(enough - 320, enough - 4, 16):
        failed = outcome(kibibytes)
        if failed.code != 0:
            assert_error(failed, 6, "in.onnx: out of memory")

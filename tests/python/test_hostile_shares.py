"""Processes of a conversion in shares that are killed, or whose calls of the system fail, each
call in turn; file systems without O_TMPFILE, locks or renameat2: whoever goes on gets the right
bytes."""

import errno
import itertools
import os
import shutil
import signal
import subprocess

import pytest

import interrupted
import shares_support
from hostile_support import CLI, LIMITED
from shares_support import files, fixture_memory  # noqa: F401

pytestmark = [
    pytest.mark.skipif(interrupted.COMPILER is None,
                       reason="NO C COMPILER for the calls that fail"),
    pytest.mark.skipif(not LIMITED, reason="SANITIZED: another library must be the first"),
]


@pytest.fixture(scope="module", name="shim")
def fixture_shim(tmp_path_factory):
    return interrupted.build_shim(tmp_path_factory.mktemp("shim"))


class Shares:
    def __init__(self, folder, shim, without=""):
        self.folder = folder
        self.source = shares_support.gguf_file(folder / "in.gguf")
        self.out = folder / "out.gguf"
        self.hit = folder / "hit"
        self.env = dict(os.environ, LD_PRELOAD=str(shim), FAULT_HIT=str(self.hit),
                        FAULT_WITHOUT=without)
        (folder / "one").mkdir()
        subprocess.run([CLI, "convert", self.source, "-o", folder / "one/out.gguf", "-q"],
                       check=True)
        self.want = (folder / "one/out.gguf").read_bytes()

    def run(self, *command, **fault):
        self.hit.unlink(missing_ok=True)
        env = {**self.env, **{key: str(value) for key, value in fault.items()}}
        done = subprocess.run([CLI, *map(str, command)], env=env, capture_output=True, text=True,
                              timeout=60)
        return done.returncode, done.stderr

    def share(self, **fault):
        return self.run("convert", self.source, "-o", self.out, "--shard", "0/1", "--task-size",
                        131072, "-q", "-T1", **fault)

    def finalize(self, **fault):
        return self.run("finalize", self.out, "-q", **fault)

    def clear(self):
        shutil.rmtree(f"{self.out}.dequant-tasks", ignore_errors=True)
        self.out.unlink(missing_ok=True)

    def is_complete(self):
        assert self.share() == (0, "")
        assert self.finalize() == (0, "")
        assert self.out.read_bytes() == self.want
        left = {p.name for p in self.folder.iterdir()} - {"in.gguf", "one", "hit", "out.gguf"}
        assert not left


@pytest.mark.parametrize("without", interrupted.SYSTEMS)
def test_file_systems_that_lack_something(without, shim, tmp_path):
    Shares(tmp_path, shim, without).is_complete()


@pytest.mark.parametrize("step", ["share", "finalize"])
def test_a_kill_at_each_call_of_the_system(step, shim, tmp_path):
    """The output has its name only when it is complete, and the next process goes on."""
    shares = Shares(tmp_path, shim)
    for k in itertools.count(1):
        shares.clear()
        if step == "finalize":
            assert shares.share() == (0, "")
        code, error = getattr(shares, step)(FAULT_CALL="any", FAULT_AT=k,
                                            FAULT_KILL=int(signal.SIGKILL))
        if not shares.hit.exists():
            assert (code, error) == (0, "")
            break
        assert code == -signal.SIGKILL
        if shares.out.exists():
            assert step == "finalize" and shares.out.read_bytes() == shares.want
        if shares.finalize()[0] != 0 or not shares.out.exists():
            shares.is_complete()
        assert shares.out.read_bytes() == shares.want
    assert k > 20


@pytest.mark.parametrize("step", ["share", "finalize"])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_error_of_each_call_of_the_system(number, step, shim, tmp_path):
    """There is one sentence and no output, or the call was not needed; then another process goes
    on."""
    shares = Shares(tmp_path, shim)
    for k in itertools.count(1):
        shares.clear()
        if step == "finalize":
            assert shares.share() == (0, "")
        code, error = getattr(shares, step)(FAULT_CALL="any", FAULT_AT=k, FAULT_ERRNO=number)
        if not shares.hit.exists():
            break
        if code != 0:
            assert code in (1, 3, 5) and error.count("\n") <= 1, (k, code, error)
        if shares.out.exists():
            assert shares.out.read_bytes() == shares.want
        if not shares.out.exists() or shares.finalize()[0] != 0:
            shares.is_complete()
        assert shares.out.read_bytes() == shares.want
    assert k > 20


def test_a_full_disk_is_an_error_before_the_work(tmp_path, shim):
    shares = Shares(tmp_path, shim)
    code, error = shares.share(FAULT_CALL="fallocate", FAULT_AT=1, FAULT_ERRNO=errno.ENOSPC)
    assert code == 5 and "no room for" in error and error.count("\n") == 1
    shares.is_complete()


def test_files_are_what_one_process_writes(tmp_path, shim):
    shares = Shares(tmp_path, shim)
    shares.is_complete()
    assert files(shares.out) == {"out.gguf": shares.want}

"""Conversions that a signal ends, and what they leave. As a program: a campaign of signals at
random moments and at each call of the system in turn, counted.

    DEQUANT_CLI=build/dequant python tests/python/interrupted.py [--runs 1000]
"""

import argparse
import collections
import itertools
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from hostile_support import (CLI, FLOAT, INT8, LIMITED, MIB, external, initializer, model,
                             node, tensor)

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)
#: What a file system may lack.
SYSTEMS = ("", "tmpfile", "tmpfile renameat2", "flock", "tmpfile flock")
OLD = b"old"

# What an interrupted conversion may leave.
NOTHING, COMPLETE = "nothing", "complete output"
ORPHAN, TEMPORARY, TORN = "data file without its model", "temporary file", "torn output"

# which takes long
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


# For the tests of both kinds: of what is left, and of how it is removed.

NEEDS = [
    pytest.mark.skipif(COMPILER is None, reason="NO C COMPILER for the calls that are interrupted"),
    pytest.mark.skipif(not LIMITED,
                       reason="SANITIZED: the sanitizer's library must be the first one"),
]


@pytest.fixture(scope="module", name="shim")
def shim(tmp_path_factory):
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(name="folder")
def folder(tmp_path):
    (tmp_path / "f").mkdir()
    return tmp_path / "f"


def build_shim(folder):
    """fault_shim.c, to be preloaded."""
    library = pathlib.Path(folder) / "fault_shim.so"
    source = pathlib.Path(__file__).with_name("fault_shim.c")
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"],
                   check=True)
    return library


class Conversion:
    """A conversion with a data file on both sides, to be interrupted again and again."""

    def __init__(self, folder, shim, without="", force=False, size=MIB // 16, threads=1):
        self.folder = pathlib.Path(folder)
        self.target, self.data = self.folder / "out.onnx", self.folder / "out.onnx.data"
        self.hit = self.folder.parent / "hit"
        self.old = OLD if force else None
        self.env = dict(os.environ, LD_PRELOAD=str(shim), FAULT_HIT=str(self.hit),
                        FAULT_WITHOUT=without)
        self.command = [CLI, "convert", "in.onnx", "-o", "out.onnx", "-q",
                        *(["--force"] if force else [])]
        self.set_threads(threads)
        (self.folder / "w").write_bytes(bytes(range(256)) * (size // 256))
        (self.folder / "in.onnx").write_bytes(
            model(node("DequantizeLinear", ["x", "s"], ["y"]),
                  initializer(external("x", [size], INT8, location="w")),
                  initializer(tensor("s", [], FLOAT, raw=b"\0\0\x80\x3f"))))
        self.given = {p.name for p in self.folder.iterdir()}
        self.span = min(self.seconds() for _ in range(3))
        self.new = (self.target.read_bytes(), self.data.read_bytes())

    def set_threads(self, count):
        self.command = [part for part in self.command if not part.startswith("-T")] + [f"-T{count}"]

    def start(self, **fault):
        """With nothing left of the last one."""
        self.hit.unlink(missing_ok=True)
        for path in self.folder.iterdir():
            if path.name not in self.given:
                path.unlink()
        if self.old is not None:
            self.target.write_bytes(self.old)
        env = {**self.env, **{key: str(value) for key, value in fault.items()}}
        return subprocess.Popen(self.command, cwd=self.folder, env=env, stderr=subprocess.PIPE)

    def run(self, **fault):
        process = self.start(**fault)
        _, err = process.communicate(timeout=60)
        assert fault or process.returncode == 0, err
        return process.returncode, err

    def left(self):
        """The set of what there is."""
        names = {p.name for p in self.folder.iterdir()} - self.given
        found = {TEMPORARY for name in names if name.startswith(".dq-tmp-")}
        output = self.target.read_bytes() if self.target.exists() else None
        data = self.data.read_bytes() if self.data.exists() else None
        if (output, data) == self.new:
            found.add(COMPLETE)
        elif output != self.old:
            found.add(TORN)
        elif data is not None:
            found.add(ORPHAN if data == self.new[1] else TORN)
        unknown = {n for n in names if not n.startswith((".dq-tmp-", "out.onnx"))}
        assert not unknown, unknown
        return found or {NOTHING}

    def seconds(self):
        start = time.monotonic()
        self.run()
        return time.monotonic() - start

    def at_each_call(self, number):
        """Sends the signal before each call of the system in turn; yields what each left."""
        for k in itertools.count(1):
            code, err = self.run(FAULT_CALL="any", FAULT_AT=k, FAULT_KILL=int(number))
            if not self.hit.exists():
                assert code == 0, (code, err)
                return
            assert code == -number and err == b"", (k, code, err)
            yield self.left()

    def at_random(self, number, seed):
        """Sends the signal at some moment of the conversion; says whether it came in time, and what
        was left."""
        process = self.start()
        time.sleep(random.Random(seed).uniform(0, self.span * 1.1))
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, -number) and err == b"", (process.returncode, err)
        return process.returncode != 0, self.left()


def count(ends):
    counts = collections.Counter()
    for left in ends:
        counts.update(left)
    return ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=1000,
                        help="at random moments, of each signal; 4 threads")
    parser.add_argument("--systems", nargs="*", default=SYSTEMS[:2], metavar="LACKING")
    options = parser.parse_args()
    runs = options.runs
    with tempfile.TemporaryDirectory() as scratch:
        shim = build_shim(scratch)
        for without, force in itertools.product(options.systems, (False, True)):
            folder = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "f"
            folder.mkdir()
            conversion = Conversion(folder, shim, without, force, size=MIB)
            system = f"without {without}" if without else "with all calls"
            print(f"{system}{', --force' if force else ''}: "
                  f"one conversion takes {conversion.span * 1000:.0f} ms")
            for number in (*HANDLED[:3], signal.SIGKILL):
                ends = list(conversion.at_each_call(number))
                print(f"  {number.name} before each of {len(ends)} calls: {count(ends)}",
                      flush=True)
                conversion.set_threads(4)
                tries = (conversion.at_random(number, seed) for seed in itertools.count())
                ends = list(itertools.islice((left for in_time, left in tries if in_time), runs))
                conversion.set_threads(1)
                print(f"  {number.name} at {runs} random moments of conversions: {count(ends)}",
                      flush=True)


if __name__ == "__main__":
    main()

"""The system gives no more threads: those that there are do the work, and nothing else changes."""

import os
import shutil
import struct
import subprocess

import numpy as np
import pytest

import interrupted
from hostile_support import (CLI, FLOAT, INT8, LIMITED, MIB, assert_error, external,
                             initializer, listing, model, node, run, tensor)

pytestmark = [
    pytest.mark.skipif(interrupted.COMPILER is None,
                       reason="NO C COMPILER for the calls that fail"),
    pytest.mark.skipif(not LIMITED, reason="SANITIZED: the sanitizer's own calls must not fail"),
]

SIZE = 8 * MIB
PROCESSORS = 8  # so many threads are wanted, whatever the machine
NOBODY = 54321  # who has no other processes


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return interrupted.build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A model, arrays and cases that are enough work for all processors."""
    folder = tmp_path_factory.mktemp("inputs")
    codes = np.arange(SIZE, dtype=np.uint32).astype(np.int8)
    (folder / "w").write_bytes(codes.tobytes())
    (folder / "in.onnx").write_bytes(model(
        node("DequantizeLinear", ["x", "s"], ["y"]),
        initializer(external("x", [SIZE], INT8, location="w")),
        initializer(tensor("s", [], FLOAT, raw=struct.pack("<f", 0.1)))))
    np.save(folder / "x.npy", codes)
    np.save(folder / "s.npy", np.float32(0.1))
    subprocess.run([CLI, "vectors", "webnn", "-n", "20", "-o", folder / "cases.json"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


COMMANDS = {
    "convert": ["convert", "in.onnx", "-q", "-o", "OUT/out.onnx"],
    "extract": ["extract", "in.onnx", "--all", "-o", "OUT"],
    "inspect": ["inspect", "in.onnx", "--json"],
    "page": ["inspect", "in.onnx", "--html", "OUT/page.html"],
    "op": ["op", "onnx", "--x", "x.npy", "--scale", "s.npy", "-o", "OUT/y.npy"],
    "check": ["check", "cases.json"],
    "vectors": ["vectors", "webnn", "-n", "20", "-o", "OUT/v.json"],
    "bench": ["bench", "--cell", "uint8/float32/per_tensor", "--elements", "1Mi", "-T",
              "all", "--repeat", "1", "--json"],
}


def outcome_of(folder, inputs, command, prefix=(), **environment):
    """(exit code, standard output, standard error, the files that it made)"""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    out.chmod(0o777)
    line = [part.replace("OUT", str(out)) for part in COMMANDS[command]]
    done = subprocess.run([*prefix, CLI, *line], cwd=inputs, env={**os.environ, **environment},
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    files = {name: (out / name).read_bytes() for name in listing(out)}
    printed = "" if command == "bench" else done.stdout
    return done.returncode, printed, done.stderr, files


@pytest.mark.parametrize("command", COMMANDS)
def test_where_no_thread_can_be_made_those_that_there_are_do_the_work(shim, inputs,
                                                                      tmp_path, command):
    hit = tmp_path / "hit"
    wanted = outcome_of(tmp_path, inputs, command)
    assert wanted[0] == 0, wanted
    made = []  # threads before the system gave no more
    for k in range(1, PROCESSORS + 2):
        hit.unlink(missing_ok=True)
        found = outcome_of(tmp_path, inputs, command, LD_PRELOAD=str(shim), FAULT_HIT=str(hit),
                           FAULT_FROM_START="1", FAULT_PROCESSORS=str(PROCESSORS),
                           FAULT_FOREVER="1", FAULT_CALL="pthread_create", FAULT_AT=str(k),
                           FAULT_ERRNO="11")
        assert found == wanted, k
        if not hit.exists():
            break
        made.append(k - 1)
    # What has no use for threads asks for none; streams of one file need a few.
    least = {"check": 0, "vectors": 0, "convert": 3, "extract": 7, "op": 7,
             "bench": 7}.get(command, 1)
    assert len(made) >= least and len(made) < PROCESSORS, made


def as_nobody(folder):
    """The start of a command line that runs as a user who may have one thread; None if that cannot
    be."""
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
              "--inh-caps=-all", "prlimit", "--nproc=1:1", "--"]
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return None
    for path in (folder, *folder.parents):  # of pytest's folders, which others may not enter
        if path.stat().st_uid == 0 and path.stat().st_mode & 0o005 != 0o005 \
                and "pytest" in str(path):
            path.chmod(0o755)
    works = subprocess.run([*prefix, CLI, "--version"], check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    return prefix if works.returncode == 0 else None


@pytest.mark.parametrize("command", ["convert", "extract", "inspect", "op", "bench"])
def test_under_a_limit_of_one_process_one_thread_does_the_work(shim, inputs, tmp_path, command):
    prefix = as_nobody(inputs)
    if prefix is None or as_nobody(tmp_path) is None:
        pytest.skip("NOT ROOT: no other user to be")
    for path in inputs.iterdir():
        path.chmod(0o644)
    wanted = outcome_of(tmp_path, inputs, command)
    assert wanted[0] == 0
    assert outcome_of(tmp_path, inputs, command, prefix) == wanted


def test_with_little_address_space_fewer_threads_do_the_work(shim, tmp_path):
    """From what the loader needs on, convert is out of memory or done; once done, with more memory
    too, as with one thread."""
    (tmp_path / "in.onnx").write_bytes(model(
        node("DequantizeLinear", ["x", "s"], ["y"]),
        initializer(tensor("x", [SIZE], INT8, raw=bytes(SIZE))),
        initializer(tensor("s", [], FLOAT, raw=struct.pack("<f", 0.1)))))
    env = dict(os.environ, LD_PRELOAD=str(shim), FAULT_PROCESSORS="64")
    least = next(m for m in range(1, 1000) if run("--version", address_space=m * MIB,
                                                  env=env).code == 0)
    needed = {}
    for threads in ("1", "0"):
        codes = {}
        for mebibytes in [*range(least + 1, least + 40), *range(least + 40, least + 500, 13)]:
            outcome = run("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx",
                          "-q", "-f", "-T", threads, address_space=mebibytes * MIB, env=env)
            codes[mebibytes] = outcome.code
            if outcome.code != 0:
                assert_error(outcome, 6, "out of memory")
        needed[threads] = min(m for m, code in codes.items() if code == 0)
        assert all(code == 0 for m, code in codes.items() if m >= needed[threads]), codes
    assert needed["0"] <= needed["1"] + 8, needed

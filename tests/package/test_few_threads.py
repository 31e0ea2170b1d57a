"""The system gives no more threads: the calling one does the work."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from remote_support import contents

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
SHIM = pathlib.Path(__file__).resolve().parents[1] / "python" / "fault_shim.c"
MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits_qdq_int8.onnx"

WORK = """
import pathlib, sys
import numpy as np
import dequant

class Stop(Exception):
    pass

def stop(done, total):
    raise Stop

model, output = sys.argv[1:]
assert (dequant.onnx.dequantize_linear(np.ones(1 << 22, np.int8), np.float32(2)) == 2).all()
for tensor in dequant.open(model).values():
    tensor.to_numpy()
told = []
dequant.convert(model, output, progress=lambda done, total: told.append((done, total)))
assert told[-1][0] == told[-1][1] > 0 and told == sorted(told), told
try:
    dequant.convert(model, output + ".2", progress=stop)
except Stop:
    assert not pathlib.Path(output + ".2").exists()
else:
    raise AssertionError("the exception of the callback was lost")
"""


URLS = """
import pathlib, sys
import dequant, fsspec
from fsspec.implementations.memory import MemoryFileSystem

model, output = sys.argv[1:]
memory = fsspec.filesystem("memory")
memory.put(model, "/in/fp8", recursive=True)
dequant.convert("memory://in/fp8", "memory://out/dense")
memory.get("/out/dense", output, recursive=True)

def fail(self, path, start=None, end=None, **kwargs):
    raise InterruptedError("in the middle")

plan = dequant.plan("memory://in/fp8", "memory://out/other")
MemoryFileSystem.cat_file = fail
try:
    dequant.run_task(plan[0])
except InterruptedError as error:
    assert "in the middle" in str(error)
else:
    raise AssertionError("the exception of the file system was lost")
"""
MAKER = MODEL.parent / "make_fp8_checkpoint.py"


@pytest.mark.skipif(COMPILER is None, reason="NO C COMPILER for the calls that fail")
@pytest.mark.parametrize("program", [WORK, URLS], ids=["files", "urls"])
def test_where_no_thread_can_be_made_the_calling_one_does_the_work(tmp_path, program):
    model = MODEL
    if program is URLS:
        model = tmp_path / "fp8"
        subprocess.run([sys.executable, MAKER, model], check=True, timeout=60)
    shim, hit = tmp_path / "shim.so", tmp_path / "hit"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-w", "-o", shim, SHIM, "-ldl"],
                   check=True)
    # numpy's own threads are not the question
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    faults = {"LD_PRELOAD": str(shim), "FAULT_FROM_START": "1", "FAULT_CALL": "pthread_create",
              "FAULT_AT": "1", "FAULT_FOREVER": "1", "FAULT_ERRNO": "11", "FAULT_HIT": str(hit),
              "FAULT_PROCESSORS": "8"}
    for name, more in (("with", {}), ("without", faults)):
        subprocess.run([sys.executable, "-c", program, model, tmp_path / name], check=True,
                       cwd=tmp_path, timeout=120,
                       env={**environment, **more})
    assert hit.exists(), "or no thread was asked for"
    made = [[data for _, data in sorted(contents(tmp_path / name).items())]
            for name in ("with", "without")]
    assert made[0] == made[1] != []

"""The system gives no more threads: the calling one does the work."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

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


@pytest.mark.skipif(COMPILER is None, reason="NO C COMPILER for the calls that fail")
def test_where_no_thread_can_be_made_the_calling_one_does_the_work(tmp_path):
    shim, hit = tmp_path / "shim.so", tmp_path / "hit"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-w", "-o", shim, SHIM, "-ldl"],
                   check=True)
    # numpy's own threads are not the question
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    faults = {"LD_PRELOAD": str(shim), "FAULT_FROM_START": "1", "FAULT_CALL": "pthread_create",
              "FAULT_AT": "1", "FAULT_FOREVER": "1", "FAULT_ERRNO": "11", "FAULT_HIT": str(hit),
              "FAULT_PROCESSORS": "8"}
    for name, more in (("with", {}), ("without", faults)):
        subprocess.run([sys.executable, "-c", WORK, MODEL, tmp_path / name], check=True,
                       cwd=tmp_path, timeout=120,
                       env={**environment, **more})
    assert hit.exists(), "or no thread was asked for"
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()

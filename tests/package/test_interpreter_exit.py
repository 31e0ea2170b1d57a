"""The end of the interpreter while daemon threads are inside the library."""

import subprocess
import sys

import pytest

from model_support import ROOT

MODEL = ROOT / "examples/digits_qdq_int4.onnx"

PROGRAM = """
import threading, time
import numpy as np, dequant
x = np.zeros(1 << 22, np.uint8)
model = dequant.open({model!r})
tensor = next(iter(model.values()))
started = threading.Event()
def forever():
    while True:
        {call}
        started.set()
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
started.wait()
time.sleep(0.05)
"""


@pytest.mark.parametrize("call", ["dequant.onnx.dequantize_linear(x, 0.5)", "tensor.to_numpy()",
                                  "dequant.convert({model!r}, '/tmp/never.onnx', dry_run=True)"])
def test_daemon_threads_inside_calls_aborted_the_process_at_exit(call):
    program = PROGRAM.format(model=str(MODEL), call=call.format(model=str(MODEL)))
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True,
                              text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")

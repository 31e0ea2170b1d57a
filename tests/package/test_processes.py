"""Processes made of this one, and signals."""

import copy
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import dequant
from tensors import program

COMMAND = shutil.which("dequant", path=os.path.dirname(sys.executable))
LARGE = 1 << 24
X = np.arange(LARGE).astype(np.uint8)


def total(x):
    """A call that all threads take part in."""
    return float(dequant.onnx.dequantize_linear(x, np.float32(0.5),
                                                np.uint8(3)).sum(dtype=np.float64))


def read(x):
    return dequant.onnx.dequantize_linear(x, 0.5)


WANT = (float(X.sum(dtype=np.float64)) - 3 * LARGE) / 2

FORK = """
import os, signal, sys, threading
import numpy as np, dequant
x = np.arange(1 << 24).astype(np.uint8)
def call():
    return float(dequant.onnx.dequantize_linear(x, 0.5, 3).sum(dtype=np.float64))
want = call()
busy = sys.argv[1] == "busy"
stop = False
def forever():
    while not stop:
        call()
thread = threading.Thread(target=forever)
if busy:
    thread.start()
for generation in range(5):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        again = os.fork() if generation == 0 else 1  # a child of the child, too
        good = call() == want and call() == want
        if again == 0:
            os._exit(0 if good else 4)
        if generation == 0:
            good = good and os.waitpid(again, 0)[1] == 0
        os._exit(0 if good else 3)
    assert call() == want
    _, status = os.waitpid(child, 0)
    assert status == 0, f"child ended with {status}"
stop = True
if busy:
    thread.join()
print("done")
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_forked_child_calls_and_ends(state):
    assert program(FORK, state, PYTHONWARNINGS="ignore").strip() == "done"


def test_a_forked_child_ends_by_itself():
    """With its destructors: no waiting for threads that the child does not have."""
    text = ("import os, sys, numpy as np, dequant\nx = np.zeros(1 << 24, np.uint8)\n"
            "dequant.onnx.dequantize_linear(x, 1.0)\nchild = os.fork()\n"
            "dequant.onnx.dequantize_linear(x, 1.0)\n"
            "if child:\n    assert os.waitpid(child, 0)[1] == 0\n    print('done')")
    assert program(text, PYTHONWARNINGS="ignore").strip() == "done"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(method):
    total(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads run
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map_async(total, [X] * 4).get(60) == [WANT] * 4
            packed = dequant.Packed(b"\x21\x43", "uint4", 4)
            assert pool.apply_async(read, (packed,)).get(60).tolist() == [0.5, 1, 1.5, 2]


LONG = """
import sys, numpy as np, dequant
x, out = np.zeros(1 << 26, np.uint8), np.empty(1 << 26, np.float32)
print("ready", flush=True)
try:
    while True:
        dequant.onnx.dequantize_linear(x, 1.0, out=out)
except KeyboardInterrupt:
    print("interrupted", int(out.sum()))
"""


def test_control_c_ends_a_loop_of_long_calls():
    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=30)[0] == "interrupted 0\n"
        assert child.returncode == 0
    finally:
        child.kill()


def test_threads_of_the_pool_do_not_take_signals():
    """SIGINT comes to Python's own thread, which waits for it."""
    text = ("import os, signal, time, numpy as np, dequant\n"
            "dequant.onnx.dequantize_linear(np.zeros(1 << 24, np.uint8), 1.0)\n"
            "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(20)\n"
            "except KeyboardInterrupt:\n    print('interrupted')")
    began = time.monotonic()
    assert program(text).strip() == "interrupted"
    assert time.monotonic() - began < 15


HIDDEN = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("ml_dtypes", "torch"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
import numpy as np, dequant
y = dequant.onnx.dequantize_linear(np.uint8([1, 2]), 0.5, output_dtype="bfloat16")
assert y.dtype == np.uint16 and y.tolist() == [0x3F00, 0x3F80], y
out = np.zeros(2, np.uint16)
y = dequant.onnx.dequantize_linear(np.uint8([1, 2]), 0.5, output_dtype=16, out=out)
assert y is out and out[1] == 0x3F80
scale = dequant.Packed(np.uint16([0x3F80]).tobytes(), "bfloat16", ())
assert dequant.onnx.dequantize_linear(np.uint8([7]), scale, output_dtype=1).tolist() == [7]
one = dequant.Packed(bytes([0x38]), "float8e4m3fn", 1)
assert dequant.onnx.dequantize_linear(one, 2.0).tolist() == [2]
try:
    dequant.onnx.dequantize_linear(np.uint8([1]), 0.5, like="torch")
except ImportError:
    print("done", "ml_dtypes" in sys.modules)
"""


def test_numpy_is_all_that_is_needed():
    assert program(HIDDEN).strip() == "done False"


def test_importing_imports_numpy_and_nothing_else():
    text = ("import sys, numpy\nbefore = set(sys.modules)\nimport dequant\n"
            "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
            "print(sorted(new - set(sys.stdlib_module_names) - {'numpy'}))")
    assert program(text).strip() == "['dequant']"


def functions():
    return [getattr(getattr(dequant, module), name) for module, name in (
        ("onnx", "dequantize_linear"), ("microsoft", "dequantize_linear"),
        ("webnn", "dequantize_linear"),
        ("tensorflow", "dequantize"), ("directml", "dequantize"),
        ("directml", "element_wise_dequantize_linear"))]


def test_functions_are_pickled_by_name():
    for function in functions():
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(function, protocol)) is function
        assert copy.copy(function) is copy.deepcopy(function) is function
    text = ("import pickle, sys\nfunctions = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
            "import dequant\nprint(functions[0] is dequant.onnx.dequantize_linear, functions[3] is "
            "dequant.tensorflow.dequantize)")
    assert program(text, pickle.dumps(functions()).hex()).strip() == "True True"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_functions_go_to_pools_of_processes(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(1) as pool:
            found = pool.starmap_async(dequant.onnx.dequantize_linear,
                                       [(np.uint8([i]), 0.5) for i in range(3)]).get(60)
    assert [y.tolist() for y in found] == [[0], [0.5], [1]]


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "dequant", *arguments], capture_output=True,
                          text=True, timeout=60,
                          check=False)


@pytest.mark.skipif(COMMAND is None,
                    reason="NO COMMAND BESIDE THIS PYTHON: the package is not installed there")
def test_the_module_is_the_command():
    done = command("--version")
    assert done.returncode == 0 and dequant.__version__ in done.stdout
    done = command("inspect", "no such file")
    assert done.returncode != 0 and "no such file" in done.stderr
    same = subprocess.run([COMMAND, "inspect", "no such file"], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr) == \
        (same.returncode, same.stdout, same.stderr)


def test_the_module_says_where_there_is_no_command():
    text = ("import os, runpy, sys, sysconfig\nfrom importlib import metadata\n"
            "metadata.files = lambda name: None\nsysconfig.get_path = lambda name: '/nowhere'\n"
            "sys.executable = '/nowhere/python'\n"
            "try:\n    runpy.run_module('dequant', run_name='__main__')\n"
            "except SystemExit as end:\n    print(end.code)")
    assert program(text).strip() == "dequant: the command is not installed with this package"

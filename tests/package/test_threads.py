"""Any number of threads may call, and others go on meanwhile."""

import sys
import threading
import time

import numpy as np
import pytest

import dequant
from tensors import program, same_bits

X = np.arange(1 << 16).astype(np.uint8).reshape(256, 256)
SCALE = np.linspace(-3, 3, 256, dtype=np.float32)
WANT = X * SCALE


def all_of(count, work):
    """Runs work(i) on so many threads at once; raises what they raise."""
    failures, start = [], threading.Barrier(count)

    def one(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:  # noqa: BLE001 (of another thread)
            failures.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_sixteen_threads_call_at_once(threads):
    def work(i):
        for repeat in range(20):
            x = X[:, :: 1 + (i + repeat) % 3]
            same_bits(dequant.onnx.dequantize_linear(x, SCALE[:: 1 + (i + repeat) % 3],
                                                     threads=threads),
                      WANT[:, :: 1 + (i + repeat) % 3])
    all_of(16, work)


def test_a66_buffers_are_held_while_another_thread_resizes_and_frees():
    """Who resizes a buffer during a call gets BufferError or comes before or after it."""
    done, resized, refused = threading.Event(), [0], [0]
    shared = [bytearray(X)]

    def resize():
        while not done.is_set():
            try:
                shared[0].extend(b"12345678")
                del shared[0][X.size:]
                resized[0] += 1
            except BufferError:
                refused[0] += 1
            shared[0] = bytearray(X)  # frees the other, but for those who read it

    def work(_):
        for _ in range(100):
            y = dequant.onnx.dequantize_linear(shared[0], 2.0)
            assert y.size >= X.size and y[5] == 10

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        all_of(16, work)
    finally:
        done.set()
        thread.join()
    assert resized[0] > 0


def test_a66_a_buffer_is_exported_for_the_whole_call():
    """An executor of many elements gives the other thread the time to try."""
    data, tried = bytearray(1 << 26), []
    out = np.empty(1 << 26, np.float32)
    started = threading.Event()

    def resize():
        started.wait()
        for _ in range(1000):
            try:
                data.append(1)
                data.pop()
            except BufferError:
                tried.append(True)
                return

    thread = threading.Thread(target=resize)
    thread.start()
    for _ in range(20):
        started.set()
        dequant.onnx.dequantize_linear(data, np.float32(1), out=out[:len(data)], threads=1)
        if tried:
            break
    thread.join()
    assert tried, "the buffer could be resized during the call"
    data.append(1)  # and after it nothing is held


def test_an_array_deleted_during_the_call_lives_on():
    arrays = {i: X.copy() for i in range(16)}

    def work(i):
        call = dequant.onnx.dequantize_linear
        for _ in range(20):
            x = arrays[i]
            arrays[i] = X.copy()
            same_bits(call(x, SCALE), WANT)
    all_of(16, work)


def test_other_threads_run_during_a_long_call():
    x, out = np.zeros(1 << 27, np.uint8), np.empty(1 << 27, np.float16)
    dequant.onnx.dequantize_linear(x, np.float16(1), out=out, threads=1)  # touches the memory
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0)

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # nobody is asked for the lock, so that it must be given
    try:
        thread.start()
        best = 0
        for _ in range(20):
            began = time.perf_counter()
            dequant.onnx.dequantize_linear(x, np.float16(1), out=out, threads=1)
            ended = time.perf_counter()
            best = max(best, sum(began < t < ended for t in list(ticks)))
            if best > 10:
                break
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert best > 10, f"another thread ran {best} times during a call of {ended - began:.3f} s"


FIRST_CALLS = """
import builtins, threading, time
import numpy as np, dequant

find = builtins.__import__
def slow(*arguments, **options):
    time.sleep(0.01)  # another thread runs in between
    return find(*arguments, **options)
builtins.__import__ = slow

def call():
    start.wait()
    dequant.onnx.dequantize_linear(np.uint8([1]), np.float32(1), output_dtype="bfloat16")
    try:
        dequant.onnx.dequantize_linear(np.uint8([1]), np.float32(1), opset=9)
    except dequant.UnsupportedError:
        finished.append(True)

finished = []
start = threading.Barrier(16)
threads = [threading.Thread(target=call, daemon=True) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(finished))
"""


def test_the_first_calls_may_come_from_many_threads():
    assert program(FIRST_CALLS).strip() == "16"


def test_importing_starts_no_threads():
    text = ("import os, numpy\nbefore = len(os.listdir('/proc/self/task'))\nimport dequant\n"
            "dequant.onnx.dequantize_linear(numpy.uint8([1]), 1.0)\n"
            "print(len(os.listdir('/proc/self/task')) - before)")
    assert program(text).strip() == "0"


def test_a_call_of_one_thread_starts_none():
    text = ("import os, numpy, dequant\nbefore = len(os.listdir('/proc/self/task'))\n"
            "dequant.onnx.dequantize_linear(numpy.zeros(1 << 24, 'u1'), 1.0, threads=1)\n"
            "print(len(os.listdir('/proc/self/task')) - before)")
    assert program(text).strip() == "0"

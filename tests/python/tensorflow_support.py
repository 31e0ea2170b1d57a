"""Dequantize by TensorFlow and by dequant: the same node and files for both."""

import dataclasses
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
MISSING = ("NO TENSORFLOW" if importlib.util.find_spec("tensorflow") is None else
           "NO C COMPILER for keep_subnormals.c" if COMPILER is None else
           "NOT x86: the kernels that these bits are of" if platform.machine() != "x86_64" else "")

TYPES = {"quint8": np.uint8, "qint8": np.int8, "quint16": np.uint16, "qint16": np.int16,
         "qint32": np.int32}
MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
SMALLEST_NORMAL = np.float32(2.0**-126)

# Files of many small calls, each of which is flushed to disk where there is one.
MEMORY = pathlib.Path("/dev/shm")
ROOMY = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 1 << 30


class Scratch:
    """A folder for the files of a program, removed in the end."""

    def __init__(self):
        self.holder = tempfile.TemporaryDirectory(dir=MEMORY if ROOMY else None)
        self.folder = pathlib.Path(self.holder.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.holder.cleanup()


@dataclasses.dataclass
class Node:
    """A Dequantize of arrays, by TensorFlow's own names. `each`: per tensor, once for each pair of
    ranges. The output is float32; bfloat16 is widened to it."""
    x: np.ndarray
    min_range: np.ndarray
    max_range: np.ndarray
    type: str = "quint8"
    mode: str = "MIN_COMBINED"
    axis: int | None = -1
    narrow_range: bool = False
    dtype: str = "float32"
    interface: str = "raw"  # raw, graph or python
    each: bool = False

    def save(self, folder):
        for name in ("x", "min_range", "max_range"):
            np.save(folder / f"{name}.npy", getattr(self, name))


class TensorFlow(Scratch):
    """A TensorFlow in a process of its own: with subnormals kept, or as it is shipped."""

    def __init__(self, keep_subnormals=True, onednn=False):
        super().__init__()
        environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="1" if onednn else "0")
        if keep_subnormals:
            library = self.folder / "keep_subnormals.so"
            subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", library,
                            HERE / "keep_subnormals.c"], check=True)
            environment["LD_PRELOAD"] = str(library)
        self.process = subprocess.Popen(
            [sys.executable, HERE / "tensorflow_child.py"], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        super().__exit__()

    def ask(self, node):
        """"done", then the output is in y.npy; or the name of the exception."""
        node.save(self.folder)
        files = {k: str(self.folder / f"{name}.npy") for k, name in
                 (("x", "x"), ("min", "min_range"), ("max", "max_range"), ("y", "y"))}
        line = json.dumps({"type": node.type, "mode": node.mode, "axis": node.axis,
                           "narrow_range": node.narrow_range, "dtype": node.dtype,
                           "interface": node.interface, "each": node.each, **files})
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        assert answer, "TensorFlow's process ended"
        return answer

    def dequantize(self, node):
        assert self.ask(node) == "done"
        return np.load(self.folder / "y.npy")


class Dequant(Scratch):
    """The command line under test, at `dequant op tensorflow`."""

    def run(self, x, low, high, node, *options):
        command = [os.environ["DEQUANT_CLI"], "op", "tensorflow", "--x", x, "--min", low,
                   "--max", high, "--mode", node.mode, "--dtype", node.dtype, "-o",
                   self.folder / "y.npy", "--force",
                   *(["--narrow-range"] if node.narrow_range else []), *options]
        if node.axis is not None:
            command.append(f"--{'python-' if node.interface == 'python' else ''}axis={node.axis}")
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, check=False)

    def ask(self, node, *options):
        """The exit code and the message."""
        node.save(self.folder)
        done = self.run(*(self.folder / f"{name}.npy" for name in ("x", "min_range", "max_range")),
                        node, *options)
        return done.returncode, done.stderr

    def dequantize(self, node, *options):
        if node.each:
            one = dataclasses.replace(node, each=False)
            return np.stack([self.dequantize(dataclasses.replace(one, min_range=a, max_range=b),
                                             *options)
                             for a, b in zip(node.min_range, node.max_range, strict=True)])
        code, message = self.ask(node, *options)
        assert code == 0, message
        return np.load(self.folder / "y.npy")


def all_codes(name, rng):
    """Every code of 8 or 16 bits; of qint32 2^20, the extremes and those around zero among them."""
    limits = np.iinfo(TYPES[name])
    if limits.bits < 32:
        return np.arange(limits.min, limits.max + 1).astype(TYPES[name])
    x = rng.integers(limits.min, limits.max, 1 << 20, TYPES[name], endpoint=True)
    for i, around in enumerate((limits.min + 128, 0, limits.max - 127)):
        x[i * 256:(i + 1) * 256] = np.arange(around - 128, around + 128)
    return x


def edge_ranges():
    """Every pair of the values at which arithmetic tends to go wrong."""
    tiny = np.array([1, 0x80000001, 0x000F4240, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x00800001],
                    np.uint32).view(np.float32)
    edges = np.float32([0.0, -0.0, *tiny, 3.4028235e38, -3.4028235e38, np.inf, -np.inf,
                        np.nan, 1, -1, 1e-3, 0.1, 123.456, -77.7, 1e30, -1e-30, -128, 127, -127,
                        255, 65535])
    return np.stack(np.meshgrid(edges, edges), -1).reshape(-1, 2)


def random_ranges(rng, count):
    """Pairs of many kinds: plain ones, min = max, min > max, any bits, subnormals."""
    def bits(mask):
        return (rng.integers(0, 1 << 32, (count, 2), np.uint32) & np.uint32(mask)).view(np.float32)
    plain = rng.normal(size=(count, 2)) * np.exp2(rng.integers(-20, 20, (count, 2)))
    kinds = np.stack([np.sort(plain.astype(np.float32), 1), -np.sort(-plain.astype(np.float32), 1),
                      np.repeat(plain[:, :1], 2, 1).astype(np.float32), bits(0xFFFFFFFF),
                      bits(0x80FFFFFF),
                      np.sort(rng.uniform(-8, 8, (count, 2)), 1).astype(np.float32)])
    return kinds[rng.integers(0, len(kinds), count), np.arange(count)]


def different(a, b):
    """Where two outputs differ in any bit; NaN is like any other."""
    assert (a.shape, a.dtype, b.dtype) == (b.shape, np.float32, np.float32)
    return (a.view(np.uint32) != b.view(np.uint32)) & ~(np.isnan(a) & np.isnan(b))

#!/usr/bin/env python3
"""Compares calls of dequant from Python with equivalent expressions of other libraries.

    bench/python/calls.py                       one table on stdout, in Markdown
    bench/python/calls.py --sizes 1,1Ki --json
    bench/python/calls.py --library             also the C library, with an existing plan, called
                                                through ctypes

A number is the time of the other expression divided by the time of dequant: the median over pairs
of consecutive measurements. Both write to existing memory (`out=`) if the other library can. Needs
dequant and numpy; compares with onnx, torch and ml_dtypes if they are installed. --library uses the
library that bench/peers/compare.py has built. Its ratio shows the overhead of Python, so it is
below 1.

Exit codes: 0 done, 1 dequant is slower than an expression, 2 usage.
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import sys
import time
import types

import numpy as np

import dequant

LIBRARY = "the library"
SIZES = ["1", "16", "256", "4Ki", "64Ki", "1Mi", "16Mi"]


def count(text):
    units = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
    number = int(text[:-2]) * units[text[-2:]] if text[-2:] in units else int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of elements")
    return number


def has(module):
    return importlib.util.find_spec(module) is not None


class Case:
    """A call of dequant, and equivalent expressions of other libraries."""

    def __init__(self, name, ours, others):
        self.name, self.ours, self.others = name, ours, others


def linear(n, generator, threads, library):
    """uint8 to float32 per tensor, with a zero point and without."""
    x = generator.integers(0, 256, n, np.uint8)
    scale, zero, out, other = np.float32(0.1), np.uint8(3), np.empty(n, np.float32), \
        np.empty(n, np.float32)
    call = dequant.onnx.dequantize_linear

    def in_two_steps():
        np.subtract(x, zero, out=other, dtype=np.float32)
        np.multiply(other, scale, out=other)

    others = {"numpy, out=": in_two_steps, "numpy": lambda: (x.astype(np.float32) - zero) * scale}
    if has("onnx"):
        others["onnx.reference"] = reference(x, scale, zero)
    if has("torch"):
        others |= of_torch(x)
    if library:
        others[LIBRARY] = of_library(x, scale, zero, other, threads)
    yield Case("uint8 - zero point", lambda: call(x, scale, zero, out=out, threads=threads), others)
    yield Case("uint8", lambda: call(x, scale, out=out, threads=threads),
               {"numpy, out=": lambda: np.multiply(x, scale, out=other, dtype=np.float32)})
    every_other = generator.integers(0, 256, 2 * n, np.uint8)[::2]
    yield Case("uint8, every other", lambda: call(every_other, scale, out=out, threads=threads),
               {"numpy, out=": lambda: np.multiply(every_other, scale, out=other,
                                                   dtype=np.float32)})


def of_library(x, scale, zero, y, threads):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
    import engine

    cell = types.SimpleNamespace(linear=True, x="uint8", y="float32", granularity="per tensor")
    tensors = types.SimpleNamespace(x=x, scale=np.array([scale]), zero_point=np.array([zero]),
                                    shape=x.shape, scale_shape=(), min_range=0, max_range=0)
    return engine.Dequant(engine.library(), cell, tensors, y, threads).run


def reference(x, scale, zero):
    import onnx.helper
    from onnx.reference import ReferenceEvaluator

    kind = onnx.TensorProto
    values = [onnx.helper.make_tensor_value_info(name, code, None)
              for name, code in (("x", kind.UINT8), ("s", kind.FLOAT), ("z", kind.UINT8),
                                 ("y", kind.FLOAT))]
    graph = onnx.helper.make_graph([onnx.helper.make_node("DequantizeLinear", ["x", "s", "z"],
                                                          ["y"])], "g",
                                   values[:3], values[3:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    evaluator = ReferenceEvaluator(model)
    feed = {"x": x, "s": np.asarray(scale), "z": np.asarray(zero)}
    return lambda: evaluator.run(None, feed)


def of_torch(x):
    import torch

    codes = torch.from_numpy(x)
    result = torch.empty(x.size, dtype=torch.float32)

    def in_two_steps():
        torch.sub(codes.to(torch.float32), 3.0, out=result)
        result.mul_(0.1)

    return {"torch": in_two_steps}


def of_ml_dtypes(n, generator, threads):
    """Types of ml_dtypes: 8-bit floats, 4-bit integers with one element in each byte, and bfloat16
    results."""
    import ml_dtypes

    call, scale = dequant.onnx.dequantize_linear, np.float32(0.1)
    codes = generator.integers(0, 256, n, np.uint8)
    out = np.empty(n, np.float32)
    half = np.empty(n, ml_dtypes.bfloat16)
    other = np.empty(n, np.float32)
    float8 = codes.view(ml_dtypes.float8_e4m3fn)
    yield Case("float8e4m3fn", lambda: call(float8, scale, out=out, threads=threads),
               {"ml_dtypes": lambda: np.multiply(float8.astype(np.float32), scale, out=other)})
    yield Case("uint8 to bfloat16", lambda: call(codes, scale, out=half, output_dtype="bfloat16",
                                                 threads=threads),
               {"ml_dtypes": lambda: np.multiply(codes, scale,
                                                 dtype=np.float32).astype(ml_dtypes.bfloat16)})
    int4 = (codes & 15).astype(np.int8).astype(ml_dtypes.int4)
    packed = dequant.Packed(codes[:(n + 1) // 2], "int4", n)
    for name, x in (("int4, packed", packed), ("int4, one per byte", int4)):
        yield Case(name, lambda x=x: call(x, scale, out=out, threads=threads),
                   {"ml_dtypes": lambda: np.multiply(int4.astype(np.float32), scale, out=other)})


def seconds(work, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - start) / repeat


def ratio(ours, other, budget):
    """The median ratio of the other's time to dequant's time, for measurements of about a
    millisecond or one call, and the median time of dequant."""
    once = max(seconds(ours, 1), seconds(other, 1), seconds(ours, 1), seconds(other, 1))
    repeat = max(1, int(1e-3 / once))
    pairs = max(5, int(budget / (2 * once * repeat)))
    ratios, times = [], []
    for pair in range(min(pairs, 301)):
        first, second = (ours, other) if pair % 2 == 0 else (other, ours)
        one, two = seconds(first, repeat), seconds(second, repeat)
        mine, theirs = (one, two) if pair % 2 == 0 else (two, one)
        ratios.append(theirs / mine)
        times.append(mine)
    return statistics.median(ratios), statistics.median(times)


def measure(sizes, threads, budget, library):
    generator = np.random.default_rng(1)
    rows = []
    for text in sizes:
        n = count(text)
        cases = list(linear(n, generator, threads, library))
        if has("ml_dtypes"):
            cases += of_ml_dtypes(n, generator, threads)
        for case in cases:
            for name, other in case.others.items():
                times, own = ratio(case.ours, other, budget)
                rows.append({"elements": text, "case": case.name, "other": name, "ratio": times,
                             "seconds": own})
                print(f"{text} {case.name}, {name}: {times:.2f}", file=sys.stderr)
    return rows


def table(rows):
    columns = list(dict.fromkeys((row["case"], row["other"]) for row in rows))
    lines = [["elements", *(f"{case}: {other}" for case, other in columns)],
             ["---:"] * (len(columns) + 1)]
    for size in dict.fromkeys(row["elements"] for row in rows):
        found = {(row["case"], row["other"]): row["ratio"]
                 for row in rows if row["elements"] == size}
        lines.append([size, *(f"{found[c]:.3g}" if c in found else "" for c in columns)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(SIZES), metavar="SIZE,...",
                        help=",".join(SIZES))
    parser.add_argument("--threads", type=int, default=1, help="number of threads (1); 0: all")
    parser.add_argument("--seconds", type=float, default=0.2, help="seconds for each number (0.2)")
    parser.add_argument("--library", action="store_true",
                        help="compare with the library of bench/peers, too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.sizes.split(","), options.threads, options.seconds, options.library)
    print(json.dumps(rows) if options.json else table(rows))
    return 1 if any(row["ratio"] < 1 and row["other"] != LIBRARY for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

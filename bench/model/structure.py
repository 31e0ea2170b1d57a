#!/usr/bin/env python3
"""Measures the memory and time for the structure of models: models of many small messages, no data.

    bench/model/structure.py --dequant build/release/dequant
    bench/model/structure.py --dequant build/release/dequant --scale 0.1 --only relu names

Runs `dequant convert`, the same with --strip-qdq, and `dequant inspect --json` for each model.
Prints the size of the model, the peak of resident memory, its limit (32 MiB plus 8 times the bytes
of the structure), seconds, and the exit code: 0, or 3 if the command refused the model as over the
limit. The exit code of this script is 1 if a peak is over its limit, or if a model was refused that
must be accepted.
"""

import argparse
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytearray([value]))


def sub(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def num(number, value):
    return varint(number << 3) + varint(value)


def node(op, inputs, outputs, name=b""):
    parts = [sub(1, i) for i in inputs] + [sub(2, o) for o in outputs]
    parts += [sub(3, name)] if name else []
    return sub(1, b"".join(parts) + sub(4, op))


def attribute(*fields):
    return sub(1, sub(4, b"A") + sub(5, sub(1, b"a") + b"".join(fields)))


def tensor(name, data_type, raw, *dims):
    return sub(5, b"".join(num(1, d) for d in dims) + num(2, data_type) + sub(8, name)
               + sub(9, raw))


def relus(count):
    return b"".join(node(b"Relu", [b"v%06d" % i], [b"v%06d" % (i + 1)]) for i in range(count))


def names(count):
    label = b"/encoder/layer.%d/attention/output/Relu_output_0"
    return b"".join(node(b"Relu", [label % i], [label % (i + 1)], label[:-9] % i)
                    for i in range(count))


def dequantizers(count):
    """DequantizeLinear nodes, each with its own constant."""
    return tensor(b"s", 1, b"\0\0\0\x3f") + b"".join(
        node(b"DequantizeLinear", [b"x%06d" % i, b"s"], [b"y%06d" % i])
        + tensor(b"x%06d" % i, 3, b"ab", 2)
        for i in range(count))


def pairs(count):
    """Pairs of QuantizeLinear and DequantizeLinear between operators."""
    return tensor(b"s", 1, b"\0\0\0\x3f") + tensor(b"z", 2, b"\5") + b"".join(
        node(b"QuantizeLinear", [b"v%d" % i, b"s", b"z"], [b"q%d" % i]) +
        node(b"DequantizeLinear", [b"q%d" % i, b"s", b"z"], [b"d%d" % i]) +
        node(b"Neg", [b"d%d" % i], [b"v%d" % (i + 1)]) for i in range(count))


def concats(count, inputs=None):
    """QLinearConcat nodes of as many inputs, each of which needs a DequantizeLinear; one node of
    `count` inputs without the argument."""
    each = inputs or count
    made = b"".join(sub(1, i) for i in (b"s", b"z") + (b"a", b"s", b"z") * each)
    made += sub(4, b"QLinearConcat") + sub(7, b"com.microsoft")
    return tensor(b"s", 1, b"\0\0\0\x3f") + tensor(b"z", 2, b"\5") + sub(11, sub(1, b"a")) + \
        b"".join(sub(1, made + sub(2, b"y%d" % i)) for i in range(count // each))


BOTH = ("convert", "strip", "inspect")
#: For each model: a function from a number of messages to a graph, the number, and the commands
#: that must accept the model.
MODELS = {
    "relu": (relus, 1_000_000, BOTH),
    "names": (names, 300_000, BOTH),
    "dequantize": (dequantizers, 200_000, ("inspect",)),
    "pairs": (pairs, 8_000, ("convert", "strip", "inspect")),
    "concat": (concats, 200_000, ("convert", "inspect")),
    "many concats": (lambda n: concats(n, 8), 200_000, ("convert", "inspect")),
    "many pairs": (pairs, 100_000, ("inspect",)),
    "nodes": (lambda n: sub(1, sub(4, b"A")) * n, 3_000_000, ()),
    "initializers": (lambda n: sub(5, sub(8, b"a")) * n, 2_000_000, ()),
    "distinct initializers": (lambda n: b"".join(sub(5, sub(8, b"%x" % i)) for i in range(n)),
                              1_000_000, ()),
    "attributes": (lambda n: sub(1, sub(4, b"A") + sub(5, sub(1, b"a")) * n), 2_000_000, ()),
    "inputs of a node": (lambda n: sub(1, sub(4, b"A") + sub(1, b"") * n), 3_000_000, ()),
    "graph inputs": (lambda n: b"".join(sub(11, sub(1, b"%x" % i)) for i in range(n)),
                     1_000_000, ()),
    "outputs": (lambda n: sub(12, b"") * n, 3_000_000, ()),
    "values": (lambda n: sub(13, b"") * n, 3_000_000, ()),
    "annotations": (lambda n: sub(14, b"") * n, 3_000_000, ()),
    "names in an annotation": (lambda n: sub(14, sub(2, sub(2, b"")) * n), 1_000_000, ()),
    "sparse initializers": (lambda n: b"".join(sub(15, sub(1, sub(8, b"%x" % i)))
                                               for i in range(n)), 700_000, ()),
    "subgraphs": (lambda n: attribute(sub(11, b"") * n), 32_000, ()),
    "many subgraphs": (lambda n: attribute(sub(11, b"") * n), 2_000_000, ()),
    "names in subgraphs": (lambda n: attribute(b"".join(
        sub(11, node(b"A", [], [b"%x" % (i % 999)])) for i in range(n))), 300_000, ()),
    "dimensions": (lambda n: b"".join(
        sub(5, sub(8, b"%x" % i) + sub(1, b"\1" * 1000)) for i in range(n // 1000)),
                   10_000_000, ()),
    "floats": (lambda n: attribute(sub(7, b"\0" * 4 * n)), 2_000_000, ()),
}


def write(path, name, scale):
    make, count, _ = MODELS[name]
    path.write_bytes(num(1, 10) + sub(8, num(2, 21)) + sub(7, make(int(count * scale))))


def write_apart(*arguments):
    """Calls write() in a separate process: the peak of a command includes the memory of the process
    that starts it."""
    writer = multiprocessing.Process(target=write, args=arguments)
    writer.start()
    writer.join()


def measure(command):
    """(seconds, peak bytes, exit code, standard error) of a command."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    return time.monotonic() - begin, usage.ru_maxrss * 1024, child.returncode, text


def judge(must_succeed, peak, bound, code, errors):
    if code != 0 and (must_succeed or code != 3):
        return f"exit code {code}: {errors.strip()}"
    return "over its bound" if peak > bound else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dequant", required=True, help="the command line program")
    parser.add_argument("--scale", type=float, default=1,
                        help="factor for the numbers of messages (1)")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS), metavar="NAME")
    options = parser.parse_args()
    bad = 0
    print(f"{'model':<24}{'MiB':>8}  "
          f"{'command':<8}{'peak MiB':>9}{'bound':>7}{'seconds':>9}{'exit':>6}")
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder, "model.onnx"), pathlib.Path(folder, "out.onnx")
        for name in options.only:
            write_apart(path, name, options.scale)
            size = path.stat().st_size
            bound = 32 * MIB + 8 * size
            convert = ["convert", path, "-o", out, "--force", "--quiet"]
            commands = {"convert": convert, "strip": [*convert, "--strip-qdq"],
                        "inspect": ["inspect", path, "--json"]}
            for command, arguments in commands.items():
                seconds, peak, code, errors = measure([options.dequant, *arguments])
                if peak > bound:
                    # Pages of the program and its libraries count too, up to 1.5 MiB more or less
                    # of them from run to run; a peak that is the data's comes again.
                    again = measure([options.dequant, *arguments])
                    seconds, peak, code, errors = min(again, (seconds, peak, code, errors),
                                                      key=lambda measured: measured[1])
                trouble = judge(command in MODELS[name][2], peak, bound, code, errors)
                bad += bool(trouble)
                print(f"{name:<24}{size / MIB:8.2f}  "
                      f"{command:<8}{peak / MIB:9.0f}{bound / MIB:7.0f}{seconds:9.2f}{code:6}  "
                      f"{trouble}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

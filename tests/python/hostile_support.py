"""Hostile models, byte by byte: a protobuf writer that may lie, and the command run under
limits."""

import json
import os
import pathlib
import struct
import subprocess

import pytest

import wire

CLI = os.environ.get("DEQUANT_CLI", "dequant")
MIB = 1 << 20
# A sanitized program reserves terabytes of addresses: there is no limit on them then.
LIMITED = subprocess.run(["prlimit", f"--as={512 * MIB}", "--", CLI, "--version"], check=False,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

FLOAT, UINT8, INT8, INT32, STRING, FLOAT16, COMPLEX64 = 1, 2, 3, 6, 8, 10, 14
UINT4, INT4, FLOAT4, INT2 = 21, 22, 23, 26
EXTERNAL = 1


def varint(value):
    return wire.varint(value & (1 << 64) - 1)


def key(number, wire_type):
    return varint(number << 3 | wire_type)


def num(number, value):
    """A varint field."""
    return key(number, 0) + varint(value)


def sub(number, *parts):
    """A length-delimited field: text, bytes or a message."""
    return wire.field(number, b"".join(p.encode() if isinstance(p, str) else p for p in parts))


def fixed32(number, value):
    return key(number, 5) + struct.pack("<f", value)


def packed(number, values):
    return sub(number, *map(varint, values))


def tensor(name, dims, data_type, *fields, raw=None):
    """A TensorProto; `fields` are whatever else it has."""
    data = () if raw is None else (sub(9, raw),)
    return b"".join([*(num(1, d) for d in dims), num(2, data_type), sub(8, name), *data, *fields])


def external(name, dims, data_type, **entries):
    """A TensorProto whose data is elsewhere, by these external_data entries."""
    return tensor(name, dims, data_type, *(entry(k, v) for k, v in entries.items()),
                  num(14, EXTERNAL))


def entry(k, v):
    return sub(13, sub(1, k), sub(2, v))


def attribute(name, *fields, kind=None):
    return sub(5, sub(1, name), *fields, b"" if kind is None else num(20, kind))


def int_attribute(name, value):
    return attribute(name, num(3, value), kind=2)


def node(op, inputs, outputs, *fields, name=""):
    return sub(1, *(sub(1, i) for i in inputs), *(sub(2, o) for o in outputs),
               sub(3, name) if name else b"", sub(4, op), *fields)


def value(number, name, elem_type=FLOAT, dims=(1,)):
    """A ValueInfoProto: number 11 for inputs, 12 for outputs, 13 for others."""
    shape = sub(2, *(sub(1, num(1, d)) for d in dims))
    return sub(number, sub(1, name), sub(2, sub(1, num(1, elem_type), shape)))


def annotation(name, parameter):
    return sub(14, sub(1, name), sub(2, sub(1, "ZERO_POINT_TENSOR"), sub(2, parameter)))


def initializer(message):
    return sub(5, message)


def graph(*fields, name="g"):
    return b"".join([sub(2, name), *fields])


def model(*graph_fields, opset=21, ir=10, more=b""):
    """A ModelProto around one graph."""
    return num(1, ir) + sub(7, graph(*graph_fields)) + sub(8, num(2, opset)) + more


# The parts of the smallest quantized model; tests put their own in the place of one of them.
X = tensor("x", [2, 3], INT8, raw=bytes([1, 2, 3, 253, 254, 255]))
SCALE = tensor("s", [], FLOAT, raw=struct.pack("<f", 0.5))
ZERO = tensor("z", [], INT8, raw=b"\1")
DEQUANTIZE = node("DequantizeLinear", ["x", "s", "z"], ["y"], name="dq")


def quantized(*more, x=X, scale=SCALE, zero=ZERO, dq=DEQUANTIZE, **options):
    """x, scale and zero point -> DequantizeLinear -> Relu -> out."""
    return model(dq, node("Relu", ["y"], ["out"], name="relu"), initializer(x), initializer(scale),
                 initializer(zero), value(12, "out", dims=(2, 3)), *more, **options)


def large(mebibytes):
    """A model whose output is four times this."""
    size = mebibytes * MIB
    return model(node("DequantizeLinear", ["x", "s"], ["y"]),
                 initializer(tensor("x", [size], INT8, raw=bytes(range(256)) * (size // 256))),
                 initializer(tensor("s", [], FLOAT, raw=b"\0\0\x80\x3f")))


class Outcome:
    """How a run of the command ended."""

    def __init__(self, done):
        self.code = done.returncode
        self.out = (done.stdout or b"").decode(errors="replace")
        self.err = (done.stderr or b"").decode(errors="replace")

    def __repr__(self):
        return f"exit code {self.code}\n{self.out[-2000:]}{self.err[-2000:]}"


def run(*arguments, address_space=512 * MIB, timeout=60, **options):
    """The command under a limit on its addresses, and of ten seconds of processor time."""
    command = [CLI, *map(os.fspath, arguments)]
    if LIMITED:
        command = ["prlimit", "--cpu=10", f"--as={address_space}", "--", *command]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "timeout": timeout, **options}
    return Outcome(subprocess.run(command, check=False, **options))


def convert(folder, data, *options, **limits):
    """Writes the model into a folder and converts it there on one thread."""
    source = pathlib.Path(folder) / "hostile.onnx"
    if data is not None:
        source.write_bytes(data)
    return run("convert", source, "-o", source.with_name("out.onnx"), "-q", "-T1",
               *options, **limits)


def reason(folder):
    """Why the first node of the model that convert() wrote stays quantized."""
    outcome = run("inspect", pathlib.Path(folder) / "hostile.onnx", "--json")
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)["nodes"][0]["reason"]


def listing(folder):
    return sorted(p.name for p in pathlib.Path(folder).iterdir())


def assert_error(outcome, code, *words):
    """The exit code, and one line on standard error that has these words."""
    assert outcome.code == code, outcome
    lines = outcome.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dequant: error: "), outcome
    for word in words:
        assert word in lines[0], outcome


COMMANDS = ("convert", "inspect", "extract")


def assert_refused(folder, data, code, *words, commands=COMMANDS, options=()):
    """Each command ends with that code, names the model and `words`, and leaves nothing behind."""
    source = pathlib.Path(folder) / "hostile.onnx"
    source.write_bytes(data)
    before = listing(folder)
    more = {"convert": ["-o", source.with_name("out.onnx")], "inspect": [],
            "extract": ["--all", "-o", source.with_name("out")],
            "run": ["-o", source.with_name("out")]}
    for command in commands:
        outcome = run(command, source, *more[command], "-T1", *options)
        assert_error(outcome, code, *words, *(["hostile.onnx"] if command != "extract" else []))
        if command in ("extract", "run") and (source.with_name("out")).exists():
            source.with_name("out").rmdir()  # the folder for the outputs, empty
        assert listing(folder) == before, outcome


def held_back(folder):
    """What a command begins with so that permissions hold it back."""
    os.chmod(folder, 0o755)
    user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.getuid() == 0 else []
    if user and subprocess.run([*user, CLI, "--version"], check=False, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=folder).returncode != 0:
        pytest.skip("ROOT: permissions do not hold root back, and setpriv or the command cannot "
                    "run as another user")
    return user

"""The README's table of dialects, types and versions against what the command line accepts."""

import itertools
import os
import re
import subprocess

import numpy as np
import pytest
from support import EXAMPLES

ROW = re.compile(r"^\|([^|]*)\|([^|]+)\|([^|]+)\|([^|]+)\|([^|]+)\|$")
INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32"]
PACKED = ["uint4", "int4", "uint2", "int2"]
FLOATS = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1",
          "float6e2m3", "float6e3m2"]
SCALES = ["float32", "float16", "bfloat16", "float8e8m0"]
QUANTIZED = ["quint8", "qint8", "quint16", "qint16", "qint32"]
LEVELS = "1_0 2_0 2_1 3_0 3_1 4_0 4_1 5_0 5_1 5_2 6_0 6_1 6_2 6_3 6_4".split()


def words(text: str, known: list[str]) -> set[str]:
    return set(re.findall(r"\w+", text)) & set(known)


def table() -> dict[str, list[dict]]:
    """The rows of each dialect; "+" and "as" resolved against the rows above."""
    lines = (EXAMPLES.parent / "README.md").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| dialect | versions |"))
    dialects: dict[str, list[dict]] = {}
    rows: list[dict] = []
    for line in itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :]):
        match = ROW.match(line) or pytest.fail(f"no row of the table: {line}")
        dialect, versions, x, scale, _ = (cell.strip() for cell in match.groups())
        if dialect:
            rows = dialects.setdefault(dialect, [])
        row = {"versions": versions}
        for column, text, known in (
            ("x", x, INTEGERS + PACKED + FLOATS + QUANTIZED),
            ("scale", scale, SCALES),
        ):
            row[column] = words(text, known)
            if "+" in text or re.search(r"\bas \d", text):
                row[column] |= rows[-1][column]
        rows.append(row)
    return dialects


def row_of(rows: list[dict], version: str, order: list[str]) -> dict | None:
    """The row whose versions hold this one: "19, 20", "3_0 to 5_2", "opset 25 to 28"."""
    for row in rows:
        named = [v for v in re.findall(r"[\d_.]+", row["versions"].replace("r1.4", "1.4"))]
        if " to " in row["versions"]:
            named = order[order.index(named[0]) : order.index(named[-1]) + 1]
        if version in named:
            return row
    return None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An array for each type, [1, 1, 1, 2] and a single one, as numpy can hold them."""
    folder = tmp_path_factory.mktemp("types")
    stored = {"float32": "f4", "float16": "f2", "bfloat16": "u2", "float8e8m0": "u1"}
    stored |= {name: name for name in INTEGERS} | {name: "i1" if name[0] == "i" else "u1"
                                                   for name in PACKED}
    stored |= {name: "u1" for name in FLOATS} | {name: name[1:] for name in QUANTIZED}
    paths = {}
    for name, dtype in stored.items():
        for kind, shape in (("tensor", (1, 1, 1, 2)), ("scalar", ())):
            paths[name, kind] = folder / f"{name}_{kind}.npy"
            np.save(paths[name, kind], np.zeros(shape, dtype))
    return paths


def accepts(files, dialect, x, scale, kind, *options, zero_point=False) -> bool:
    command = ["op", dialect, "--dry-run", "-o", "y.npy", "--x", files[x, "tensor"], "--x-type",
               x, *options]
    if dialect == "tensorflow":
        command += ["--min", "0", "--max", "1"]
    else:
        command += ["--scale", files[scale, kind]]
        if scale in ("bfloat16", "float8e8m0"):
            command += ["--scale-type", scale]
    if zero_point:
        command += ["--zero-point", files[x, kind]]
    done = subprocess.run([os.environ["DEQUANT_CLI"], *map(str, command)], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode in (0, 2, 4), done.stderr
    return done.returncode == 0


def check(rows, versions, x_types, probe):
    """Each type of x with a scale of float32, and each type of scales with an x of uint8."""
    for version in versions:
        row = row_of(rows, version, versions)
        want = row or {"x": set(), "scale": set()}
        assert {x for x in x_types if probe(version, x, "float32")} == want["x"], version
        if rows[0]["scale"] != {"float32"} or len(rows) > 1:
            assert {s for s in SCALES if probe(version, "uint8", s)} == want["scale"], version


def test_onnx(files):
    opsets = [str(v) for v in range(10, 29)]

    def probe(opset, x, scale):
        output = ["--output-dtype", "float32"] if scale == "float8e8m0" and int(opset) >= 23 else []
        return accepts(files, "onnx", x, scale, "scalar", "--opset", opset, *output)

    check(table()["ONNX `DequantizeLinear`"], opsets, INTEGERS + PACKED + FLOATS, probe)


def test_microsoft(files):
    check(
        table()["com.microsoft `DequantizeLinear`"],
        ["1"],
        INTEGERS + PACKED + FLOATS,
        lambda version, x, scale: accepts(files, "microsoft", x, scale, "scalar"),
    )


def test_tensorflow(files):
    rows = table()["TensorFlow `Dequantize`"]
    for version in ("1.4", "2"):
        want = row_of(rows, version, ["1.4", "2"])["x"]
        accepted = {x for x in QUANTIZED if accepts(files, "tensorflow", x, "", "",
                                                    "--version", version)}
        assert accepted == want


def test_directml_element_wise(files):
    def probe(level, x, scale):
        options = ["--operator", "ELEMENT_WISE_DEQUANTIZE_LINEAR", "--feature-level", level]
        with_zero = accepts(files, "directml", x, scale, "tensor", *options, zero_point=True)
        without = accepts(files, "directml", x, scale, "tensor", *options)
        assert without == (with_zero and LEVELS.index(level) >= LEVELS.index("6_2")), level
        return with_zero

    check(table()["DirectML `ELEMENT_WISE_DEQUANTIZE_LINEAR`"], LEVELS, INTEGERS + PACKED, probe)


def test_directml_dequantize(files):
    def probe(level, x, scale):
        options = ["--operator", "DEQUANTIZE", "--feature-level", level,
                   "--quantization-type", "SCALE"]
        return accepts(files, "directml", x, scale, "tensor", *options)

    check(table()["DirectML `DEQUANTIZE`"], LEVELS, INTEGERS + PACKED, probe)


def test_webnn(files):
    row = table()["WebNN `dequantizeLinear`"][0]

    def probe(x, scale):
        return accepts(files, "webnn", x, scale, "tensor", zero_point=True)

    assert {x for x in INTEGERS + PACKED + FLOATS if probe(x, "float32")} == row["x"]
    assert {s for s in SCALES if probe("uint8", s)} == row["scale"]

"""int32 with a zero point: dequant rounds the exact difference once, others do not, as
docs/numerics.md says."""

import pathlib
import re
import subprocess

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from hostile_support import CLI

DOCS = pathlib.Path(__file__).parents[2] / "docs"
X = np.array([-(2**31), 2**31 - 1, 16777217], np.int32)
ZERO_POINT = 16777219
EXACT = [int(x) - ZERO_POINT for x in X]


def documented():
    """The table of numerics.md: name of the column -> numbers."""
    lines = (DOCS / "numerics.md").read_text().splitlines()
    start = lines.index("| x | exact difference | dequant | reference evaluator | ONNX Runtime |")
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in lines[start:start + 2 + len(X)]]
    return {name: [int(row[i]) for row in rows[2:]] for i, name in enumerate(rows[0])}


def by_dequant(folder, zero_point):
    np.save(folder / "x.npy", X)
    np.save(folder / "scale.npy", np.float32(1))
    np.save(folder / "zero.npy", np.int32(zero_point))
    subprocess.run([CLI, "op", "onnx", "--x", folder / "x.npy", "--scale", folder / "scale.npy",
                    "--zero-point", folder / "zero.npy", "-o", folder / "y.npy", "--force"],
                   check=True, stdout=subprocess.DEVNULL)
    return [int(y) for y in np.load(folder / "y.npy")]


def model():
    def scalar(name, kind):
        return helper.make_tensor_value_info(name, kind, [])
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.INT32, [len(X)]),
         scalar("s", TensorProto.FLOAT),
         scalar("z", TensorProto.INT32)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [len(X)])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def feeds(zero_point):
    return {"x": X, "s": np.array(1, np.float32), "z": np.array(zero_point, np.int32)}


def by_reference(zero_point):
    return [int(y) for y in ReferenceEvaluator(model()).run(None, feeds(zero_point))[0]]


def by_onnx_runtime(zero_point):
    session = onnxruntime.InferenceSession(model().SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return [int(y) for y in session.run(None, feeds(zero_point))[0]]


def test_the_exact_difference_is_rounded_once(tmp_path):
    assert by_dequant(tmp_path, ZERO_POINT) == [int(np.float32(d)) for d in EXACT] == \
        documented()["dequant"]
    assert documented()["exact difference"] == EXACT
    assert documented()["x"] == X.tolist()


@pytest.mark.parametrize("column, theirs",
                         [("reference evaluator", by_reference), ("ONNX Runtime", by_onnx_runtime)])
def test_what_others_give_is_as_documented(tmp_path, column, theirs):
    assert theirs(ZERO_POINT) == documented()[column] != documented()["dequant"]
    assert theirs(0) == by_dequant(tmp_path, 0), "without a zero point all agree"


def test_dialects_says_the_same():
    text = re.sub(r"\s+", " ", (DOCS / "dialects.md").read_text())
    for column in ("dequant", "reference evaluator", "ONNX Runtime"):
        assert str(documented()[column]) in text, column
    assert str(X.tolist()) in text and f"zero point {ZERO_POINT}" in text

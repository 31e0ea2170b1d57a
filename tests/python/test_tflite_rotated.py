"""Weights that AI Edge Quantizer rotated: their floats are rotated too, and a warning says so."""

import numpy as np
import pytest

from support import dequant
from tflite_support import MISSING, Tensor, model, operator

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
WEIGHT = Tensor("w", "INT8", [1, 2], [1.0], [0])


def warnings(tmp_path, tensors, change=None):
    path = tmp_path / "in.tflite"
    path.write_bytes(model(tensors, change=change))
    error = dequant("convert", path, "-o", tmp_path / "out.safetensors").stderr
    return [line for line in error.splitlines() if "rotated" in line]


@pytest.mark.parametrize(("code", "warned"), [("aeq.hadamard_rotation", True), ("other", False)])
def test_weights_of_a_rotating_operator_were_converted_without_a_word(tmp_path, code, warned):
    def change(m):
        operator(m, "CUSTOM", [1], [2])
        m.operatorCodes[-1].customCode = code

    floats = [Tensor(name, "FLOAT32", None, shape=[1, 2]) for name in "xy"]
    lines = warnings(tmp_path, [WEIGHT, *floats], change)
    assert len(lines) == warned
    assert not warned or "operator aeq.hadamard_rotation: weights are rotated" in lines[0]


def test_weights_beside_the_matrix_of_a_rotation_were_converted_without_a_word(tmp_path):
    matrices = [Tensor(f"x{i}_hadamard_matrix", "FLOAT32", np.ones((2, 2))) for i in range(2)]
    [line] = warnings(tmp_path, [WEIGHT, *matrices])
    assert 'tensor "x0_hadamard_matrix": weights are rotated' in line

"""Weights that were rotated before they were quantized: a warning says what else the dense weights
need, as the configuration that asks for it is not in the output."""

import numpy as np
import pytest

import test_checkpoints_refused_compressed_tensors as compressed_tensors
import test_checkpoints_refused_gptq as gptq
from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16

AUTO_ROUND = {"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq"}
AWQ = {"quant_method": "awq", "version": "gemm"}
SPINQUANT = {"r1": True, "r2": True, "online_r1_rotation": True, "algorithm": "spinquant"}
HADAMARD = {"algorithm": "hadamard", "block_size": 32}
QUARK = {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def warnings(folder, **members):
    """The warnings of a conversion of GPTQ, or of the method that the members name."""
    gptq.config(folder, gptq.section(**members))
    return folder.convert().stderr


ROTATED = {
    "spinquant of auto_round": ("spinquant_config", {**AUTO_ROUND, "spinquant_config": SPINQUANT}),
    "hadamard of auto_round": ("rotation_config", {**AUTO_ROUND, "rotation_config": HADAMARD}),
    "hadamard of gptqmodel": ("rotation", {"rotation": "hadamard"}),
    "random of gptqmodel": ("rotation", {"rotation": "random"}),
}


@pytest.mark.parametrize("case", ROTATED)
def test_rotations_of_gptq_were_left_out_silently(folder, case):
    key, members = ROTATED[case]
    folder.file(gptq.weight())
    error = warnings(folder, **members)
    assert f"warning: quantization_config: {key}: weights are rotated" in error
    assert error.count("warning") == 1 and tensors(folder.out).keys() == {"w.weight"}


def test_rotations_of_awq_were_left_out_silently(folder):
    gptq.config(folder, {**AWQ, "bits": 4, "group_size": 32, "rotation_config": HADAMARD})
    folder.file(gptq.weight(g_idx=None, qweight=("I32", np.zeros((64, 1), np.int32)),
                            qzeros=("I32", np.zeros((2, 1), np.int32))))
    assert "rotation_config: weights are rotated" in folder.convert().stderr


def quark(folder, algorithms):
    folder.config({"torch_dtype": "bfloat16",
                   "quantization_config": {**QUARK, "algo_config": algorithms}})
    folder.file({"w.weight": ("F8_E4M3", np.zeros((8, 8), np.uint8)),
                 "w.weight_scale": ("F32", np.float32(1))})
    return folder.convert().stderr


@pytest.mark.parametrize("algorithms", [
    [{"name": "awq"}, {"name": "rotation", "r1": True, "online_r1_rotation": True}],
    {"name": "quarot"}])
def test_rotations_of_quark_were_left_out_silently(folder, algorithms):
    assert "algo_config: weights are rotated" in quark(folder, algorithms)


@pytest.mark.parametrize("algorithms", [None, [], [{"name": "awq"}, 1, {"name": 2}], "rotation"])
def test_other_algorithms_of_quark_are_none(folder, algorithms):
    assert "warning" not in quark(folder, algorithms)


@pytest.mark.parametrize("value", [None, False, "", {}, []])
def test_no_rotation_is_no_warning(folder, value):
    folder.file(gptq.weight())
    assert "warning" not in warnings(folder, rotation=value, rotation_config=value,
                                     transform_config=value, spinquant_config=value)


def test_transforms_of_compressed_tensors_are_reported(folder):
    compressed_tensors.config(folder, transform_config={"config_groups": {"a": {}}})
    folder.file(compressed_tensors.packed())
    assert "transform_config: weights are rotated" in folder.convert().stderr


TENSORS = {"w.spinquant_r1_type": ("I32", np.zeros((), np.int32)),
           "spinquant_R2_head": ("F32", np.eye(2, dtype=np.float32)),
           "shared_input_rotation_64": ("F16", np.eye(2, dtype=np.float16)),
           "w.input_prescale": ("BF16", bfloat16(np.ones(64)))}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_of_rotations_were_copied_silently(folder, name):
    """A model that rotates activations needs these; nothing else says that there are any."""
    folder.file({**gptq.weight(), name: TENSORS[name]})
    error = warnings(folder)
    assert "1 tensors are copied that describe transforms of activations" in error
    assert name in error and tensors(folder.out).keys() == {"w.weight", name}

"""AWQ's tensors as other producers than AutoAWQ write them: Quark's words under the same names, and
modules of GPTQModel with groups of their own."""

import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder

F = np.float32
RANDOM = np.random.default_rng(9)
INPUTS, OUTPUTS = 128, 16
REORDER = [0, 2, 4, 6, 1, 3, 5, 7]
QUARK = {"quant_method": "awq", "version": "gemm", "bits": 4, "group_size": 32,
         "pack_method": "reorder", "zero_point": False}
GPTQMODEL = {"quant_method": "gptq", "checkpoint_format": "gemm", "bits": 4, "group_size": 32,
             "dynamic": {"+:.*down_proj": {"group_size": 64}}}
DOWN, UP = "layers.0.down_proj", "layers.0.up_proj"


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def words(codes, order):
    """Eight codes of 4 bits in a word, of output order[i] from bit 4 i on."""
    parts = (codes.reshape(len(codes), -1, 8) & 15).astype(np.uint32)
    return sum(parts[:, :, k] << np.uint32(4 * i) for i, k in enumerate(order)).view(np.int32)


def module(name, low, high, zero, group=32, order=REORDER):
    """The tensors of a layer with codes from `low` to `high`, and its weight [OUTPUTS, INPUTS]."""
    codes = RANDOM.integers(low, high + 1, (INPUTS, OUTPUTS))
    zeros = np.broadcast_to(zero, (INPUTS // group, OUTPUTS))
    scales = RANDOM.uniform(0.5, 2, zeros.shape).astype(np.float16)
    parts = {"qweight": ("I32", words(codes, order)), "qzeros": ("I32", words(zeros, order)),
             "scales": ("F16", scales)}
    weight = (codes - zeros.repeat(group, 0)).astype(F) * scales.astype(F).repeat(group, 0)
    return {f"{name}.{part}": tensor for part, tensor in parts.items()}, weight.T


def assert_converted(folder, section, **modules):
    """Modules by name, as module() returns them, become their weights."""
    folder.config({"torch_dtype": "float32", "quantization_config": section})
    folder.file({name: tensor for parts, _ in modules.values() for name, tensor in parts.items()})
    folder.convert()
    got = {name: numbers.view(F).reshape(shape) for name, (_, shape, numbers)
           in tensors(folder.out).items()}
    assert got.keys() == {f"{name}.weight" for name in modules}
    for name, (_, weight) in modules.items():
        assert np.array_equal(got[f"{name}.weight"], weight), name


def test_codes_of_quark_in_twos_complement_were_read_as_0_to_15(folder):
    assert_converted(folder, QUARK, **{UP: module(UP, -8, 7, 0)})


def test_codes_of_quark_with_zero_points_are_those_of_awq(folder):
    zeros = RANDOM.integers(0, 16, (INPUTS // 32, OUTPUTS))
    assert_converted(folder, {**QUARK, "zero_point": True}, **{UP: module(UP, 0, 15, zeros)})


@pytest.mark.parametrize(("members", "code", "words"), [
    ({"pack_method": "order"}, 4, [f"tensor {UP}.qweight", 'pack_method "order"', '"reorder"']),
    ({"pack_method": "order", "zero_point": True}, 4, ['pack_method "order"']),
    ({"zero_point": None}, 3, ["zero_point is absent"]),
    ({"pack_method": None}, 4, [f"tensor {UP}.qzeros", "two's complement"]),
    ({"pack_method": 1}, 3, ["pack_method is 1"])])
def test_orders_of_quark_were_read_as_that_of_awq(folder, members, code, words):
    folder.config({"quantization_config": {**QUARK, **members}})
    folder.file(module(UP, -8, 7, 0)[0])
    folder.refused(code, *words)


@pytest.mark.parametrize("section", [
    GPTQMODEL, {**GPTQMODEL, "quant_method": "awq", "version": "gemm", "zero_point": False}])
@pytest.mark.parametrize("group", [32, 64])
def test_groups_of_modules_were_those_of_all_modules(folder, section, group):
    """RTN of GPTQModel heeds group sizes in "dynamic", and AWQ does not."""
    assert_converted(folder, section, **{DOWN: module(DOWN, 0, 15, 8, group),
                                         UP: module(UP, 0, 15, 8)})


@pytest.mark.parametrize(("dynamic", "code", "words"), [
    ({"+:.*down_proj": {"group_size": 16}}, 3, [f"tensor {DOWN}.weight", "2 groups"]),
    ({"+:.*down_proj": {"bits": 8}}, 4, ["AWQ with 8 bits"]),
    ({"-:.*down_proj": {}}, 3, [f"module {DOWN}", "not quantized"]),
    ({"+:.*down_proj": 1}, 3, ["dynamic"])])
def test_modules_that_dynamic_does_not_describe_are_refused(folder, dynamic, code, words):
    folder.config({"quantization_config": {**GPTQMODEL, "dynamic": dynamic}})
    folder.file(module(DOWN, 0, 15, 8, 64)[0])
    folder.refused(code, *words)

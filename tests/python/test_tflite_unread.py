"""Constants of TFLite models that dequant does not read, such as sparse ones: inspect lists them,
and verify and diff say that they cannot compare them."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from support import dequant
from tflite_support import MISSING, Tensor, model, schema

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
REASON = "its data are sparse, which dequant does not read"
W = np.array([1, 2], np.float32)
SP = np.array([[2.5, 0, 0, 0], [0, 0, 0, 3.5]], np.float32)


def sparse(tensor):
    tensor.sparsity = schema.SparsityParametersT()
    tensor.sparsity.traversalOrder = [0, 1]


@pytest.fixture
def source(tmp_path):
    """A sparse weight of quarters, and one that is read."""
    path = tmp_path / "in.tflite"
    path.write_bytes(model([
        Tensor("sp", "INT8", None, [0.5], [0], shape=[2, 4], data=b"\5\7", change=sparse),
        Tensor("w", "INT8", [1, 2], [1.0], [0]),
        Tensor("x", "UINT8", None, [0.25], [128], shape=[1, 4])]))
    return path


def verified(source, tensors):
    """What verify prints of floats that it cannot accept."""
    floats = source.parent / "float.safetensors"
    save_file(tensors, floats)
    text = dequant("verify", source, floats, code=1).stdout
    found = json.loads(dequant("verify", source, floats, "--json", code=1).stdout)
    return text, {t["name"]: t["reason"] for t in found["wrong"]}, found


def test_floats_without_a_tensor_that_is_not_read_lack_it(source):
    text, wrong, found = verified(source, {"w": W})
    assert "sp is not in" in text and not wrong
    assert found["missing"] == ["sp"] and found["unexpected"] == []


@pytest.mark.parametrize("floats", [SP, SP.astype(np.float64), SP.astype(np.int64)],
                         ids=lambda a: a.dtype.name)
def test_floats_of_a_tensor_that_is_not_read_are_not_only_there(floats, source):
    text, wrong, found = verified(source, {"w": W, "sp": floats})
    assert wrong == {"sp": REASON} and REASON in text
    assert found["missing"] == found["unexpected"] == []
    assert found["totals"]["compared"] == 2


def test_a_tensor_that_only_the_float_model_has_sparse_is_there(tmp_path):
    """The quantized model stores it as plain integers."""
    quantized, floats = tmp_path / "q.tflite", tmp_path / "f.tflite"
    quantized.write_bytes(model([Tensor("i", "INT8", [1, 2])]))
    floats.write_bytes(model([Tensor("i", "INT8", None, shape=[2], data=b"\1", change=sparse)]))
    found = json.loads(dequant("verify", quantized, floats, "--json", code=1).stdout)
    assert [(t["name"], t["reason"]) for t in found["wrong"]] == [("i", REASON)]
    assert found["missing"] == found["unexpected"] == []


def test_diff_says_why_a_tensor_is_not_compared(source):
    floats = source.parent / "float.safetensors"
    save_file({"w": W, "sp": SP}, floats)
    run = dequant("diff", source, floats, "--json", code=1)
    [skipped] = json.loads(run.stdout)["skipped"]
    assert (skipped["name"], skipped["reason"]) == ("sp", REASON)
    assert "nothing dequantizes" not in run.stderr


def test_what_is_left_is_listed_with_its_type_and_shape(source):
    left = json.loads(dequant("inspect", source, "--json").stdout)["left"]
    assert [(t["names"], t["type"], t["shape"], t["bytes"], t["reason"]) for t in left] == [
        ("sp", "I8", "[2, 4]", 2, REASON), ("x", "U8", "[1, 4]", 0, "the model computes it")]


class Shaped(schema.BlockwiseQuantizationT if schema else object):
    """The table of a later schema, which has a block_shape as well."""

    def __init__(self, table, block_shape):
        super().__init__()
        self.__dict__ |= vars(table)
        self.block_shape = block_shape

    def Pack(self, builder):
        builder.StartVector(4, len(self.block_shape), 4)
        for size in reversed(self.block_shape):
            builder.PrependInt32(size)
        sizes = builder.EndVector()
        builder.StartObject(4)
        for i, number in enumerate((self.scales, self.zeroPoints, self.blockSize)):
            builder.PrependInt32Slot(i, number, 0)
        builder.PrependUOffsetTRelativeSlot(3, sizes, 0)
        return builder.EndObject()


@pytest.mark.parametrize(("shape", "reads"), [
    ([], True), ([1, 4], True), ([4, 1], False), ([2, 2], False), ([4], False), ([1, 8], False),
    ([1, 1, 4], False)])
def test_blocks_of_several_rows_were_read_as_parts_of_rows(shape, reads, tmp_path):
    def change(tensor):
        tensor.quantization.details = Shaped(tensor.quantization.details, shape)

    path = tmp_path / "in.tflite"
    path.write_bytes(model([
        Tensor("w", "INT8", np.ones((4, 8)), block=(1, -1, 4), change=change),
        Tensor("s", "FLOAT32", np.arange(8).reshape(4, 2))]))
    done = dequant("convert", path, "-o", tmp_path / "out.safetensors", code=0 if reads else 4)
    assert reads or "its block_shape is not that of 4 neighbours in a row" in done.stderr

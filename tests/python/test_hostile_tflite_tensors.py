"""TFLite models whose shapes, data or quantization parameters contradict each other, or are odd:
the rules of TFLite's own loader, sentences that name the tensor, and no output."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from hostile_tflite_support import (WANTED, W, changed, in_tensor, read, refused, write)
from support import dequant
from tflite_support import MISSING, Tensor, model, schema

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
GOOD = model([W]) if schema else b""


@pytest.mark.parametrize("more", [-1, 1])
def test_data_have_the_bytes_of_the_shape(more, tmp_path):
    data = bytes(6 + more)
    refused(tmp_path, changed(None, Tensor("w", "INT8", None, [1.0], [0], shape=[2, 3], data=data)),
            'tensor "w": its 6 values of type INT8 take 6 bytes', str(6 + more))
    refused(tmp_path, changed(None, Tensor("w", "INT4", None, [1.0], [0], shape=[3],
                                           data=bytes(2 + more))), "take 2 bytes")


def test_packed_codes_of_an_odd_number_end_within_a_byte(tmp_path):
    data = Tensor("w", "INT4", None, [1.0], [0], shape=[3], data=b"\x21\xf3")
    assert read(tmp_path, changed(None, data))[0] == [1, 2, 3]  # the last bits are not read


SHAPES = [([-1, 6], "negative"), ([-2**31], "negative"), ([2**31 - 1] * 4, "overflow"),
          ([2**31 - 1] * 4 + [0], "overflow"), ([0, 3], "0 values"), ([2**31 - 1] * 2, "take")]


@pytest.mark.parametrize("shape,words", SHAPES, ids=str)
def test_a_shape_is_that_of_its_data(shape, words, tmp_path):
    error = dequant("inspect", write(tmp_path, changed(in_tensor(
        shape=np.array(shape, np.int32)))), code=3).stderr
    assert 'tensor "w"' in error and "in.tflite" in error


def test_a_tensor_without_a_shape_is_a_scalar(tmp_path):
    scalar = Tensor("w", "INT8", None, [0.5], [0], shape=None, data=b"\3")
    assert read(tmp_path, changed(None, scalar))[0] == 1.5
    refused(tmp_path, changed(in_tensor(shape=None)), "its 1 values of type INT8 take 1 bytes")
    scalar.scale, scalar.zero_point = [0.5, 2.0], [0, 0]
    refused(tmp_path, changed(None, scalar), "2 scales for 1 indices of dimension 0")


def test_the_signature_of_a_shape_is_not_the_shape(tmp_path):
    assert read(tmp_path, changed(in_tensor(shapeSignature=[-1, 3])))[0] == WANTED


def test_more_dimensions_than_safetensors_files_have_are_a_limit(tmp_path):
    shape = np.ones(65, np.int32)
    refused(tmp_path, changed(in_tensor(shape=shape)), "tensor 0: w: 65 dimensions, more than 64")


@pytest.mark.parametrize("offset,size,words", [
    (2, 6, "overlap the flatbuffer"), (8, 6, "overlap the flatbuffer"),
    (None, 1, "not within the file"), (2**64 - 1, 2, "not within the file"),
    (2**63, 2**63, "not within the file"), (16, 2**64 - 1, "not within the file")])
def test_data_behind_the_flatbuffer_are_in_the_file(offset, size, words, tmp_path):
    def change(m):
        m.buffers[1].data = None
        m.buffers[1].offset = len(GOOD) + 4096 if offset is None else offset
        m.buffers[1].size = size
    refused(tmp_path, changed(change), "buffer 1", words)


def test_data_are_in_the_flatbuffer_or_behind_it(tmp_path):
    def change(m):
        m.buffers[1].offset, m.buffers[1].size = 64, 6
    refused(tmp_path, changed(change), "buffer 1: its data are in the flatbuffer and at offset 64")
    def sentinel(m):
        m.buffers[1].offset, m.buffers[1].size = 1, 1
    assert read(tmp_path, changed(sentinel))[0] == WANTED


# Quantization parameters.

def quantization(**fields):
    def change(m):
        for name, value in fields.items():
            setattr(m.subgraphs[0].tensors[0].quantization, name, value)
    return changed(change)


@pytest.mark.parametrize("fields,words", [
    ({"zeroPoint": None}, "scales without zero points"),
    ({"zeroPoint": []}, "scales without zero points"),
    ({"zeroPoint": [1]}, "1 zero points for 2 scales"),
    ({"zeroPoint": [1, 2, 3]}, "3 zero points for 2 scales"),
    ({"scale": [1.0] * 3, "zeroPoint": [0] * 3}, "3 scales for 2 indices of dimension 0"),
    ({"quantizedDimension": 1}, "2 scales for 3 indices of dimension 1"),
    ({"quantizedDimension": -1}, "quantized_dimension -1 of a tensor of rank 2"),
    ({"quantizedDimension": 2}, "quantized_dimension 2 of a tensor of rank 2"),
    ({"zeroPoint": [0, 128]}, "a zero point of 128, where codes are -128 to 127"),
    ({"zeroPoint": [-129, 0]}, "a zero point of -129, where codes are -128 to 127"),
    ({"zeroPoint": [2**40, 0]}, "a zero point of 1099511627776"),
    ({"zeroPoint": [0, -2**63]}, "a zero point of -9223372036854775808"),
], ids=str)
def test_parameters_are_those_that_the_loader_of_tflite_takes(fields, words, tmp_path):
    refused(tmp_path, quantization(**fields), 'in.tflite: tensor "w": ' + words)


def test_a_zero_point_of_300_is_no_uint8(tmp_path):
    refused(tmp_path, changed(None, Tensor("w", "UINT8", [1], [1.0], [300])),
            "a zero point of 300, where codes are 0 to 255")


@pytest.mark.parametrize("none", ["table", "lists"])
def test_a_tensor_without_scales_is_not_quantized(none, tmp_path):
    def change(m):
        q = m.subgraphs[0].tensors[0].quantization
        q.scale, q.zeroPoint = [], []
        q.min = [-1.0]
        if none == "table":
            m.subgraphs[0].tensors[0].quantization = None
    assert read(tmp_path, changed(change)) == ([[1, 2, 3], [4, 5, 6]], [])


@pytest.mark.parametrize("scale", [None, []])
def test_zero_points_without_scales_are_ignored_with_a_warning(scale, tmp_path):
    """TFLite's loader returns before it looks at zero points where there are no scales."""
    source = write(tmp_path, quantization(scale=scale, zeroPoint=[300]))
    output = tmp_path / "out.safetensors"
    assert 'tensor "w": zero points without scales are ignored' in dequant(
        "convert", source, "-o", output).stderr
    same = load_file(output)["w"]
    assert same.dtype == np.int8 and same.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_bias_with_the_dimension_of_its_weights_is_read_with_a_warning(tmp_path):
    bias = Tensor("w", "INT32", [1, 2], [0.5, 2.0], [0, 0], axis=3)
    floats, [warning] = read(tmp_path, changed(None, bias))
    assert floats == [0.5, 4] and "quantized_dimension 3 of a tensor of rank 1" in warning
    refused(tmp_path, changed(None, Tensor("w", "INT32", [1, 2], [0.5], [0], axis=3)),
            "quantized_dimension 3 of a tensor of rank 1")


def test_odd_scales_are_used_as_they_are_with_a_warning(tmp_path):
    """Channels that are never active have the scale 0; CVE-2022-29212: a scale above 1."""
    codes = np.ones((6, 1))
    scale = np.array([0, -1, np.nan, np.inf, 3.5, 1e-45], np.float32)
    data = changed(None, Tensor("w", "INT8", codes, scale, [0] * 6))
    floats, [warning] = read(tmp_path, data)
    assert np.array_equal(np.ravel(floats), scale, equal_nan=True)
    assert warning == 'tensor "w": 4 of its 6 scales are NaN, infinite, 0 or negative'
    assert warning in dequant("convert", tmp_path / "in.tflite", "-o", tmp_path / "o.safetensors",
                              "-q").stderr
    assert read(tmp_path, changed(None, Tensor("w", "INT8", [1], [3.5], [0])))[1] == []


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16", "BFLOAT16"])
def test_odd_scales_of_blocks_are_used_as_they_are_with_a_warning(kind, tmp_path):
    scale = np.array([[0, -1], [np.nan, 2]], np.float32)
    made = Tensor("s", kind, scale)
    if kind == "BFLOAT16":
        made = Tensor("s", kind, None, shape=scale.shape,
                      data=scale.view(np.uint16)[:, 1::2].tobytes())
    source = write(tmp_path, changed(None, Tensor("w", "INT8", np.ones((2, 8)), block=(1, -1, 4)),
                                     made))
    output = tmp_path / "out.safetensors"
    warnings = json.loads(dequant("convert", source, "-o", output, "--json").stdout)["warnings"]
    assert 'tensor "w": 3 of its 4 scales are NaN, infinite, 0 or negative' in warnings
    assert np.array_equal(load_file(output)["w"], np.repeat(scale, 4, 1), equal_nan=True)


@pytest.mark.parametrize("kind,value", [("FLOAT32", 1.5), ("BOOL", True)])
def test_parameters_of_floats_are_ignored_with_a_warning(kind, value, tmp_path):
    source = write(tmp_path, changed(None, Tensor("w", kind, [value], [1.0], [0])))
    [warning] = json.loads(dequant("inspect", source, "--json").stdout)["warnings"]
    assert warning == f'tensor "w": quantization parameters of a {kind} tensor are ignored'
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.safetensors",
                                "--json").stdout)
    assert report["converted"] == []


SCALES = Tensor("s", "FLOAT16", [[1, 2], [3, 4]])


@pytest.mark.parametrize("block,words", [
    ((2, -1, 4), "its scales are tensor 2 of 2 tensors"),
    ((-1, -1, 4), "its scales are tensor -1 of 2 tensors"),
    ((2**31 - 1, -1, 4), "its scales are tensor 2147483647 of 2 tensors"),
    ((1, 2, 4), "its zero points are tensor 2 of 2 tensors"),
    ((1, -1, 0), "blocks of 0 in rows of 8"), ((1, -1, -4), "blocks of -4 in rows of 8"),
    ((1, -1, 3), "blocks of 3 in rows of 8"), ((1, -1, 16), "blocks of 16 in rows of 8"),
    ((1, -1, 2), 'its scales "s": its 8 values of type FLOAT16 take 16 bytes'),
    ((1, -1, 8), 'its scales "s": its 2 values of type FLOAT16 take 4 bytes'),
], ids=str)
def test_blocks_and_their_scales_agree(block, words, tmp_path):
    refused(tmp_path, changed(None, Tensor("w", "INT8", np.ones((2, 8)), block=block), SCALES),
            'tensor "w": ' + words)


@pytest.mark.parametrize("scales", [Tensor("s", "FLOAT16", None, shape=[2, 2]),
                                    Tensor("s", "INT16", [[1, 2], [3, 4]]),
                                    Tensor("w", "INT8", np.ones((2, 8)), block=(1, -1, 4))],
                         ids=["computed", "integers", "blocks"])
def test_scales_of_blocks_that_are_not_constant_floats_are_refused(scales, tmp_path):
    source = write(tmp_path, changed(None, Tensor("w", "INT8", np.ones((2, 8)), block=(1, -1, 4)),
                                     scales))
    error = dequant("convert", source, "-o", tmp_path / "o.safetensors", code=4).stderr
    assert "are not constant floats" in error


def test_blocks_without_their_table_are_refused(tmp_path):
    def change(m):
        m.subgraphs[0].tensors[0].quantization.detailsType = 2
    refused(tmp_path, changed(change), "blockwise quantization without its table")


# Sparse tensors: none of their arrays is read.

@pytest.mark.parametrize("order", [None, [], [0, 0], [5, -1], [1] * 1000],
                         ids=["none", "empty", "twice", "outside", "long"])
def test_no_array_of_a_sparse_tensor_is_read(order, tmp_path):
    """CVE-2022-23560: indices of a sparse tensor lead out of the dense one."""
    def change(m):
        s = m.subgraphs[0].tensors[0].sparsity = schema.SparsityParametersT()
        s.traversalOrder = order
        s.blockMap = [2**31 - 1]
        s.dimMetadata = [schema.DimensionMetadataT()]
        s.dimMetadata[0].format, s.dimMetadata[0].denseSize = 1, -5
    source = write(tmp_path, changed(change))
    error = dequant("convert", source, "-o", tmp_path / "o.safetensors", code=4).stderr
    assert 'tensor "w": its data are sparse' in error

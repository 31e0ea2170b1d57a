"""TFLite models that are malformed or odd: a sentence that names the table and the rule, an exit
code, and no output. What is accepted is read."""

import json
import struct
import time

import numpy as np
import pytest

from support import dequant
from tflite_support import MISSING, Tensor, assembled, model, operator, schema

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

W = Tensor("w", "INT8", [[1, 2, 3], [4, 5, 6]], [0.5, 2.0], [1, -1], 0)
WANTED = [[0, 0.5, 1], [10, 12, 14]]


def write(folder, data):
    path = folder / "in.tflite"
    path.write_bytes(data)
    return path


def refused(folder, data, *words, code=3):
    """Both `inspect` and `convert` fail with a sentence that has the words; nothing is written."""
    source = write(folder, data)
    output = folder / "out.safetensors"
    for command in (("inspect", source), ("convert", source, "-o", output)):
        error = dequant(*command, code=code).stderr
        assert error.count("\n") == 1 and not output.exists()
        assert all(word in error for word in words), error


def read(folder, data, name="w"):
    """The floats of a tensor, and the warnings."""
    source = write(folder, data)
    dequant("extract", source, name, "-o", folder / "w.npy", "--force")
    facts = json.loads(dequant("inspect", source, "--json").stdout)
    return np.load(folder / "w.npy").tolist(), facts["warnings"]


def changed(change, *tensors):
    return model(list(tensors or (W,)), change=change)


def test_the_model_of_these_tests_is_read(tmp_path):
    assert read(tmp_path, changed(None)) == (WANTED, [])


# Flatbuffers.

GOOD = model([W]) if schema else b""


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7])
def test_a_file_shorter_than_an_identifier_is_no_model(size, tmp_path):
    refused(tmp_path, GOOD[:size], "the identifier of a model is not there")


@pytest.mark.parametrize("offset", [0, 1, 3, 2**31 - 1, 2**31, 2**32 - 1, len(GOOD), len(GOOD) - 1])
def test_the_root_is_a_table_of_the_file(offset, tmp_path):
    refused(tmp_path, struct.pack("<I", offset) + GOOD[4:], "byte ", "leads out of the file")


def test_every_prefix_is_refused_or_lacks_only_padding(tmp_path):
    """One process reads all of them: a model that lacks its end is no model."""
    accepted = []
    for size in range(8, len(GOOD), 1 + len(GOOD) // 120):
        source = write(tmp_path, GOOD[:size])
        try:
            dequant("inspect", source, code=3)
        except AssertionError:
            accepted.append(size)
    assert accepted == []


def place_of(data, number, kind="<I"):
    """Where the only such number is."""
    wanted = struct.pack(kind, number)
    assert data.count(wanted) == 1
    return data.index(wanted)


def patched(data, at, new, kind="<I"):
    new = struct.pack(kind, new)
    return data[:at] + new + data[at + len(new):]


def vtable_of_root(data):
    root = struct.unpack_from("<I", data, 0)[0]
    return root, root - struct.unpack_from("<i", data, root)[0]


@pytest.mark.parametrize("change", [
    lambda d, root, vt: patched(d, root, -2**31, "<i"),
    lambda d, root, vt: patched(d, root, 2**31 - 1, "<i"),
    lambda d, root, vt: patched(d, root, root - len(d), "<i"),
    lambda d, root, vt: patched(d, root, root - vt + 1, "<i"),
    lambda d, root, vt: patched(d, vt, 5, "<H"),
    lambda d, root, vt: patched(d, vt, 65534, "<H"),
], ids=["far before", "far behind", "at the end", "odd", "odd size", "size"])
def test_a_vtable_is_within_the_file(change, tmp_path):
    refused(tmp_path, change(GOOD, *vtable_of_root(GOOD)), "a table, or its vtable, leads out")


def test_a_field_is_within_the_file(tmp_path):
    _, vtable = vtable_of_root(GOOD)
    for field in (0, 2, 3, 4):  # version, subgraphs, description, buffers
        at = vtable + 4 + 2 * field
        refused(tmp_path, patched(GOOD, at, 65532, "<H"), "byte ", "the file")


def test_lengths_of_vectors_and_texts_are_within_the_file(tmp_path):
    data = model([Tensor("w", "INT8", None, [0.5] * 13, [0] * 11, shape=[17])])
    for length in (13, 11):
        for new in (2**32 - 1, 2**30, 2**29 + 1, len(data)):
            refused(tmp_path, patched(data, place_of(data, length), new),
                    "a vector or a text is longer than the file")
    data = model([Tensor("n" * 41, "INT8", None)])
    for new in (len(data), 2**31, 2**32 - 1):
        refused(tmp_path, patched(data, place_of(data, 41), new), "a text is longer than the file")
    refused(tmp_path, data.replace(b"n\0", b"nn"), "a text does not end with a zero byte")


@pytest.mark.parametrize("missing", ["subgraphs", "buffers", "operatorCodes", "metadata"])
def test_a_model_may_lack_lists(missing, tmp_path):
    def change(m):
        setattr(m, missing, None)
        if missing == "buffers":
            m.subgraphs[0].tensors = None
    source = write(tmp_path, changed(change))
    count = json.loads(dequant("inspect", source, "--json").stdout)["constants"]
    assert count == (1 if missing in ("operatorCodes", "metadata") else 0)


def test_a_tensor_of_a_model_without_buffers_is_refused(tmp_path):
    refused(tmp_path, changed(lambda m: setattr(m, "buffers", None)),
            "subgraph 0: tensor 0: w: buffer 1 of 0 buffers")


def test_more_tables_than_the_verifier_allows_are_a_limit(tmp_path):
    """A list may have one table a million times."""
    def one(b):
        schema.TensorStart(b)
        return [schema.TensorEnd(b)]
    refused(tmp_path, assembled(one, codes=1_000_001), "more than 1000000 tables")


def test_memory_grows_with_the_file_whatever_its_tables_share(tmp_path):
    def shared(b):
        schema.TensorStart(b)
        return [schema.TensorEnd(b)] * 900_000
    refused(tmp_path, assembled(shared), "the structure of the model needs more than")


def test_other_versions_of_the_schema_are_not_read(tmp_path):
    refused(tmp_path, changed(lambda m: setattr(m, "version", 2)),
            "version 2 of the schema, where 3 is known", code=4)


# Indices.

def in_tensor(**fields):
    def change(m):
        for name, value in fields.items():
            setattr(m.subgraphs[0].tensors[0], name, value)
    return change


@pytest.mark.parametrize("index", [2, 2**32 - 1])
def test_the_buffer_of_a_tensor_exists(index, tmp_path):
    refused(tmp_path, changed(in_tensor(buffer=index)), f"tensor 0: w: buffer {index} of 2 buffers")


def test_buffer_0_with_data_is_used_with_a_warning(tmp_path):
    def change(m):
        m.buffers[0].data = m.buffers[1].data
        m.subgraphs[0].tensors[0].buffer = 0
    floats, [warning] = read(tmp_path, changed(change))
    assert floats == WANTED and warning.startswith("buffer 0 has 6 bytes")


def test_a_tensor_with_an_empty_buffer_is_no_constant(tmp_path):
    """CVE-2020-15209: its bytes must not be read."""
    source = write(tmp_path, changed(lambda m: setattr(m.buffers[1], "data", None)))
    assert json.loads(dequant("inspect", source, "--json").stdout)["constants"] == 0
    assert "the model computes it" in dequant("extract", source, "w", "-o", tmp_path / "w.npy",
                                              code=2).stderr


def test_operators_have_tensors_and_codes_of_the_model(tmp_path):
    def broken(inputs, outputs, code=None):
        def change(m):
            operator(m, "DEQUANTIZE", inputs, outputs)
            if code is not None:
                m.subgraphs[0].operators[0].opcodeIndex = code
        return changed(change, W, Tensor("y", "FLOAT32", None))
    write(tmp_path, broken([0], [1]))
    dequant("inspect", tmp_path / "in.tflite")
    for index in (2, -2, 2**31 - 1, -2**31):
        refused(tmp_path, broken([index], [1]), f"operator 0: tensor {index} of 2 tensors")
        refused(tmp_path, broken([0], [index]), f"operator 0: tensor {index} of 2 tensors")
    for inputs, outputs in (([-1], [1]), ([0], [-1]), ([0], [0]), ([], [1]), ([0, 1], [1])):
        refused(tmp_path, broken(inputs, outputs), "operator 0: a DEQUANTIZE")  # CVE-2020-15210
    for code in (1, 2**32 - 1):
        refused(tmp_path, broken([0], [1], code), f"operator 0: operator code {code} of 1")


def test_inputs_outputs_and_metadata_are_in_the_model(tmp_path):
    for where in ("inputs", "outputs"):
        refused(tmp_path, changed(lambda m: setattr(m.subgraphs[0], where, [1])),
                "subgraph 0: tensor 1 of 1 tensors")
    def metadata(buffer):
        def change(m):
            m.metadata = [schema.MetadataT()]
            m.metadata[0].name, m.metadata[0].buffer = "min_runtime_version", buffer
        return changed(change)
    refused(tmp_path, metadata(2), "metadata 0: buffer 2 of 2 buffers")
    source = write(tmp_path, metadata(1))
    assert json.loads(dequant("inspect", source, "--json").stdout)["metadata"] == [
        "min_runtime_version"]


def test_a_subgraph_that_calls_itself_is_read(tmp_path):
    def change(m):
        operator(m, "WHILE", [0], [0])
        m.subgraphs[0].operators[0].builtinOptionsType = schema.BuiltinOptions.WhileOptions
        m.subgraphs[0].operators[0].builtinOptions = schema.WhileOptionsT()
    assert read(tmp_path, changed(change))[0] == WANTED


# Shapes and data.

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
    ({"scale": None}, "zero points without scales"),
    ({"scale": []}, "zero points without scales"),
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


# What tables share: time and memory grow with the file.

def test_parameters_that_tensors_share_are_checked_once(tmp_path):
    tensors, numbers = 60_000, 1_000_000

    def shared(b):
        scale = b.CreateNumpyVector(np.ones(numbers, np.float32))
        zero = b.CreateNumpyVector(np.zeros(numbers, np.int64))
        schema.QuantizationParametersStart(b)
        schema.QuantizationParametersAddScale(b, scale)
        schema.QuantizationParametersAddZeroPoint(b, zero)
        parameters = schema.QuantizationParametersEnd(b)
        shape = b.CreateNumpyVector(np.array([numbers], np.int32))
        name = b.CreateString("shared")
        made = []
        for i in range(tensors):
            own = b.CreateString(f"t{i}") if i % 2 else name
            schema.TensorStart(b)
            schema.TensorAddName(b, own)
            schema.TensorAddShape(b, shape)
            schema.TensorAddType(b, schema.TensorType.INT8)
            schema.TensorAddQuantization(b, parameters)
            made.append(schema.TensorEnd(b))
        return made
    source = write(tmp_path, assembled(shared, bytes(numbers)))
    began = time.monotonic()
    found = json.loads(dequant("inspect", source, "--json").stdout)
    assert found["constants"] == tensors // 2 + 1
    assert time.monotonic() - began < 20  # each number once for each tensor takes minutes


def test_a_long_name_that_tensors_share_is_a_limit(tmp_path):
    def shared(b):
        name = b.CreateString("n" * 100_000)
        made = []
        for i in range(1000):
            shape = b.CreateNumpyVector(np.array([1] * (i % 60), np.int32))
            schema.TensorStart(b)
            schema.TensorAddName(b, name)
            schema.TensorAddShape(b, shape)
            schema.TensorAddType(b, schema.TensorType.INT8)
            made.append(schema.TensorEnd(b))
        return made
    refused(tmp_path, assembled(shared, b"1"), "the structure of the model needs more than")

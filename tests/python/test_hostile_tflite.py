"""TFLite models that are malformed or odd: a sentence that names the table and the rule, an exit
code, and no output. What is accepted is read."""

import json
import resource
import struct

import numpy as np
import pytest

from hostile_tflite_support import WANTED, W, changed, in_tensor, read, refused, write
from support import dequant
from tflite_support import MISSING, Tensor, assembled, model, operator, schema

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


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


def test_no_prefix_of_a_model_is_a_model(tmp_path):
    for size in range(8, len(GOOD), 3):
        dequant("inspect", write(tmp_path, GOOD[:size]), code=3)


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

@pytest.mark.parametrize("index", [2, 2**32 - 1])
def test_the_buffer_of_a_tensor_exists(index, tmp_path):
    refused(tmp_path, changed(in_tensor(buffer=index)), f"tensor 0: w: buffer {index} of 2 buffers")


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


# What tables share: time and memory grow with the file.

def seconds():
    """Of processors, that all commands took: other programs on the machine do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
            schema.TensorAddBuffer(b, 1)
            schema.TensorAddQuantization(b, parameters)
            made.append(schema.TensorEnd(b))
        return made
    source = write(tmp_path, assembled(shared, bytes(numbers)))
    before = seconds()
    found = json.loads(dequant("inspect", source, "--json").stdout)
    assert found["constants"] == tensors // 2 + 1
    assert seconds() - before < 20  # each number once for each tensor takes minutes


def test_a_long_name_or_list_that_many_tables_share_is_read_once(tmp_path):
    """400,000 tensors and operators have a name or a list of megabytes, the same one."""
    many, length = 200_000, 3_000_000

    def shared(b):
        name = b.CreateString("n" * length)
        schema.TensorStart(b)
        schema.TensorAddName(b, name)
        schema.TensorAddType(b, schema.TensorType.INT8)
        schema.TensorAddBuffer(b, 1)
        return [schema.TensorEnd(b)] * many

    def operators(b):
        inputs = b.CreateNumpyVector(np.zeros(length, np.int32))
        schema.OperatorStart(b)
        schema.OperatorAddInputs(b, inputs)
        return [schema.OperatorEnd(b)] * many
    source = write(tmp_path, assembled(shared, b"1", codes=1, operators=operators))
    before = seconds()
    found = json.loads(dequant("inspect", source, "--json").stdout)
    assert found["constants"] == 1 and found["subgraphs"][0]["operators"] == many
    assert seconds() - before < 20


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
            schema.TensorAddBuffer(b, 1)
            made.append(schema.TensorEnd(b))
        return made
    refused(tmp_path, assembled(shared, b"1"), "the structure of the model needs more than")

"""`dequant` on TFLite models made by hand: every type and granularity, names, subgraphs, data
outside of the flatbuffer, what is copied, and what is refused."""

import json
import os

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from support import dequant, peak_memory
from tflite_support import (MISSING, Tensor, affine, limits, model, operator, pack, parsed,
                            random_codes, schema)

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
F = np.float32


@pytest.fixture
def rng():
    return np.random.default_rng(23)


def saved(folder, *subgraphs, change=None):
    path = folder / "in.tflite"
    path.write_bytes(model(*subgraphs, change=change))
    return path


def converted(source, *options):
    """The tensors of the output, and the report."""
    output = source.parent / "out.safetensors"
    run = dequant("convert", source, "-o", output, "--json", "--force", *options)
    return load_file(output), json.loads(run.stdout)


def same_bits(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("kind", ["INT8", "UINT8", "INT16", "INT4", "UINT4", "INT2", "INT32"])
def test_floats_are_scale_times_the_difference(kind, axis, rng, tmp_path):
    codes = random_codes(rng, kind, (3, 5, 7))  # an odd number, of packed codes too
    count = 1 if axis is None else codes.shape[axis]
    scale = rng.random(count).astype(F)
    lowest, highest = limits(kind)
    zero = np.zeros(count, np.int64) if kind == "INT32" else rng.integers(
        lowest, highest, count, endpoint=True)
    tensors, report = converted(saved(tmp_path, [
        Tensor("w", kind, codes, scale, zero, axis or 0)]))
    want = affine(codes, scale, zero, axis)
    if kind == "INT32":  # codes are rounded to float32 first
        want = affine(codes.astype(F), scale, 0, axis)
    same_bits(tensors["w"], want)
    assert [(t["name"], t["scheme"]) for t in report["converted"]] == [
        ("w", "QuantizationParameters")]


def test_every_code_of_16_bits_has_the_float_of_one_rounding(tmp_path):
    codes = np.arange(-2**15, 2**15)
    for scale in (0.1, 3e-8, 1.7e38, 1e-44):
        tensors, _ = converted(saved(tmp_path, [Tensor("w", "INT16", codes, [scale], [0])]))
        # the reference kernel multiplies in double and rounds once
        with np.errstate(over="ignore"):
            want = (np.float64(F(scale)) * codes).astype(F)
        same_bits(tensors["w"], want)


@pytest.mark.parametrize("scales", ["FLOAT16", "FLOAT32"])
@pytest.mark.parametrize("kind", ["INT4", "INT8", "INT2"])
def test_blocks_have_their_scale_from_a_tensor(kind, scales, rng, tmp_path):
    codes = random_codes(rng, kind, (6, 64))
    scale = rng.random((6, 2)).astype(F)
    if scales == "FLOAT16":
        scale = scale.astype(np.float16)
    zero = Tensor("zero", "INT32", np.zeros((6, 2)))
    for index in (-1, 0, 1):  # none; a tensor that has no zero points; zero points that are 0
        tensors, report = converted(saved(tmp_path, [
            Tensor("w", kind, codes, block=(2, index, 32)), zero, Tensor("s", scales, scale)]))
        want = codes.astype(F) * np.repeat(scale.astype(F), 32, axis=1)
        same_bits(tensors["w"], want)
        assert report["converted"][0]["scheme"] == "BlockwiseQuantization"
        assert set(tensors) == {"w", "zero"}  # the scales are part of w
    assert json.loads(dequant("inspect", tmp_path / "in.tflite", "--json", "--all").stdout)[
        "tensors"][0]["block_size"] == 32


@pytest.mark.parametrize("kind", ["INT32", "INT8", "UINT4", "INT4", "INT2", "UINT16", "UINT32",
                                  "FLOAT32"])
def test_zero_points_of_blocks_which_no_kernel_reads_are_refused_by_name(kind, tmp_path):
    zero = Tensor("z", kind, [[0, 0], [0, 1]])
    source = saved(tmp_path, [Tensor("w", "INT8", np.ones((2, 8)), block=(1, 2, 4)),
                              Tensor("s", "FLOAT32", np.ones((2, 2))), zero])
    error = dequant("convert", source, "-o", tmp_path / "o.safetensors", code=4).stderr
    assert 'tensor "w": its blocks have zero points other than 0' in error
    zero.values = np.zeros((2, 2))
    source = saved(tmp_path, [Tensor("w", "INT8", np.ones((2, 8)), block=(1, 2, 4)),
                              Tensor("s", "FLOAT32", np.ones((2, 2))), zero])
    assert converted(source)[0]["w"].tolist() == np.ones((2, 8)).tolist()


def test_biases_of_64_bits_are_read_where_their_codes_have_32(tmp_path):
    codes = np.array([2**31 - 1, -2**31, 5, -7])
    tensors, _ = converted(saved(tmp_path, [Tensor("b", "INT64", codes, [1e-9, 2, 3, 4], None)]))
    same_bits(tensors["b"], affine(codes.astype(F), [1e-9, 2, 3, 4], 0, 0))
    source = saved(tmp_path, [Tensor("b", "INT64", [0, 2**31], [0.5], [0])])
    error = dequant("convert", source, "-o", tmp_path / "o.safetensors", code=4).stderr
    assert 'tensor "b": its codes of 0 to 2147483648 take more than 32 bits' in error


def test_other_constants_are_copied_or_listed(tmp_path):
    values = {"half": ("FLOAT16", np.array([1.5, -0.0, 65504], np.float16)),
              "float": ("FLOAT32", np.array([[1, np.nan]], F)),
              "shape": ("INT32", np.array([1, -1], np.int32)),
              "long": ("INT64", np.array([2**40])), "flag": ("BOOL", np.array([True, False])),
              "double": ("FLOAT64", np.array([0.1])), "scalar": ("INT8", np.array(3, np.int8))}
    made = [Tensor(name, kind, array) for name, (kind, array) in values.items()]
    made += [Tensor("text", "STRING", shape=[1], data=b"\1\0\0\0\x0c\0\0\0\x0d\0\0\0a"),
             Tensor("nibbles", "INT4", [1, 2, 3]), Tensor("activation", "INT8", None, [1], [0])]
    tensors, report = converted(saved(tmp_path, made))
    assert set(tensors) == set(values)
    for name, (_, array) in values.items():
        same_bits(tensors[name], array)
    assert [(t["name"], t["reason"]) for t in report["dropped"]] == [
        ("text", "safetensors files have no type STRING"),
        ("nibbles", "safetensors files have no type INT4")]
    floats, _ = converted(tmp_path / "in.tflite", "--dtype", "bfloat16", "--others", "same")
    assert floats.keys() == tensors.keys()
    with safe_open(tmp_path / "out.safetensors", "np") as file:
        assert file.get_slice("float").get_dtype() == "BF16"
        assert file.get_slice("double").get_dtype() == "F64"


def test_a_float16_model_becomes_float32_where_others_are_the_same(tmp_path, rng):
    half = rng.standard_normal((4, 9)).astype(np.float16)
    source = saved(tmp_path, [Tensor("w", "FLOAT16", half)])
    tensors, _ = converted(source, "--others", "same")
    same_bits(tensors["w"], half.astype(F))


def test_names_are_unique_and_utf8(tmp_path):
    one = dict(scale=[1.0], zero_point=[0])
    names = [b"w", b"w", b"", b"\xff", b"__metadata__", b"w@0.1", "smäll".encode()]
    made = [Tensor(name, "INT8", [i], **one) for i, name in enumerate(names)]
    tensors, _ = converted(saved(tmp_path, made, [Tensor("w", "INT8", [7], **one)]))
    assert {name: int(array[0]) for name, array in tensors.items()} == {
        "w": 0, "w@0.1": 1, "@0.2": 2, "\\xff@0.3": 3, "__metadata__@0.4": 4, "w@0.1@0.5": 5,
        "smäll": 6, "w@1.0": 7}


def test_weights_that_subgraphs_share_are_one_tensor(tmp_path, rng):
    codes = random_codes(rng, "INT4", (2, 32))
    tensors = [Tensor("w", "INT4", codes, block=(1, -1, 16)),
               Tensor("s", "FLOAT16", np.ones((2, 2)))]

    def share(m):
        for graph in m.subgraphs[1:]:
            for tensor, first in zip(graph.tensors, m.subgraphs[0].tensors):
                tensor.buffer = first.buffer
        # the scales have another index in the second subgraph
        graph = m.subgraphs[1]
        graph.tensors.insert(0, graph.tensors.pop())
        graph.tensors[1].quantization.details.scales = 0
    got, report = converted(saved(tmp_path, tensors, tensors, change=share))
    assert list(got) == ["w"] and len(report["converted"]) == 1


def test_one_buffer_with_two_scales_is_two_tensors(tmp_path):
    def share(m):
        m.subgraphs[0].tensors[1].buffer = 1
    tensors, _ = converted(saved(tmp_path, [
        Tensor("a", "INT8", [[1, 2], [3, 4]], [0.5], [0]),
        Tensor("b", "INT8", [1, 2, 3, 4], [2.0], [1])], change=share))
    assert tensors["a"].tolist() == [[0.5, 1], [1.5, 2]]
    assert tensors["b"].tolist() == [0, 2, 4, 6]


def beyond(data):
    """The model with the data of its buffers behind the flatbuffer, as converters write models
    above 2 GiB."""
    m = parsed(data)
    tails = [None if b.data is None else bytes(b.data) for b in m.buffers]
    for b, tail in zip(m.buffers, tails):
        b.data = None
        if tail is not None:
            b.offset = b.size = 1  # so that the fields have a place
    start = (len(pack(m)) + 31) // 16 * 16
    for b, tail in zip(m.buffers, tails):
        if tail is not None:
            b.offset, b.size = start, len(tail)
            start += (len(tail) + 15) // 16 * 16
    out = bytearray(pack(m))
    for b, tail in zip(m.buffers, tails):
        if tail is not None:
            out += bytes(b.offset - len(out)) + tail
    return bytes(out)


def test_a_float_tensor_with_the_buffer_of_scales_is_copied(tmp_path):
    """Writers store equal data once."""
    def share(m):
        m.subgraphs[0].tensors[2].buffer = m.subgraphs[0].tensors[1].buffer
    got, _ = converted(saved(tmp_path, [
        Tensor("w", "INT8", np.ones((2, 8)), block=(1, -1, 4)),
        Tensor("s", "FLOAT32", [[1, 2], [3, 4]]), Tensor("f", "FLOAT32", np.zeros(4))],
        change=share))
    assert set(got) == {"w", "f"} and got["f"].tolist() == [1, 2, 3, 4]


def test_data_behind_two_gibibytes_are_read(tmp_path):
    """A flatbuffer has less than 2 GiB; what lies behind it may be anywhere in the file."""
    def far(m):
        m.buffers[1].data = None
        m.buffers[1].offset, m.buffers[1].size = 3 << 30, 4
    source = saved(tmp_path, [Tensor("w", "INT8", [1, -2, 3, 4], [0.5], [1])], change=far)
    with open(source, "r+b") as file:  # the file has a hole, and takes little room
        file.seek(3 << 30)
        file.write(bytes([1, 254, 3, 4]))
    got, _ = converted(source)
    assert got["w"].tolist() == [0, -1.5, 1, 1.5]
    if "DEQUANT_SANITIZED" not in os.environ:
        assert peak_memory(tmp_path, "inspect", source) < 32 << 20


def test_data_behind_the_flatbuffer_are_read(tmp_path, rng):
    codes = random_codes(rng, "INT8", (9, 5))
    source = saved(tmp_path, [Tensor("w", "INT8", codes, rng.random(5), np.arange(5), 1),
                              Tensor("f", "FLOAT32", rng.random(3))])
    inside, _ = converted(source)
    source.write_bytes(beyond(source.read_bytes()))
    outside, _ = converted(source)
    assert inside.keys() == outside.keys() == {"w", "f"}
    for name in inside:
        same_bits(outside[name], inside[name])


def sparse(t):
    t.sparsity = schema.SparsityParametersT()
    t.sparsity.traversalOrder = [0, 1]


def details(number):
    def change(t):
        t.quantization.detailsType = number
        t.quantization.details = schema.CustomQuantizationT()
    return change


REFUSED = {
    "sparse": (Tensor("w", "FLOAT32", shape=[4, 4], data=bytes(8), change=sparse),
               "its data are sparse, which dequant does not read"),
    "custom": (Tensor("w", "INT8", [1], [1.0], [0], change=details(1)),
               "its quantization is custom"),
    "several axes": (Tensor("w", "INT8", [1], [1.0], [0], change=details(3)),
                     "its quantization is along several axes, which dequant does not compute"),
    "new details": (Tensor("w", "INT8", [1], [1.0], [0], change=details(9)),
                    "details 9 of its quantization are not known"),
    "uint16": (Tensor("w", "UINT16", [1], [1.0], [0]),
               "no operator of TFLite dequantizes type UINT16"),
    "a new type": (Tensor("w", "INT8", [1], change=lambda t: setattr(t, "type", 99)),
                   "type 99 is not known"),
    "another file": (Tensor("w", "INT8", None, [1.0], [0], shape=[1],
                            change=lambda t: setattr(t, "externalBuffer", 3)),
                     "its data are in another file: external buffer 3"),
    "int32 zero point": (Tensor("w", "INT32", [1], [1.0], [4]),
                         "zero points of 4 to 4 for codes of 32 bits, which no operator of TFLite "
                         "has"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_exactly_is_refused_by_name(name, tmp_path):
    tensor, reason = REFUSED[name]
    source = saved(tmp_path, [tensor, Tensor("other", "INT8", [3], [0.5], [1])])
    output = tmp_path / "out.safetensors"
    error = dequant("convert", source, "-o", output, code=4).stderr
    assert f'{source}: tensor "w": {reason}' in error and not output.exists()
    assert reason in dequant("inspect", source).stdout
    assert reason in dequant("extract", source, "w", "-o", tmp_path / "w.npy", code=4).stderr
    dequant("extract", source, "other", "-o", tmp_path / "other.npy")
    assert np.load(tmp_path / "other.npy").tolist() == [1.0]
    tensors, report = converted(source, "--exclude", "w")
    assert list(tensors) == ["other"]
    assert report["dropped"] == [{"name": "w", "reason": "not selected by include and exclude"}]


def test_the_output_is_a_safetensors_file(tmp_path):
    source = saved(tmp_path, [Tensor("w", "INT8", [3], [0.5], [1])])
    for output in ("out.tflite", "out", "out.onnx"):
        error = dequant("convert", source, "-o", tmp_path / output, code=2).stderr
        assert "become a file whose name ends with .safetensors" in error
        assert ("dequant writes no TFLite models" in error) == output.endswith(".tflite")
    before = source.read_bytes()
    dequant("convert", source, "-o", source, "--force", code=5)
    link = tmp_path / "link.safetensors"
    link.symlink_to(source)
    dequant("convert", source, "-o", link, "--force", code=5)
    assert source.read_bytes() == before
    for option in ("--resume", "--max-shard-size=1G"):
        assert "TFLite models" in dequant("convert", source, "-o", tmp_path / "o.safetensors",
                                          option, code=2).stderr


def test_the_report_says_whose_tensors_these_are(tmp_path):
    source = saved(tmp_path, [Tensor("w", "INT8", [3], [0.5], [1])])
    run = dequant("convert", source, "-o", tmp_path / "o.safetensors")
    assert "the tensors are those of TFLite" in run.stderr
    assert run.stdout.startswith("dequantized")


def test_verify_and_an_audit_accept_the_output(tmp_path, rng):
    source = saved(tmp_path, [
        Tensor("w", "INT8", random_codes(rng, "INT8", (8, 3)), rng.random(8), np.arange(8)),
        Tensor("n", "INT32", [1, 2]), Tensor("h", "FLOAT16", np.ones(5, np.float16))])
    audit = tmp_path / "audit.jsonl"
    converted(source, "--audit", audit)
    assert "3 right, 0 wrong" in dequant("verify", source, tmp_path / "out.safetensors").stdout
    assert "3 right" in dequant("verify", "--audit", audit, tmp_path / "out.safetensors").stdout
    line = json.loads(audit.read_text().splitlines()[0])
    assert line["recipe"]["scheme"] == "QuantizationParameters"
    assert [s["file"] for s in line["sources"]] == ["in.tflite"] * 3
    data = bytearray((tmp_path / "out.safetensors").read_bytes())
    data[-20] ^= 1
    (tmp_path / "out.safetensors").write_bytes(data)
    dequant("verify", source, tmp_path / "out.safetensors", code=1)


def test_extract_writes_floats_and_codes(tmp_path, rng):
    codes = random_codes(rng, "INT4", (3, 5))
    source = saved(tmp_path, [Tensor("a/w;b", "INT4", codes, [0.5], [2]),
                              Tensor("n", "INT32", [7, 8])])
    dequant("extract", source, "a/w;b", "-o", tmp_path / "w.npy")
    same_bits(np.load(tmp_path / "w.npy"), affine(codes, [0.5], [2]))
    dequant("extract", source, "a/w;b", "--raw", "-o", tmp_path / "raw.npy")
    same_bits(np.load(tmp_path / "raw.npy"), codes.astype(np.int8))
    dequant("extract", source, "n", "-o", tmp_path / "n.npy")
    same_bits(np.load(tmp_path / "n.npy"), np.array([7, 8], np.int32))
    dequant("extract", source, "--all", "-o", tmp_path / "all")
    assert [p.name for p in (tmp_path / "all").iterdir()] == ["0000-a_w_b.npy"]


def test_inspect_shows_what_the_model_computes_with_its_scale(tmp_path):
    def dequantize(m):
        operator(m, "DEQUANTIZE", [1], [2])
    source = saved(tmp_path, [Tensor("w", "INT8", [3], [0.5], [1]),
                              Tensor("x", "UINT8", None, [0.25], [128], shape=[1, 4]),
                              Tensor("y", "FLOAT32", None, shape=[1, 4])], change=dequantize)
    found = json.loads(dequant("inspect", source, "--all", "--json").stdout)
    assert found["subgraphs"] == [{"name": "graph0", "operators": 1, "tensors": 3}]
    assert (found["description"], found["constants"]) == ("made by a test", 1)
    x = found["tensors"][1]
    assert (x["name"], x["reason"], x["scale"]["min"]) == ("x", "the model computes it", 0.25)
    assert (x["covered"]["min"], x["covered"]["max"]) == (-32.0, 31.75)


@pytest.mark.skipif("DEQUANT_SANITIZED" in os.environ, reason="SANITIZED: they take memory")
def test_the_data_of_tensors_are_not_held_in_memory(tmp_path):
    small = saved(tmp_path, [Tensor("w", "INT8", [3], [0.5], [0])])
    base = peak_memory(tmp_path, "inspect", small)
    large = saved(tmp_path, [Tensor("w", "INT8", shape=[64, 1 << 20], data=bytes(64 << 20),
                                    scale=[0.5], zero_point=[0])])
    assert peak_memory(tmp_path, "inspect", large) < base + (2 << 20)

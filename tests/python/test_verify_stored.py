"""`dequant verify` on tensors that both checkpoints only store: integers, booleans, floats of types
that dequant does not read. Their bytes are compared."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from support import TENSORS, dequant, dq, model, node, save, value
from test_verify import bfloat16, safetensors

#: Codes 1, 2 and 4 of float8e4m3fn are subnormal: 1, 2 and 4 times 2^-9.
CODES, SCALE = np.array([[1, 2, 4, 0]], np.uint8), np.full((1, 1), 512, np.float32)
WEIGHT = {"w.weight": ("BF16", bfloat16([[1, 2, 4, 0]]))}
#: 1 MiB is read at once: the first has three parts, the last of one element.
STORED = {
    "long": ("I64", np.arange((1 << 18) + 1)), "counts": ("I32", np.arange(6, dtype=np.int32)),
    "mask": ("BOOL", np.array([True, False, True])), "f64": ("F64", np.linspace(0, 1, 5)),
    "table": ("U16", np.arange(64, dtype=np.uint16).reshape(8, 8)),
    "none": ("I16", np.zeros((0, 3), np.int16)), "one": ("U64", np.array(7, np.uint64))}


class Pair:
    """A quantized folder, and the float checkpoint that it is compared with."""

    def __init__(self, folder):
        self.folder, self.floats = folder / "quantized", folder / "float.safetensors"
        self.folder.mkdir()
        config = {"torch_dtype": "bfloat16", "quantization_config": {
            "quant_method": "fp8", "weight_block_size": [128, 128]}}
        (self.folder / "config.json").write_text(json.dumps(config))

    def quantized(self, stored):
        safetensors(self.folder / "model.safetensors", {
            "w.weight": ("F8_E4M3", CODES), "w.weight_scale_inv": ("F32", SCALE), **stored})

    def verify(self, stored, code, *options):
        safetensors(self.floats, {**stored, **WEIGHT})
        done = dequant("verify", self.folder, self.floats, "--json", *options, code=code)
        return json.loads(done.stdout)


@pytest.fixture(name="pair")
def fixture_pair(tmp_path):
    pair = Pair(tmp_path)
    pair.quantized(STORED)
    return pair


def only_wrong(report):
    assert not report["good"] and (report["missing"], report["unexpected"]) == ([], [])
    [wrong] = report["wrong"]
    return wrong


def test_copied_tensors_are_right(pair):
    report = pair.verify(STORED, 0)
    assert report["good"]
    assert report["totals"] == {
        "compared": 8, "dequantized": 1, "stored": 7, "wrong": 0, "still_quantized": 0,
        "other_type": 0, "elements": 4 + sum(array.size for _, array in STORED.values())}


def test_a_model_that_is_still_quantized_looked_like_a_float_one(pair):
    done = dequant("verify", pair.folder, pair.folder)
    assert done.stdout.endswith(f"\n1 of them are still quantized in {pair.folder}\n")
    totals = json.loads(dequant("verify", pair.folder, pair.folder, "--json").stdout)["totals"]
    assert totals["still_quantized"] == totals["dequantized"] == 1


def test_an_onnx_model_with_float64_was_never_right(tmp_path):
    """Its bytes were not compared: the tensor counted as wrong in every model."""
    doubles_out = helper.make_tensor_value_info("out", TensorProto.DOUBLE, [2])
    for raw in (np.array([1.5, 2]), np.array([1.5, 3])):
        doubles = numpy_helper.from_array(raw, "doubles")
        nodes = [dq(), node("Abs", "doubles", "out")]
        save(model(nodes, outputs=[value("y"), doubles_out],
                   initializers=[*TENSORS, doubles]), tmp_path / f"{raw[1]:g}.onnx")
    dequant("convert", tmp_path / "2.onnx", "-o", tmp_path / "out.onnx")
    done = dequant("verify", tmp_path / "2.onnx", tmp_path / "out.onnx").stdout
    assert "2 tensors compared (1 dequantized" in done and "2 right, 0 wrong" in done
    [wrong] = json.loads(dequant("verify", tmp_path / "3.onnx", tmp_path / "out.onnx", "--json",
                                 code=1).stdout)["wrong"]
    assert (wrong["name"], wrong["type"], wrong["first_different"]) == ("doubles", "F64", 1)


def test_the_output_of_convert_is_right(pair, tmp_path):
    dequant("convert", pair.folder, "-o", tmp_path / "out")
    assert "8 tensors compared (1 dequantized, " in dequant(
        "verify", pair.folder, tmp_path / "out").stdout


@pytest.mark.parametrize("name, at", [
    ("long", [0]), ("long", [(1 << 17) - 1, 1 << 17, 1 << 18]), ("counts", [5]), ("mask", [1]),
    ("f64", [2, 4]), ("table", [63]), ("one", [0])])
def test_elements_that_differ_are_counted_and_the_first_is_named(pair, name, at):
    dtype, array = STORED[name]
    changed = array.copy()
    elements = changed.reshape(-1).view(np.uint8).reshape(array.size, -1)
    elements[at, -1] ^= 1  # the last byte of an element
    wrong = only_wrong(pair.verify({**STORED, name: (dtype, changed)}, 1))
    assert wrong == {
        "name": name, "elements": array.size, "different": len(at), "reason": "", "type": dtype,
        "first_different": at[0], "right": None, "found": None, "mistake": None,
        "unexplained": None, "looked_at": None,
        "explanation": f"element {at[0]} of type {dtype} is the first that differs"}
    text = dequant("verify", pair.folder, pair.floats, code=1).stdout
    assert f"element {at[0]} of type {dtype}" in text and "7 right, 1 wrong" in text


def test_a_nan_of_other_bits_differs(pair):
    """Bytes are compared, though a NaN equals a NaN where floats are."""
    pair.quantized({"f64": ("F64", np.array([0x7FF8000000000000], np.uint64))})
    wrong = only_wrong(pair.verify({"f64": ("F64", np.array([0x7FF8000000000001], np.uint64))}, 1))
    assert (wrong["different"], wrong["first_different"]) == (1, 0)


def test_missing_and_unexpected_tensors_are_named(pair):
    stored = {name: t for name, t in STORED.items() if name not in ("mask", "f64")}
    new = {"new": ("I16", np.ones(2, np.int16)), "new64": ("F64", np.ones(2))}
    report = pair.verify({**stored, **new}, 1)
    assert sorted(report["missing"]) == ["f64", "mask"]
    assert sorted(report["unexpected"]) == ["new", "new64"] and report["wrong"] == []


@pytest.mark.parametrize("name, instead, reason", [
    ("counts", ("I64", np.arange(6)), "its type is I64, and should be I32, as it is not quantized"),
    ("counts", ("F32", np.zeros(6, np.float32)), "its type is F32, and should be I32"),
    ("f64", ("F32", np.zeros(5, np.float32)), "its type is F32, and should be F64"),
    ("f64", ("I64", np.zeros(5, np.int64)), "its type is I64, and should be F64"),
    ("table", ("U16", np.arange(64, dtype=np.uint16)), "its shape is [64], and should be [8, 8]"),
    ("w.weight", ("F64", np.ones((1, 4))), "its type is F64, and should be float32, float16 or")])
def test_another_type_or_shape_is_wrong(pair, monkeypatch, name, instead, reason):
    if name == "w.weight":
        monkeypatch.setitem(WEIGHT, name, instead)
    wrong = only_wrong(pair.verify({**STORED, **({name: instead} if name in STORED else {})}, 1))
    assert wrong["name"] == name and wrong["explanation"].startswith(reason)
    assert (wrong["type"], wrong["first_different"]) == (None, None)


def test_a_stored_float_that_became_an_integer_is_wrong(pair):
    pair.quantized({"norm": ("BF16", bfloat16(np.ones(4)))})
    wrong = only_wrong(pair.verify({"norm": ("I16", np.ones(4, np.int16))}, 1))
    assert wrong["reason"] == "its type is I16, and should be BF16, as it is not quantized"


def test_codes_that_nothing_dequantizes_are_compared_where_they_may_stay(pair):
    """Two codes of F4 share a byte, the first in its lower half."""
    codes = np.array([0x21, 0x43, 0x65], np.uint8)
    header = {"w.weight": ("BF16", [1, 4], WEIGHT["w.weight"][1].tobytes())}

    def write(path, entries):
        text, data = {}, b""
        for name, (dtype, shape, raw) in entries.items():
            text[name] = {"dtype": dtype, "shape": shape,
                          "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(text).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)

    write(pair.folder / "model.safetensors", {
        "w.weight": ("F8_E4M3", [1, 4], CODES.tobytes()),
        "w.weight_scale_inv": ("F32", [1, 1], SCALE.tobytes()),
        "v.weight": ("F4", [6], codes.tobytes())})
    for code, changed in ((0, codes), (1, codes ^ np.array([0, 0x10, 0x11], np.uint8))):
        write(pair.floats, {**header, "v.weight": ("F4", [6], changed.tobytes())})
        report = json.loads(dequant("verify", pair.folder, pair.floats, "--json", "--keep-unknown",
                                    code=code).stdout)
        assert report["totals"]["stored"] == 1
    wrong = only_wrong(report)
    assert (wrong["name"], wrong["type"]) == ("v.weight", "F4")
    assert (wrong["different"], wrong["first_different"]) == (3, 3)

"""The floats of 6 bits of opset 28 as onnx itself writes, checks, reads and dequantizes them."""

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from arithmetic import codes, floats
from support import convert, dequant, initializer, linear, model, node, save, value

TYPES = {"float6e2m3": (TensorProto.FLOAT6E2M3, ml_dtypes.float6_e2m3fn),
         "float6e3m2": (TensorProto.FLOAT6E3M2, ml_dtypes.float6_e3m2fn)}


def tensor(element, values, raw):
    """A TensorProto by onnx's own packing: raw_data of four codes in three bytes, or an entry of
    int32_data for each."""
    number, dtype = TYPES[element]
    made = np.asarray(values, np.uint8).view(dtype)
    return helper.make_tensor("x", number, made.shape, made if raw else made.astype(np.float32),
                              raw=raw)


def dequantized(folder, x):
    made = model([node("DequantizeLinear", "x scale", "y")], outputs=[value("y", shape=x.dims)],
                 initializers=[x, floats(np.float32(0.375)).tensor("scale")], opset=28,
                 ir_version=14)
    onnx.checker.check_model(made)
    converted, report = convert(save(made, folder / "in.onnx"), "--force")
    assert report["totals"]["folded"] == 1
    expected = ReferenceEvaluator(made).run(None, {})[0]
    assert expected.tobytes() == (numpy_helper.to_array(x).astype(np.float32)
                                  * np.float32(0.375)).tobytes()
    actual = numpy_helper.to_array(next(t for t in converted.graph.initializer if t.name == "y"))
    assert actual.tobytes() == expected.tobytes()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("raw", [True, False], ids=["raw_data", "int32_data"])
def test_every_code_and_length_is_read_as_onnx_writes_it(element, raw, tmp_path):
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 63, 64):
        dequantized(tmp_path, tensor(element, np.arange(64)[::-1][:count], raw))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("entry", [64, -1, 255, 1 << 30])
def test_entries_of_more_than_six_bits_are_refused(element, entry, tmp_path):
    x = TensorProto(name="x", data_type=TYPES[element][0], dims=[3], int32_data=[1, entry, 2])
    made = model([node("DequantizeLinear", "x scale", "y")], outputs=[value("y", shape=[3])],
                 initializers=[x, floats(1.0).tensor("scale")], opset=28, ir_version=14)
    with pytest.raises(onnx.checker.ValidationError, match="bits 0-5"):
        onnx.checker.check_model(made)
    done = dequant("convert", save(made, tmp_path / "in.onnx"), "-o", tmp_path / "out.onnx", code=3)
    assert f"entry {entry} of field 5 does not fit {element}" in done.stderr


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("zero", [0, 1, 0x20, 0x3F])
def test_zero_points_but_zero_are_refused_because_onnx_subtracts_them(element, zero, tmp_path):
    x, one = codes(element, [0, 0x20, 1, 0x3F]), floats(1.0)
    source = linear(tmp_path, x, one, None, 28)
    plain = ReferenceEvaluator(onnx.load(source)).run(None, {})[0]
    source = linear(tmp_path, x, one, codes(element, zero), 28)
    expected = ReferenceEvaluator(onnx.load(source)).run(None, {})[0]
    if zero == 0:
        assert expected.tobytes() == plain.tobytes()
        converted, _ = convert(source)
        assert initializer(converted, "y").codes.astype("u4").tobytes() == plain.tobytes()
        return
    assert expected.tobytes() != plain.tobytes()
    _, report = convert(source)
    assert report["totals"]["folded"] == 0
    assert f"zero_point: element 0 has code {zero}" in json.dumps(report)


@pytest.mark.parametrize("element", TYPES)
def test_codes_go_through_npy_files_as_ml_dtypes_saves_them(element, tmp_path):
    x = np.arange(64, dtype=np.uint8).view(TYPES[element][1])
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "scale.npy", np.float32(0.5))
    dequant("op", "onnx", "--x", "x.npy", "--x-type", element, "--scale", "scale.npy", "--opset",
            "28", "-o", "y.npy", cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.tobytes() == (x.astype(np.float32) * np.float32(0.5)).tobytes()


@pytest.mark.parametrize("element", TYPES)
def test_codes_are_extracted_and_inspected(element, tmp_path):
    held = np.arange(61) % 64
    source = linear(tmp_path, codes(element, held), floats(1.0), None, 28)
    dequant("extract", source, "x", "--raw", "-o", tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").tolist() == held.tolist()
    report = json.loads(dequant("inspect", source, "--json").stdout)
    assert element in json.dumps(report)

"""`dequant convert` folds a DequantizeLinear of int64 constants as one of int32, if all numbers are
of int32. No opset has it, and tf2onnx writes it for the biases of TFLite models of int16x8."""

import numpy as np
import pytest
from onnx import numpy_helper

from arithmetic import codes, dequantized, floats
from support import convert, dequant, dq, initializer, model, op_types, save, value

RNG = np.random.default_rng(23)
SCALES = floats([0.5, 3e-7, 1e10, 7])
LIMITS = [-2**31, 2**31 - 1, 0, 2**24 + 1]


def wide(name, numbers):
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


def saved(folder, x, zero, opset=17, **attributes):
    names = "x s" + (" z" if zero is not None else "")
    return save(model([dq(names, "y", "dq", **attributes)], outputs=[value("y", shape=x.shape)],
                      initializers=[wide("x", x), SCALES.tensor("s"),
                                    *([wide("z", zero)] if zero is not None else [])],
                      opset=opset), folder / "in.onnx")


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("zero", [None, [0, 0, 0, 0], [5, -7, 2**31 - 1, -2**31]])
def test_int64_codes_are_int32_codes(zero, opset, tmp_path):
    x = np.concatenate([[LIMITS], RNG.integers(-2**31, 2**31, [50, 4])])
    folded, report = convert(saved(tmp_path, x, zero, opset, axis=1))
    assert (op_types(folded), report["left"]) == ([], [])
    [entry] = report["folded"]
    assert (entry["x"], entry["axis"]) == ("x", 1)
    zeros = None if zero is None else codes("int32", np.array(zero) & 0xFFFFFFFF)
    expected = dequantized(codes("int32", x & 0xFFFFFFFF), SCALES, zeros, axis=1)
    np.testing.assert_array_equal(initializer(folded, "y").codes, expected.codes)


@pytest.mark.parametrize("x, zero, named", [
    ([[1, 2, 3, 2**31]], None, "x has int64 codes: 2147483648 is no number of int32"),
    ([[1, 2, -2**63, 4]], [0, 0, 0, 0], "x has int64 codes: -9223372036854775808 is no number"),
    ([[1, 2, 3, 4]], [0, 2**40, 0, 0], "z has int64 codes: 1099511627776 is no number of int32")])
def test_numbers_beyond_int32_stay(x, zero, named, tmp_path):
    source = saved(tmp_path, np.array(x), zero, axis=1)
    report = dequant("convert", source, "-o", tmp_path / "out.onnx", "--json").stdout
    assert named in report
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_zero_point_of_another_type_stays(tmp_path):
    """The specification wants one type of codes and zero points."""
    proto = model([dq("x s z", "y", "dq")], outputs=[value("y", shape=[4])],
                  initializers=[wide("x", [1, 2, 3, 4]), floats(0.5).tensor("s"),
                                codes("int8", 0).tensor("z")], opset=17)
    report = dequant("convert", save(proto, tmp_path / "in.onnx"), "-o", tmp_path / "out.onnx",
                     "--json").stdout
    assert '"folded":[]' in report.replace(" ", "").replace("\n", "")


def test_cut_data_of_int64_codes_are_an_error(tmp_path):
    tensor = wide("x", [1, 2, 3, 4])
    tensor.raw_data = tensor.raw_data[:24]
    proto = model([dq("x s", "y", "dq")], outputs=[value("y", shape=[4])],
                  initializers=[tensor, floats(0.5).tensor("s")], opset=17)
    source = save(proto, tmp_path / "in.onnx")
    error = dequant("convert", source, "-o", tmp_path / "out.onnx", code=3).stderr
    assert "node dq: tensor x: 24 bytes stored, 32 needed" in error
    assert not (tmp_path / "out.onnx").exists()

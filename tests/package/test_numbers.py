"""Plain numbers in place of tensors, flags and types."""

import errno

import ml_dtypes
import numpy as np
import pytest

import dequant
from model_support import ROOT

onnx = dequant.onnx.dequantize_linear


@pytest.mark.parametrize("dtype,least,most", [(ml_dtypes.int4, -8, 7), (ml_dtypes.uint4, 0, 15),
                                              (ml_dtypes.int2, -2, 1),
                                              (ml_dtypes.uint2, 0, 3), (np.int8, -128, 127),
                                              (np.uint16, 0, 65535)])
def test_a_plain_zero_point_of_few_bits_was_refused(dtype, least, most):
    x = np.array([0, 1], dtype)
    for zero in (least, most):
        np.testing.assert_array_equal(onnx(x, 0.5, zero), np.float32([-zero, 1 - zero]) / 2)
    for zero in (least - 1, most + 1):
        with pytest.raises(OverflowError, match=f"zero_point: {zero} does not fit in"):
            onnx(x, 0.5, zero)


def test_a_plain_zero_point_of_floats_says_why_not():
    with pytest.raises(TypeError, match="zero_point: 0 is a plain number, which says no code of "
                                        "float8e4m3fn"):
        onnx(np.zeros(2, ml_dtypes.float8_e4m3fn), 0.5, 0)


def test_float64_scalars_are_python_floats():
    assert onnx(np.uint8([3]), np.float64(0.1)) == onnx(np.uint8([3]), 0.1)


def test_flags_and_types_of_numpy():
    x = np.uint8([1, 255])
    for flag in (False, True):
        np.testing.assert_array_equal(dequant.tensorflow.dequantize(x, 0.0, 1.0, "SCALED",
                                                                    narrow_range=np.bool_(flag)),
                                      dequant.tensorflow.dequantize(x, 0.0, 1.0, "SCALED",
                                                                    narrow_range=flag))
    assert onnx(x, 0.5, output_dtype=np.int64(10)).dtype == np.float16


def test_classes_of_jax_are_types():
    """jax.numpy.bfloat16 is no dtype: it makes arrays, and has one."""
    kind = type("bfloat16", (), {"dtype": np.dtype(ml_dtypes.bfloat16)})
    x = np.uint8([1, 255])
    assert onnx(x, 0.5, output_dtype=kind).dtype == ml_dtypes.bfloat16
    assert dequant.Packed(bytes(4), kind, 2).dtype == "bfloat16"


def test_errors_of_the_system_have_their_class_and_errno(tmp_path):
    model = str(ROOT / "examples/digits_qdq_int4.onnx")
    with pytest.raises(FileNotFoundError, match="^cannot open the folder") as caught:
        dequant.convert(model, tmp_path / "no" / "x.onnx")
    assert caught.value.errno == errno.ENOENT
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError) as caught:
        dequant.convert(model, tmp_path / "file" / "x.onnx")
    assert caught.value.errno == errno.ENOTDIR

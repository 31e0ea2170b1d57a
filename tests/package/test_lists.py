"""Lists of numbers as scales and zero points, and the casts that arrays of wider types need."""

import ml_dtypes
import numpy as np
import pytest

import dequant

onnx, microsoft, webnn, tensorflow, directml = (
    dequant.onnx.dequantize_linear, dequant.microsoft.dequantize_linear,
    dequant.webnn.dequantize_linear, dequant.tensorflow.dequantize,
    dequant.directml.element_wise_dequantize_linear)
X = np.uint8([[1, 2, 3], [4, 5, 6]])


def test_lists_are_the_arrays_of_their_numbers():
    scale, zero = [0.1, 1, 2.5], (1, 2, 255)
    wanted = onnx(X, np.float32(scale), np.uint8(zero))
    np.testing.assert_array_equal(onnx(X, scale, zero), wanted)
    np.testing.assert_array_equal(microsoft(X, scale, zero), wanted)
    np.testing.assert_array_equal(webnn(X, [scale], [zero]), wanted)
    np.testing.assert_array_equal(onnx(X, [[0.1], [3]], [[7], [8]], axis=1, block_size=3),
                                  onnx(X, np.float32([[0.1], [3]]), np.uint8([[7], [8]]), axis=1,
                                       block_size=3))
    np.testing.assert_array_equal(
        tensorflow(X, [0.1, 0, -1], [1, 2, 3.5], axis=1),
        tensorflow(X, np.float32([0.1, 0, -1]), np.float32([1, 2, 3.5]), axis=1))
    np.testing.assert_array_equal(directml(X, [scale, scale], [zero, zero]),
                                  directml(X, np.float32([scale] * 2), np.uint8([zero] * 2)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int16, np.int32, ml_dtypes.int4,
                                   ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2])
def test_lists_of_zero_points_reach_the_ends_of_the_type(dtype):
    limits = ml_dtypes.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    x = np.array([[1, 0], [0, 1]], dtype)
    np.testing.assert_array_equal(onnx(x, [2, 0.5], [least, most]),
                                  onnx(x, np.float32([2, 0.5]), np.array([least, most], dtype)))
    for beyond in (least - 1, most + 1, 2**70):
        with pytest.raises(OverflowError, match=f"^zero_point: {beyond} does not fit in"):
            onnx(x, [2, 0.5], [0, beyond])


@pytest.mark.parametrize("scale, error, words", [
    ([1, 2, "3"], TypeError, "str in a list, where Python numbers are wanted"),
    ([1, 2, True], TypeError, "bool in a list"),
    ([1, 2, None], TypeError, "NoneType in a list"),
    ([1, 2, np.float16(3)], TypeError, "float16 in a list.*given as an array"),
    ([1, 2, [3]], ValueError, "a list stands where a number stands beside it"),
    ([[1], 2], ValueError, "2 stands where a list stands beside it"),
    ([[1, 2], [3]], ValueError, "lists of 2 and of 1 side by side"),
    ([1, 2, 1e39], OverflowError, "1e.39 does not fit in float32"),
    ([1, 2, 10**400], OverflowError, "too large"),
    ([], ValueError, "0 scales for 3"), ([1, 2], ValueError, "2 scales for 3")])
def test_lists_of_other_things_say_what_is_wrong(scale, error, words):
    with pytest.raises(error, match=f"scale: .*{words}"):
        onnx(X, scale)


def test_lists_in_themselves_end():
    scale = []
    scale.append(scale)
    with pytest.raises(ValueError, match="^scale: lists in more than 64 lists"):
        onnx(X, scale)


def test_lists_are_no_codes():
    with pytest.raises(TypeError, match="^x: list is no tensor"):
        onnx([1, 2, 3], 0.5)
    with pytest.raises(TypeError, match="0 is a plain number, which says no code of float8e4m3fn"):
        onnx(np.zeros(2, ml_dtypes.float8_e4m3fn), 0.5, [0])


def test_float64_scales_say_which_cast_to_make():
    with pytest.raises(TypeError) as refused:
        onnx(X, np.array([0.5, np.nan, np.inf]))
    assert str(refused.value) == ("scale: float64 is no element type of dequant; its numbers are "
                                  "numbers of float32: give scale.astype(np.float32)")
    with pytest.raises(TypeError) as refused:
        onnx(X, np.array([0.5, 0.1, 1e300]))
    assert str(refused.value) == ("scale: float64 is no element type of dequant; "
                                  "scale.astype(np.float32) would round 2 of its 3 numbers")
    with pytest.raises(TypeError, match="scale: int64 .*: give scale.astype.np.float32."):
        onnx(X, np.array([1, 2, 3]))
    with pytest.raises(TypeError, match="max_range: float64 .* give max_range.astype"):
        tensorflow(X, 0.0, np.array([1.0]))


def test_int64_zero_points_say_which_cast_to_make():
    with pytest.raises(TypeError) as refused:
        onnx(X, 0.5, np.int64(3))
    assert str(refused.value) == ("zero_point: int64 is no element type of dequant; its numbers "
                                  "fit in uint8, the type of the codes: give "
                                  "zero_point.astype(np.uint8)")
    with pytest.raises(TypeError, match="^x_zero_point: int64 .*; 256 does not fit in uint8"):
        microsoft(X, [1, 2, 3], np.array([1, 256, 3]))
    with pytest.raises(TypeError, match="give zero_point.astype.ml_dtypes.int4."):
        onnx(np.zeros(3, ml_dtypes.int4), 0.5, np.array(-8))
    for zero in (np.array(1.0), np.array(1j), np.array("1"), np.array(None)):
        with pytest.raises(TypeError, match="is no element type of dequant, which are|float64|obj"):
            onnx(X, 0.5, zero)


@pytest.mark.parametrize("make, cast", [
    (lambda torch: (torch.tensor([0.5], dtype=torch.float64), None), "scale.to(torch.float32)"),
    (lambda torch: (0.5, torch.tensor([3])), "zero_point.to(torch.uint8)")])
def test_tensors_of_torch_say_which_cast_to_make(torch, make, cast):
    with pytest.raises(TypeError) as refused:
        onnx(X, *make(torch))
    assert str(refused.value).endswith(f"give {cast}")

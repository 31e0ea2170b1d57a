"""Arguments that are no tensors: numbers, names, and what is given in their place."""

import decimal
import enum
import fractions

import numpy as np
import pytest

import dequant

X = np.uint8([[1, 2, 3], [4, 5, 6]])
SCALE = np.float32([1, 2, 3])
onnx, microsoft, webnn, tensorflow, directml = (
    dequant.onnx.dequantize_linear, dequant.microsoft.dequantize_linear,
    dequant.webnn.dequantize_linear, dequant.tensorflow.dequantize,
    dequant.directml.element_wise_dequantize_linear)
HUGE = (2**64, 2**70, -2**64, 10**400)
NO_INTS = (1.0, 1.5, "1", b"1", None, True, False, [], (1,), np.float32(1), decimal.Decimal(1),
           fractions.Fraction(1), object(), 1j, int)


def calls(name):
    """Calls of every function that has an argument of that name."""
    every = {"axis": [lambda v: onnx(X, SCALE, axis=v)],
             "block_size": [lambda v: onnx(X, X / np.float32(1), block_size=v)],
             "opset": [lambda v: onnx(X, SCALE, opset=v)], "threads": [
                 lambda v: onnx(X, SCALE, threads=v), lambda v: microsoft(X, SCALE, threads=v),
                 lambda v: webnn(X, SCALE[None], X[:1], threads=v),
                 lambda v: tensorflow(X, 0, 1, threads=v),
                 lambda v: directml(X, np.float32(1), threads=v)]}
    every["axis or None"] = [lambda v: microsoft(X, SCALE, axis=v),
                             lambda v: tensorflow(X, SCALE, SCALE, axis=v)]
    return every[name]


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Broken:
    def __index__(self):
        raise KeyError("broken")


@pytest.mark.parametrize("name", ["axis", "block_size", "opset", "threads", "axis or None"])
def test_a67_ints_are_ints(name):
    optional = name in ("threads", "axis or None")
    for call in calls(name):
        for value in HUGE:
            with pytest.raises(OverflowError, match=name.split()[0]):
                call(value)
        for value in NO_INTS:
            if not (optional and value is None):
                with pytest.raises(TypeError, match=f"^{name.split()[0]}: "):
                    call(value)
        with pytest.raises(TypeError):
            call(np.array([1, 1]))
        with pytest.raises(KeyError, match="broken"):
            call(Broken())
        with pytest.raises(ValueError):  # they are read, and out of range
            call(Index(-2**63))
        with pytest.raises(ValueError):
            call(np.int64(-2**63))


@pytest.mark.parametrize("kind", [int, np.int8, np.uint64, Index, enum.IntEnum("One", {"ONE": 1})])
def test_a67_whatever_counts_as_an_int_is_one(kind):
    one = kind(1)
    assert onnx(X, SCALE, axis=one, threads=one).tolist() == [[1, 4, 9], [4, 10, 18]]
    assert microsoft(X, SCALE, axis=one).tolist() == [[1, 4, 9], [4, 10, 18]]
    assert onnx(X, X / np.float32(1), block_size=one).tolist() == (X * X).astype(float).tolist()


def test_a67_scales_and_zero_points_that_are_no_numbers_of_their_type():
    for value in (1e39, -1e39, 3.5e38, 10**39):
        with pytest.raises(OverflowError, match="^scale: .* does not fit in float32"):
            onnx(X, value)
    with pytest.raises(OverflowError):
        onnx(X, 10**400)
    for value in (256, -1, 2**31, 2**32, 2**64, -2**63):
        with pytest.raises(OverflowError, match="^zero_point: .* does not fit in uint8"):
            onnx(X, 1.0, value)
    for value in (128, -129, 255):
        with pytest.raises(OverflowError, match="^zero_point: .* does not fit in int8"):
            onnx(X.view(np.int8), 1.0, value)
    for value in (1.0, True, "1", ["1"], np.float32(1)):
        with pytest.raises((TypeError, ValueError), match="zero_point"):
            onnx(X, 1.0, value)
    for value, same in ((float("inf"), np.inf), (1e-46, 0), (-1e-45, -1.4e-45), (2**24 + 1, 2**24)):
        assert (onnx(np.uint8([1]), value) == np.float32(same)).all()
    assert np.isnan(onnx(np.uint8([1]), float("nan"))).all()
    for zero in (-2**31, 2**31 - 1):
        assert onnx(np.int32([0]), 1.0, zero) == np.float32(-zero)


NAMES = {"mode": lambda v: tensorflow(X, 0, 1, v),
         "version": lambda v: tensorflow(X, 0, 1, version=v),
         "semantics": lambda v: tensorflow(X, 0, 1, version="r1.4", semantics=v),
         "feature_level": lambda v: directml(X, np.float32(1), feature_level=v)}


@pytest.mark.parametrize("name", NAMES)
def test_a67_names_are_strings_that_are_known(name):
    for value in (None, 1, 1.0, True, b"SCALED", ["SCALED"], object()):
        with pytest.raises(TypeError, match=f"^{name}: a string is wanted"):
            NAMES[name](value)
    for value in ("", "nonsense", "scaled ", "x" * 100_000, "a\0b", "Ж", "\ud800"):
        with pytest.raises(ValueError):
            NAMES[name](value)


def test_a67_bools_are_bools():
    for value in (None, 0, 1, "True", np.int8(1), []):
        with pytest.raises(TypeError, match="^narrow_range: True or False is wanted"):
            tensorflow(X, 0, 1, "SCALED", narrow_range=value)


def test_a67_dtypes_are_dtypes():
    for value in (3.5, [], {}, b"float32", float, int, "float", "double", object(),
                  np.float64, "\ud800"):
        with pytest.raises((TypeError, ValueError), match="^output_dtype: "):
            onnx(X, 1.0, output_dtype=value)
        with pytest.raises((TypeError, ValueError), match="^dtype: "):
            tensorflow(X, 0, 1, dtype=value)
    with pytest.raises((TypeError, ValueError), match="^dtype: "):
        tensorflow(X, 0, 1, dtype=np.int64(1))
    for value in (-1, 2, 99, 2**31, True):
        with pytest.raises((TypeError, ValueError), match="^output_dtype: "):
            onnx(X, 1.0, output_dtype=value)
    for value in HUGE:
        with pytest.raises(OverflowError, match="^output_dtype: "):
            onnx(X, 1.0, output_dtype=value)


def test_like_is_none_or_a_library():
    for value in (0, 1, "", "jax", "\ud800", np.ndarray, [], True):
        with pytest.raises((TypeError, ValueError), match="^like: "):
            onnx(X, 1.0, like=value)
    assert type(onnx(X, 1.0, like="numpy")) is np.ndarray


@pytest.mark.parametrize("call", [onnx, microsoft, webnn, tensorflow, directml])
def test_a67_wrong_numbers_of_arguments(call):
    with pytest.raises(TypeError):
        call()
    with pytest.raises(TypeError):
        call(X)
    with pytest.raises(TypeError):
        call(*[X] * 20)
    with pytest.raises(TypeError):
        call(X, SCALE, X[0], blocksize=1)
    with pytest.raises(TypeError):
        call(X, SCALE, X[0], x=X, input=X)


def test_unsupported_is_a_value_error_and_not_implemented():
    assert issubclass(dequant.UnsupportedError, ValueError)
    assert issubclass(dequant.UnsupportedError, NotImplementedError)
    with pytest.raises(dequant.UnsupportedError, match="MIN_FIRST"):
        tensorflow(X, SCALE, SCALE, "MIN_FIRST", axis=1)


def test_results_that_no_memory_holds_are_a_memory_error():
    with pytest.raises((MemoryError, ValueError)):
        onnx(np.broadcast_to(np.uint8(1), (2**50,)), 1.0)
    with pytest.raises((MemoryError, ValueError)):
        directml(np.broadcast_to(np.uint8(1), (2**31, 1)), 1.0, feature_level="6_4", threads=1,
                 out=np.empty(1, np.float32))
    with pytest.raises(ValueError):
        onnx(np.broadcast_to(np.uint8(1), (0,)), np.broadcast_to(np.float32(1), (2,)), axis=0)


def test_dimensions_are_as_many_as_numpy_has():
    shape = (1,) * 63 + (2,)
    x = np.uint8([1, 2]).reshape(shape) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else None
    if x is None:
        pytest.skip("numpy 1 HAS 32 DIMENSIONS")
    assert onnx(x, 2.0).shape == shape
    assert onnx(x, np.float32([1, 3]), axis=-1).reshape(-1).tolist() == [1, 6]


def test_like_may_be_an_array_without_harm():
    for value in (np.zeros(3), np.array("numpy"), np.array(["torch", "torch"])):
        with pytest.raises(ValueError, match="^like: .* is neither None nor"):
            onnx(X, 1.0, like=value)

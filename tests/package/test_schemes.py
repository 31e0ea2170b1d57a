"""Schemes of checkpoints from Python, by the names that their producers give the tensors."""

import enum
import inspect
import pathlib
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import dequant
from dequant._core import SCHEMES


def test_every_scheme_is_a_module():
    for scheme, (inputs, required, settings, _) in SCHEMES.items():
        if scheme == "gguf":
            continue  # whose function is written by hand
        parameters = inspect.signature(getattr(dequant, scheme).dequantize).parameters
        assert list(parameters) == [*inputs, *settings, "dtype", "out", "threads", "like"]
        for name in inputs:
            assert (parameters[name].default is inspect.Parameter.empty) == (name in required)


def test_modules_and_stubs_are_those_of_the_script():
    script = pathlib.Path(__file__).parents[2] / "scripts" / "scheme_modules.py"
    subprocess.run([sys.executable, script, "--check"], check=True)


def test_fp8_in_blocks_with_short_last_ones():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 126, (130, 200)).astype(np.uint8)
    weight = codes.view(ml_dtypes.float8_e4m3fn)
    scale = rng.uniform(0, 1, (2, 2)).astype(np.float32)
    y = dequant.fp8.dequantize(weight, scale, block=[128, 128])
    spread = scale[np.arange(130)[:, None] // 128, np.arange(200)[None] // 128]
    np.testing.assert_array_equal(y, weight.astype(np.float32) * spread)
    half = dequant.fp8.dequantize(weight, weight_scale=scale, block=(128, 128), dtype="bfloat16")
    np.testing.assert_array_equal(half, y.astype(ml_dtypes.bfloat16))


def test_mx_codes_are_bytes():
    codes = np.arange(64, dtype=np.uint8).reshape(2, 32)
    scale = np.array([[127, 128], [126, 130]], np.uint8)
    y = dequant.mx.dequantize(codes, scale)
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(2, 64)
    table = np.array([0, .5, 1, 1.5, 2, 3, 4, 6], np.float32)
    want = np.where(nibbles >> 3, -1, 1) * table[nibbles & 7]
    want *= np.repeat(2.0 ** (scale.astype(np.float32) - 127), 32, axis=1)
    np.testing.assert_array_equal(y, want)


def words(numbers):
    """Numbers of 4 bits in words of eight, along the last axis."""
    parts = numbers.reshape(*numbers.shape[:-1], -1, 8).astype(np.uint32) << np.arange(
        0, 32, 4, dtype=np.uint32)
    return np.bitwise_or.reduce(parts, axis=-1).view(np.int32)


def test_gptq_words_run_down_columns():
    rng = np.random.default_rng(2)
    codes, zeros = rng.integers(0, 16, (64, 24)), rng.integers(1, 17, (2, 24))
    scales = rng.uniform(0.5, 1, (2, 24)).astype(np.float16)
    index = rng.permutation(np.arange(64) // 32).astype(np.int32)
    tensors = np.ascontiguousarray(words(codes.T).T), words(zeros - 1), scales
    for more, group in [({"group_size": 32}, np.arange(64) // 32), ({"g_idx": index}, index)]:
        want = ((codes - zeros[group] % 16) * scales[group].astype(np.float32)).T
        y = dequant.gptq.dequantize(*tensors, bits=4, **more)
        np.testing.assert_array_equal(y, want.astype(np.float32))


def test_bitsandbytes_values_are_in_a_table():
    table = np.linspace(-1, 1, 16, dtype=np.float32)
    absmax = np.array([2, 3], np.float32)
    codes = np.arange(100) % 16
    packed = (codes[::2] << 4 | codes[1::2]).astype(np.uint8)
    y = dequant.bitsandbytes.dequantize(packed, absmax, table, shape=(5, 20), blocksize=64)
    want = table[codes] * np.repeat(absmax, 64)[:100]
    np.testing.assert_array_equal(y, want.reshape(5, 20))


def test_what_is_wrong_is_said():
    weight, scale = np.zeros((2, 32), np.uint8), np.zeros((2, 2), np.uint8)
    with pytest.raises(ValueError, match="weight: element type uint8 is not a float8"):
        dequant.fp8.dequantize(weight, scale)
    with pytest.raises(ValueError, match='element: "float5" is no element'):
        dequant.mx.dequantize(weight, scale, element="float5")
    with pytest.raises(TypeError, match="missing a required argument: 'scale'"):
        dequant.mx.dequantize(weight)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bits'"):
        dequant.mx.dequantize(weight, scale, bits=4)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint32, np.array,
                                  enum.IntEnum("Bits", {"FOUR": 4})])
def test_integers_of_numpy_were_no_options(kind):
    rng = np.random.default_rng(3)
    scales = rng.uniform(0.5, 1, (2, 24)).astype(np.float16)
    tensors = (rng.integers(0, 2**31, (8, 24)).astype(np.int32),
               rng.integers(0, 2**31, (2, 3)).astype(np.int32), scales)
    np.testing.assert_array_equal(
        dequant.gptq.dequantize(*tensors, bits=kind(4), group_size=np.int64(32)),
        dequant.gptq.dequantize(*tensors, bits=4, group_size=32))
    packed, absmax = np.zeros(50, np.uint8), np.ones(2, np.float32)
    for shape in ((5, 20), np.array([5, 20]), [np.int16(5), np.uint64(20)]):
        assert dequant.bitsandbytes.dequantize(packed, absmax, np.ones(16, np.float32), shape=shape,
                                               blocksize=np.int64(64)).shape == (5, 20)


def test_bools_of_numpy_were_no_options():
    blocks = np.arange(64, dtype=np.uint8).reshape(1, 2, 2, 16)
    scales = np.full((1, 2, 2), 127, np.uint8)
    for flag in (False, True):
        np.testing.assert_array_equal(
            dequant.gptoss.dequantize(blocks, scales, transposed=np.bool_(flag)),
            dequant.gptoss.dequantize(blocks, scales, transposed=flag))
    with pytest.raises(ValueError, match='^carry: "true" is not one of field, word'):
        dequant.gptq.dequantize(np.zeros((8, 24), np.int32), np.zeros((2, 3), np.int32),
                                np.ones((2, 24), np.float16), carry=np.bool_(True))


@pytest.mark.parametrize("value, what", [
    (4.0, "an int, .* is wanted, not float"), (np.float32(4), "an int, .* is wanted, not float32"),
    (b"4", "an int, .* is wanted, not bytes"), (object(), "an int, .* is wanted, not object"),
    (np.array(4.0), "an int, .* is wanted, not ndarray"), ([4.0], "float in a sequence"),
    (["4"], "str in a sequence"), ([True], "bool in a sequence"),
    ([np.True_], "bool_? in a sequence"), ([[4]], "list in a sequence"),
    (np.array([4.5]), "float64 in a sequence"), (np.array([[4, 4]]), "ndarray in a sequence")])
def test_options_of_other_types_did_not_name_the_argument(value, what):
    weight, scale = np.zeros((2, 32), np.uint8), np.ones((2, 1), np.float32)
    with pytest.raises(TypeError, match=f"^bits: {what}"):
        dequant.hqq.dequantize(weight, scale, scale, bits=value)


@pytest.mark.parametrize("number", [2.0, 2, [2.0], (2,)])
def test_scales_of_schemes_have_a_type_which_numbers_lack(number):
    weight = np.ones((2, 3), ml_dtypes.float8_e4m3fn)
    assert (dequant.fp8.dequantize(weight, np.float32(2)) == 2).all()
    with pytest.raises(TypeError, match="^weight_scale: (float|int|list|tuple) is no tensor"):
        dequant.fp8.dequantize(weight, number)
    with pytest.raises(TypeError, match="^scale: (float|int|list|tuple) is no tensor"):
        dequant.quanto.dequantize(np.int8([[1]]), number)


def test_bitnet_divides_by_the_scale_unless_told_to_multiply():
    weight, scale = np.uint8([[0b100100], [0b011010]]), np.float32([3])  # -1, 0, 1, ... in slabs
    codes = np.float32([[-1], [1], [0], [1], [1], [0], [-1], [-1]])
    np.testing.assert_array_equal(dequant.bitnet.dequantize(weight, scale), codes / scale)
    y = dequant.bitnet.dequantize(weight, scale, linear_class="autobitlinear", dtype="float16")
    np.testing.assert_array_equal(y, (codes * scale).astype(np.float16))


def test_functions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(dequant.fp8.dequantize)) is dequant.fp8.dequantize

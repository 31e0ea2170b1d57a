"""Blocks of GGUF have the bits that gguf-py, llama.cpp's own package, computes; of the four types
that it lacks, those of a formula."""

import ml_dtypes
import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants

import dequant
from scheme_models import BLOCKS, block_floats
from tensors import same_bits

TYPES = [name for name, (_, elements, _) in BLOCKS.items() if elements > 1]
ONE = 0x3C00  # as float16


def random_blocks(rng, name, count):
    return rng.integers(0, 256, (count, BLOCKS[name][2]), np.uint8)


def same(name, blocks):
    """Both give the same floats, which are returned, a row for a block."""
    with np.errstate(all="ignore"):
        want = block_floats(BLOCKS[name][0], blocks)
    y = dequant.gguf.dequantize(blocks, name)
    same_bits(y, want.astype(np.float32))
    return y


def test_all_types_are_here():
    assert len(TYPES) == 27
    assert {t.name for t in quants._type_traits} - set(TYPES) == {"BF16"}


@pytest.mark.parametrize("name", TYPES)
def test_random_blocks(rng, name):
    y = same(name, random_blocks(rng, name, 2**17 // BLOCKS[name][1]))
    assert np.isfinite(y).mean() > 0.9


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["Q4_0", "Q5_K", "IQ3_S", "MXFP4"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_other_outputs_are_rounded_once(rng, name, dtype):
    blocks = random_blocks(rng, name, 500)
    want = dequant.gguf.dequantize(blocks, name).astype(dtype)
    same_bits(dequant.gguf.dequantize(blocks, name, dtype=dtype), want)


#: The bytes of scales in a block, those of the float16 left out; of IQ1_M these are among them.
SCALES = {"Q2_K": slice(0, 16), "Q3_K": slice(96, 108), "Q4_K": slice(4, 16), "Q5_K": slice(4, 16),
          "Q6_K": slice(192, 208), "IQ1_M": slice(48, 56), "IQ1_S": slice(35, 50, 2),
          "IQ2_S": slice(74, 82), "IQ2_XS": slice(66, 74), "IQ2_XXS": slice(9, 66, 8),
          "IQ3_S": slice(106, 110), "IQ3_XXS": slice(69, 98, 4), "IQ4_XS": slice(2, 8),
          "MXFP4": slice(0, 1), "NVFP4": slice(0, 4)}


@pytest.mark.parametrize("name", SCALES)
def test_every_byte_of_scales(rng, name):
    blocks = random_blocks(rng, name, 256)
    blocks[:, SCALES[name]] = np.arange(256)[:, None]
    same(name, blocks)


def test_every_float16_scale(rng):
    blocks = random_blocks(rng, "Q8_0", 65536)
    blocks[:, :2] = np.arange(65536, dtype="<u2").view(np.uint8).reshape(-1, 2)
    y = same("Q8_0", blocks)
    assert len(np.unique(y[:0x7C00, 0])) > 2**14


def grid(name, index):
    """A block for each index, in which all codes have it; d is 1, all else is 0."""
    blocks = np.zeros((len(index), BLOCKS[name][2]), np.uint8)
    low, high = (index & 255)[:, None], (index >> 8)[:, None]
    blocks[:, :2] = [ONE & 255, ONE >> 8]
    if name == "IQ2_XXS":
        for i in range(4):
            blocks[:, 2 + i::8] = low
    elif name == "IQ2_XS":
        blocks[:, 2:66:2], blocks[:, 3:66:2] = low, high
    elif name == "IQ2_S":
        blocks[:, 2:34], blocks[:, 66:74] = low, high * 0x55
    elif name == "IQ3_XXS":
        blocks[:, 2:66] = low
    elif name == "IQ3_S":
        blocks[:, 2:66], blocks[:, 66:74] = low, high * 0xFF
    elif name == "IQ1_S":
        words = (high * 0o1111).astype("<u2")
        blocks[:, 2:34], blocks[:, 34:50] = low, np.tile(words.view(np.uint8), 8)
    else:  # IQ1_M: the float16 has a digit in each of the last four words
        blocks[:, :32], blocks[:, 32:48] = low, high * 0x11
        blocks[:, 53], blocks[:, 55] = ONE >> 4 & 0xF0, ONE >> 8 & 0xF0
    return blocks


# A grid has so many points, of so many coordinates.
@pytest.mark.parametrize("name, points, coordinates", [
    ("IQ1_M", 2048, 8), ("IQ1_S", 2048, 8), ("IQ2_S", 1024, 8), ("IQ2_XS", 512, 8),
    ("IQ2_XXS", 256, 8), ("IQ3_S", 512, 4), ("IQ3_XXS", 256, 4)])
def test_every_point_of_a_grid(name, points, coordinates):
    y = same(name, grid(name, np.arange(points))).reshape(points, -1, coordinates)
    assert (y == y[:, :1]).all()
    assert len(np.unique(y[:, 0], axis=0)) == points


@pytest.mark.parametrize("name", [name for name in SCALES if name.startswith("IQ")] + ["IQ4_NL"])
def test_every_byte_of_codes_and_signs(rng, name):
    """Each byte of a block has every value once."""
    first = random_blocks(rng, name, 1)
    blocks = first + np.arange(256, dtype=np.uint8)[:, None]
    blocks[:, :2] = first[:, :2] if name != "IQ1_M" else blocks[:, :2]
    same(name, blocks)


def test_the_largest_e8m0_scale_is_no_nan():
    block = np.full((1, 17), 0x21, np.uint8)  # codes 1 and 2: 0.5 and 1
    block[0, 0], block[0, 1] = 255, 0x98  # codes 8 and 9: 0 and -0.5
    y = dequant.gguf.dequantize(block, "MXFP4")[0]
    assert y[1] == 2.0**127 and y[17] == np.inf and y[16] == -(2.0**127)
    assert y[0] == 0 and not np.signbit(y[0])


def test_the_last_codes_of_nvfp4_scales():
    block = np.full((1, 36), 0x11, np.uint8)  # codes 1: 0.5
    block[0, :4] = [0x7F, 0x7E, 0xFF, 0x80]
    y = dequant.gguf.dequantize(block, "NVFP4").reshape(4, 16)
    assert (y == np.array([0, 448, 480, 0])[:, None] / 2).all()


def test_gguf_py_has_the_same_numbers_of_types():
    for name in TYPES:
        if name != "Q2_0":  # which it does not know
            assert int(GGMLQuantizationType[name]) == BLOCKS[name][0]
            blocks = np.zeros((1, BLOCKS[name][2]), np.uint8)
            assert dequant.gguf.dequantize(blocks, GGMLQuantizationType[name]).shape[0] == 1

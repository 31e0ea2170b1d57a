"""Weights that bitsandbytes quantizes on a CPU, of random shapes, types and block lengths: dequant
gives the bits of its own dequantizers."""

import bitsandbytes.functional as bnb
import pytest
import torch

from packed import FLOATS, Draw, assert_converted, same_bits

WEIGHTS = 6


def codes_of_4_bits(folder, draw, kind, columns, same=same_bits):
    nested = draw.one_of(True, False)
    stored, expected = {}, {}
    dtype = draw.one_of(*FLOATS)
    for i in range(WEIGHTS):
        weight = draw.normal(draw.number(1, 50), columns(draw.number(1, 150)), dtype=dtype)
        packed, state = bnb.quantize_4bit(weight, blocksize=64 << draw.number(0, 4),
                                          compress_statistics=nested, quant_type=kind)
        name = f"m{i}.weight"
        stored |= {name: packed} | {f"{name}.{part}": tensor
                                    for part, tensor in state.as_dict(packed=True).items()}
        expected[name] = bnb.dequantize_4bit(packed, state)
    section = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
               "bnb_4bit_use_double_quant": nested}
    assert_converted(folder, section, stored, expected, same=same)


@pytest.mark.parametrize("seed", range(16))
def test_codes_of_nf4(tmp_path, seed):
    draw = Draw(seed)
    codes_of_4_bits(tmp_path, draw, "nf4", lambda n: 2 * n - draw.number(0, 1))


@pytest.mark.parametrize("seed", range(12))
def test_codes_of_fp4(tmp_path, seed):
    """The kernel of bitsandbytes for AVX-512 has +0 for code 8, its other kernels have -0."""
    avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    codes_of_4_bits(tmp_path, Draw(seed), "fp4", lambda n: 2 * n,
                    torch.equal if avx512 else same_bits)


@pytest.mark.parametrize("seed", range(6))
def test_codes_of_fp4_in_odd_rows_but_for_the_sign_of_zero(tmp_path, seed):
    """The fallback of bitsandbytes for odd rows has +0 for code 8, its kernels have -0."""
    codes_of_4_bits(tmp_path, Draw(seed), "fp4", lambda n: 2 * n - 1, torch.equal)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_int8(tmp_path, seed):
    draw = Draw(seed)
    stored, expected = {}, {}
    output = draw.one_of(*FLOATS)
    for i in range(WEIGHTS):
        weight = draw.normal(draw.number(1, 50), draw.number(1, 300), dtype=torch.float16)
        codes, scale, _ = bnb.int8_vectorwise_quant(weight)
        stored |= {f"m{i}.weight": codes, f"m{i}.SCB": scale,
                   f"m{i}.weight_format": torch.tensor(0, dtype=torch.uint8)}
        expected[f"m{i}.weight"] = bnb.int8_vectorwise_dequant(codes, scale).to(output)
    section = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    assert_converted(tmp_path, section, stored, expected, output)

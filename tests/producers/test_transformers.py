"""FP8 and MXFP4 weights of random codes, shapes, blocks and scales: dequant gives the bits of
transformers' dequantizers, and of compressed-tensors' for blocks with short last ones."""

import pytest
import torch
from compressed_tensors.entrypoints.convert import FP8BlockDequantizer
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from packed import FLOATS, Draw, assert_converted

WEIGHTS = 5
SCALES = [torch.float32, torch.bfloat16, torch.float8_e8m0fnu]


def codes(draw, rows, columns):
    """Codes of all values, NaN among them."""
    return draw.integers(0, 255, rows, columns, dtype=torch.uint8).view(torch.float8_e4m3fn)


def scales(draw, dtype, *shape):
    if dtype == torch.float8_e8m0fnu:
        return draw.integers(100, 140, *shape, dtype=torch.uint8).view(dtype)
    return draw.scales(*shape, dtype=dtype)


def section(block):
    return {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": block}


@pytest.mark.parametrize("seed", range(16))
def test_fp8_in_whole_blocks(tmp_path, seed):
    draw = Draw(seed)
    block = [draw.number(1, 80), draw.number(1, 200)]
    dtype, output = draw.one_of(*SCALES), draw.one_of(*FLOATS)
    reference = Fp8Dequantize(None)
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        grid = draw.number(1, 5), draw.number(1, 5)
        weight = codes(draw, grid[0] * block[0], grid[1] * block[1])
        scale = scales(draw, dtype, *grid)
        stored |= {f"m{i}.weight": weight, f"m{i}.weight_scale_inv": scale}
        expected[f"m{i}.weight"] = reference._dequantize_one(weight, scale, output)
    assert_converted(tmp_path, section(block), stored, expected, output)


@pytest.mark.parametrize("seed", range(16))
def test_fp8_in_blocks_with_short_last_ones(tmp_path, seed):
    draw = Draw(seed)
    block = [draw.number(1, 80), draw.number(1, 200)]
    dtype, output = draw.one_of(*SCALES[:2]), draw.one_of(*FLOATS)
    reference = FP8BlockDequantizer(weight_block_size=block, dtype=output)
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        rows, columns = draw.number(1, 4 * block[0]), draw.number(1, 4 * block[1])
        weight = codes(draw, rows, columns)
        scale = scales(draw, dtype, -(-rows // block[0]), -(-columns // block[1]))
        stored |= {f"m{i}.weight": weight, f"m{i}.weight_scale_inv": scale}
        expected[f"m{i}.weight"] = reference._create_dequantized_weight(weight, scale)
    assert_converted(tmp_path, section(block), stored, expected, output)


@pytest.mark.parametrize("seed", range(8))
def test_packed_experts_of_deepseek(tmp_path, seed):
    draw = Draw(seed)
    output = draw.one_of(*FLOATS)
    reference = Fp8Dequantize(None)
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        rows, groups = draw.number(1, 60), draw.number(1, 12)
        weight = draw.integers(-128, 127, rows, groups * 16, dtype=torch.int8)
        scale = scales(draw, torch.float8_e8m0fnu, rows, groups)
        stored |= {f"m{i}.weight": weight, f"m{i}.weight_scale_inv": scale}
        expected[f"m{i}.weight"] = reference._dequantize_one(weight, scale, output)
    assert_converted(tmp_path, section([128, 128]), stored, expected, output)


@pytest.mark.parametrize("seed", range(8))
def test_blocks_of_gpt_oss(tmp_path, seed):
    draw = Draw(seed)
    output = draw.one_of(*FLOATS)
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        experts, rows, groups = draw.number(1, 4), draw.number(1, 60), draw.number(1, 8)
        blocks = draw.integers(0, 255, experts, rows, groups, 16, dtype=torch.uint8)
        scale = draw.integers(0, 254, experts, rows, groups, dtype=torch.uint8)
        stored |= {f"m{i}_blocks": blocks, f"m{i}_scales": scale}
        expected[f"m{i}"] = convert_moe_packed_tensors(blocks, scale, dtype=output)
    assert_converted(tmp_path, {"quant_method": "mxfp4"}, stored, expected, output)

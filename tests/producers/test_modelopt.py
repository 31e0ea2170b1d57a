"""Weights that ModelOpt quantizes, of random shapes and types: dequant gives the bits of the
dequantize() of its tensors."""

import pytest
import torch
from modelopt.torch.export.quant_utils import (maybe_transpose_expert_weight_dimensions,
                                               pack_int4_in_uint8)
from modelopt.torch.quantization.qtensor import (FP8QTensor, INT8QTensor, MXFP4QTensor,
                                                 MXFP8QTensor, NVFP4QTensor)

from packed import FLOATS, Draw, assert_converted

WEIGHTS = 5
SEEDS = pytest.mark.parametrize("seed", range(6))


def converted(tmp_path, algorithm, stored, expected, output):
    section = {"quant_method": "modelopt", "quant_algo": algorithm}
    assert_converted(tmp_path, section, stored, expected, output)


def weight_of(draw, unit):
    return draw.normal(draw.number(1, 60), unit * draw.number(1, 12), dtype=torch.bfloat16)


@SEEDS
@pytest.mark.parametrize("algorithm", ["FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO",
                                       "W8A8_SQ_PER_CHANNEL"])
def test_scales_of_float32(tmp_path, algorithm, seed):
    draw, output = Draw(seed), FLOATS[seed % 3]
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        weight, more = weight_of(draw, 25), {}
        if algorithm == "FP8_PB_WO":
            more = {"block_sizes": {-1: 128, -2: 128}}
            weight = draw.normal(128 * draw.number(1, 3), 128 * draw.number(1, 3))
            rows, columns = (size // 128 for size in weight.shape)
            blocks = weight.reshape(rows, 128, columns, 128)
            scale = blocks.abs().amax((1, 3)) / 448
            stored[f"m{i}.weight_scale"] = scale.reshape(rows, 1, columns, 1)
            if rows * columns == 1:
                stored[f"m{i}.weight_scale"] = scale.reshape(())
        else:
            scale = weight.float().abs().amax(1, keepdim=True) / 448 + 1e-9
            stored[f"m{i}.weight_scale"] = scale[:, 0]
            if algorithm == "FP8":
                scale = stored[f"m{i}.weight_scale"] = scale.amax()
        kind = INT8QTensor if algorithm == "W8A8_SQ_PER_CHANNEL" else FP8QTensor
        packed = kind.quantize(weight, scales=scale, **more)
        packed = packed[0] if isinstance(packed, tuple) else packed
        stored[f"m{i}.weight"] = packed._quantized_data
        expected[f"m{i}.weight"] = packed.dequantize(dtype=output, scale=scale, **more)
    converted(tmp_path, algorithm, stored, expected, output)


@SEEDS
def test_nvfp4(tmp_path, seed):
    draw, output = Draw(seed), FLOATS[seed % 3]
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        packed, scale, second = NVFP4QTensor.quantize(weight_of(draw, 16), 16)
        stored |= {f"m{i}.weight": packed._quantized_data, f"m{i}.weight_scale": scale,
                   f"m{i}.weight_scale_2": second}
        expected[f"m{i}.weight"] = packed.dequantize(dtype=output, scale=scale,
                                                     double_scale=second, block_sizes={-1: 16})
    converted(tmp_path, "NVFP4", stored, expected, output)


@SEEDS
def test_nvfp4_of_experts(tmp_path, seed):
    """As ModelOpt exports experts of Llama 4 and gpt-oss: inputs are the last dimension while these
    are quantized, and the one before it in the file."""
    draw, output = Draw(seed), FLOATS[seed % 3]
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        experts, out, inputs = draw.number(1, 4), draw.number(1, 30), 16 * draw.number(1, 6)
        weight = draw.normal(experts * out, inputs, dtype=torch.bfloat16)
        weight = weight.reshape(experts, out, inputs)
        packed, scale, second = NVFP4QTensor.quantize(weight, 16)
        dense = packed.dequantize(dtype=output, scale=scale, double_scale=second,
                                  block_sizes={-1: 16})
        parts, _ = maybe_transpose_expert_weight_dimensions(packed._quantized_data)
        scales, _ = maybe_transpose_expert_weight_dimensions(scale)
        stored |= {f"m{i}.experts.down_proj": parts.contiguous(),
                   f"m{i}.experts.down_proj_weight_scale": scales.contiguous(),
                   f"m{i}.experts.down_proj_weight_scale_2": second}
        expected[f"m{i}.experts.down_proj"] = dense.transpose(-2, -1).contiguous()
    converted(tmp_path, "NVFP4", stored, expected, output)


@SEEDS
@pytest.mark.parametrize("kind", [MXFP4QTensor, MXFP8QTensor])
def test_mx(tmp_path, kind, seed):
    draw, output = Draw(seed), FLOATS[seed % 3]
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        weight = weight_of(draw, 32)
        packed, scale = kind.quantize(weight, *([32] if kind is MXFP4QTensor else []))
        stored |= {f"m{i}.weight": packed._quantized_data,
                   f"m{i}.weight_scale": scale.reshape(weight.shape[0], -1)}
        expected[f"m{i}.weight"] = packed.dequantize(dtype=output, scale=scale,
                                                     block_sizes={-1: 32})
    converted(tmp_path, kind.__name__.removesuffix("QTensor"), stored, expected, output)


@SEEDS
def test_int4(tmp_path, seed):
    """ModelOpt packs weights that are products of codes and scales, and has no dequantizer for
    these bytes: the products are expected."""
    draw, output = Draw(seed), FLOATS[seed % 3]
    group = draw.one_of(16, 32, 128)
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        shape = [2 * draw.number(1, 30), group * draw.number(1, 5)]
        shape = [draw.number(1, 3), *shape] if i == 0 else shape
        scale = draw.scales(*shape[:-1], shape[-1] // group)
        weight = draw.integers(-8, 7, *shape) * scale.repeat_interleave(group, -1)
        stored[f"m{i}.weight_scale"] = scale
        stored[f"m{i}.weight"] = pack_int4_in_uint8(weight, scale, group)
        expected[f"m{i}.weight"] = weight.to(output)
    converted(tmp_path, "W4A16_AWQ", stored, expected, output)

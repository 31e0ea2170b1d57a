"""Weights that compressed-tensors packs, of random shapes, groups and types: dequant gives the bits
of its decompress(), rounded to the output."""

import pytest
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.utils.helpers import calculate_qparams, generate_gparam

from packed import FLOATS, Draw, assert_converted

WEIGHTS = 6


def blocks_of(weight, strategy, size):
    """The weight cut into what shares a scale: [rows, groups, of a group], or [1, 1, all]."""
    if strategy == "tensor":
        return weight.reshape(1, 1, -1)
    if strategy == "channel":
        return weight[:, None, :]
    if strategy == "block":
        rows, columns = (n // s for n, s in zip(weight.shape, size))
        cut = weight.reshape(rows, size[0], columns, size[1]).transpose(1, 2)
        return cut.reshape(rows, columns, -1)
    return weight.reshape(weight.shape[0], -1, size)


def parameters(weight, args, dtype, size):
    """What a calibration gives beside the weight."""
    blocks = blocks_of(weight.to(torch.float32), args.strategy, size)
    low, high = blocks.amin(-1), blocks.amax(-1)
    state = {"weight": weight.to(dtype)}
    scale_of = None
    if args.strategy == "tensor_group":
        scale_of = generate_gparam(low.amin(), high.amax()).reshape(1)
        state["weight_global_scale"] = scale_of
    scale, zero = calculate_qparams(low, high, args, scale_of)
    if args.strategy == "tensor":
        scale, zero = scale.reshape(1), zero.reshape(1)
    micro = args.num_bits == 4 and args.type == "float" or args.scale_dtype == torch.uint8
    state["weight_scale"] = scale if micro else scale.to(dtype)
    if not args.symmetric:
        state["weight_zero_point"] = zero.to(torch.int8)
    return state


def one_kind(tmp_path, draw, args, form, dtype, size=None, unit=1):
    """Weights of one scheme in one folder."""
    args = QuantizationArgs(**args)
    scheme = QuantizationScheme(targets=["re:m.*"], weights=args, format=form)
    compressor = BaseCompressor.get_value_from_registry(form)
    stored, expected = {}, {}
    units = (size if isinstance(size, list) else [1, size]) if size else [1, unit]
    output = draw.one_of(*FLOATS)
    for i in range(WEIGHTS):
        rows = units[0] * draw.number(1, 40 if units[0] == 1 else 3)
        columns = units[1] * draw.number(1, 9 if units[1] > 1 else 300)
        weight = draw.normal(rows, columns, dtype=dtype)
        packed = compressor.compress(parameters(weight, args, dtype, size), scheme)
        stored |= {f"m{i}.{name}": tensor for name, tensor in packed.items()}
        expected[f"m{i}.weight"] = compressor.decompress(packed, scheme)["weight"].to(output)
    section = {"quant_method": "compressed-tensors", "format": form, "version": "0.20.0",
               "ignore": [], "config_groups": {"group_0": {
                   "targets": ["re:m.*"], "format": form,
                   "weights": args.model_dump(mode="json", exclude_none=True)}}}
    assert_converted(tmp_path, section, stored, expected, output)


@pytest.mark.parametrize("seed", range(20))
def test_packed_integers(tmp_path, seed):
    draw = Draw(seed)
    strategy = draw.one_of("group", "group", "channel")
    size = 8 * draw.number(2, 17) if strategy == "group" else None
    args = {"num_bits": draw.number(1, 8), "type": "int", "strategy": strategy,
            "symmetric": draw.one_of(True, False)} | ({"group_size": size} if size else {})
    one_kind(tmp_path, draw, args, "pack-quantized", draw.one_of(*FLOATS), size)


@pytest.mark.parametrize("seed", range(12))
def test_integers_of_a_byte(tmp_path, seed):
    draw = Draw(seed)
    strategy = draw.one_of("tensor", "channel", "group")
    size = 8 * draw.number(2, 17) if strategy == "group" else None
    args = {"num_bits": 8, "type": "int", "strategy": strategy,
            "symmetric": draw.one_of(True, False)} | ({"group_size": size} if size else {})
    one_kind(tmp_path, draw, args, "int-quantized", draw.one_of(*FLOATS), size)


@pytest.mark.parametrize("seed", range(12))
def test_float8(tmp_path, seed):
    draw = Draw(seed)
    strategy = draw.one_of("tensor", "channel", "block")
    size = [draw.one_of(16, 64, 128), draw.one_of(32, 128)] if strategy == "block" else None
    args = {"num_bits": 8, "type": "float", "strategy": strategy, "symmetric": True}
    args |= {"block_structure": size} if size else {}
    one_kind(tmp_path, draw, args, "float-quantized", draw.one_of(*FLOATS), size)


MICRO = {
    "nvfp4-pack-quantized": ({"num_bits": 4, "strategy": "tensor_group", "group_size": 16,
                              "scale_dtype": "torch.float8_e4m3fn"}, 16),
    "mxfp4-pack-quantized": ({"num_bits": 4, "strategy": "group", "group_size": 32,
                              "scale_dtype": "torch.uint8"}, 32),
    "mxfp6-pack-quantized": ({"num_bits": 6, "strategy": "group", "group_size": 32,
                              "scale_dtype": "torch.uint8"}, 32),
    "mxfp8-quantized": ({"num_bits": 8, "strategy": "group", "group_size": 32,
                         "scale_dtype": "torch.uint8"}, 32),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", MICRO)
def test_small_floats_in_groups(tmp_path, form, seed):
    draw = Draw(seed)
    args, size = MICRO[form]
    one_kind(tmp_path, draw, args | {"type": "float", "symmetric": True}, form, torch.bfloat16,
             size)

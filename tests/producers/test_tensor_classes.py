"""Weights that HQQ, quanto and torchao quantize, of random shapes and types: dequant gives the bits
of the dequantize() of their tensors."""

import json

import optimum.quanto as quanto
import pytest
import torch
import torchao.quantization as ao
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

from packed import FLOATS, Draw, assert_converted

WEIGHTS = 4


@pytest.mark.parametrize("seed", range(16))
def test_hqq(tmp_path, seed):
    draw = Draw(seed)
    bits, axis, group = draw.one_of(1, 2, 3, 4, 8), draw.one_of(0, 1), 32 << draw.number(0, 2)
    dtype = draw.one_of(torch.float16, torch.bfloat16, torch.float32)
    options = {"nbits": bits, "group_size": group, "axis": axis}
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        layer = torch.nn.Linear(group * draw.number(1, 4), group * draw.number(1, 4), bias=False)
        layer.weight.data = draw.normal(*layer.weight.shape)
        packed = HQQLinear(layer, BaseQuantizeConfig(**options), compute_dtype=dtype, device="cpu")
        stored |= {f"m{i}.{name}": tensor.data for name, tensor in packed.state_dict().items()}
        expected[f"m{i}.weight"] = packed.dequantize()
    section = {"quant_method": "hqq", "quant_config": {"weight_quant_params": options}}
    assert_converted(tmp_path, section, stored, expected)


@pytest.mark.parametrize("seed", range(16))
def test_quanto(tmp_path, seed):
    draw = Draw(seed)
    name, dtype = draw.one_of("qint2", "qint4", "qint8", "qfloat8_e4m3fn"), draw.one_of(*FLOATS)
    stored, expected, kinds = {}, {}, {}
    for i in range(WEIGHTS):
        layer = torch.nn.Linear(32 * draw.number(1, 9), 8 * draw.number(1, 9), dtype=dtype)
        layer.weight.data = draw.normal(*layer.weight.shape, dtype=dtype)
        model = torch.nn.ModuleDict({f"m{i}": layer})
        quanto.quantize(model, weights=getattr(quanto, name))
        quanto.freeze(model)
        stored |= model.state_dict()
        expected[f"m{i}.weight"] = model[f"m{i}"].weight.dequantize()
        kinds[f"m{i}"] = {"weights": name, "activations": "none"}
    stored = {key: tensor.contiguous() for key, tensor in stored.items()}
    scales = [key for key in stored if key.endswith(("input_scale", "output_scale"))]
    kept = {key: tensor for key, tensor in stored.items() if key not in scales}
    assert_converted(tmp_path, None, kept, expected,
                     files=[("quanto_qmap.json", json.dumps(kinds))])


@pytest.mark.parametrize("seed", range(16))
def test_torchao(tmp_path, seed):
    draw = Draw(seed)
    configuration = draw.one_of(
        lambda: ao.Int8WeightOnlyConfig(), lambda: ao.Float8WeightOnlyConfig(),
        lambda: ao.IntxWeightOnlyConfig(
            weight_dtype=getattr(torch, f"int{draw.number(2, 8)}"),
            granularity=draw.one_of(ao.PerGroup(32), ao.PerGroup(64), ao.PerAxis(0))))()
    dtype = draw.one_of(*FLOATS)
    tensors, expected = {}, {}
    for i in range(WEIGHTS):
        layer = torch.nn.Linear(64 * draw.number(1, 5), draw.number(1, 80), bias=False, dtype=dtype)
        layer.weight.data = draw.normal(*layer.weight.shape, dtype=dtype)
        model = torch.nn.Sequential(layer)
        ao.quantize_(model, configuration)
        tensors[f"m{i}.weight"] = model[0].weight.data
        expected[f"m{i}.weight"] = model[0].weight.dequantize()
    stored, metadata = flatten_tensor_state_dict(tensors)
    assert_converted(tmp_path, {"quant_method": "torchao"}, stored, expected, metadata=metadata)

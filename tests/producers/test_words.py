"""GPTQ and AWQ weights of random words, shapes and groups: dequant gives the bits of GPTQModel's
and AutoAWQ's unpackers."""

import pytest
import torch
from awq.modules.linear.gemm import WQLinear_GEMM
from awq.modules.linear.gemv import WQLinear_GEMV
from awq.utils.packing_utils import dequantize_gemm
from gptqmodel.nn_modules.qlinear.gemv_awq import AwqGEMVLinear
from gptqmodel.utils.model_dequant import convert_gptq_file
from safetensors.torch import save_file

from packed import FLOATS, Draw, assert_converted

WEIGHTS = 5


def words(draw, rows, columns):
    return draw.integers(-(1 << 31), (1 << 31) - 1, rows, columns, dtype=torch.int32)


@pytest.mark.parametrize("seed", range(24))
def test_gptq(tmp_path, seed):
    draw = Draw(seed)
    bits, form = draw.one_of(2, 3, 4, 8), draw.one_of("gptq", "gptq_v2")
    group, order = 32 * draw.number(1, 4), draw.one_of(True, False)
    output = draw.one_of(*FLOATS)
    section = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": order,
               "sym": False, "checkpoint_format": form}
    stored = {}
    for i in range(WEIGHTS):
        inputs, outputs = group * draw.number(1, 5), 32 * draw.number(1, 4)
        groups = inputs // group
        index = torch.arange(inputs) // group
        if order:
            index = index[torch.randperm(inputs, generator=draw.generator)]
        stored |= {f"m{i}.qweight": words(draw, inputs * bits // 32, outputs),
                   f"m{i}.qzeros": words(draw, groups, outputs * bits // 32),
                   f"m{i}.scales": draw.scales(groups, outputs, dtype=torch.float16),
                   f"m{i}.g_idx": index.to(torch.int32)}
    save_file(stored, tmp_path / "words.safetensors")
    expected = convert_gptq_file(tmp_path / "words.safetensors", output, section, "cpu")
    assert_converted(tmp_path, section, stored, expected, output)


@pytest.mark.parametrize("seed", range(12))
def test_planes_of_gptq(tmp_path, seed):
    draw = Draw(seed)
    bits, group, output = draw.one_of(3, 5, 6, 7), 32 * draw.number(1, 4), draw.one_of(*FLOATS)
    section = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": False,
               "sym": False, "checkpoint_format": "gptq_p"}
    stored = {}
    for i in range(WEIGHTS):
        groups, outputs = draw.number(1, 5), 32 * draw.number(1, 4)
        stored |= {f"m{i}.qweight": words(draw, groups * group * bits // 32, outputs),
                   f"m{i}.qzeros": words(draw, groups, outputs * bits // 32),
                   f"m{i}.scales": draw.scales(groups, outputs, dtype=torch.float16),
                   f"m{i}.g_idx": (torch.arange(groups * group) // group).to(torch.int32)}
    save_file(stored, tmp_path / "words.safetensors")
    expected = convert_gptq_file(tmp_path / "words.safetensors", output, section, "cpu")
    assert_converted(tmp_path, section, stored, expected, output)


@pytest.mark.parametrize("seed", range(12))
def test_awq(tmp_path, seed):
    draw = Draw(seed)
    group = 8 * draw.number(1, 16)
    dtype = draw.one_of(torch.float16, torch.float32)
    section = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True,
               "version": "gemm"}
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        groups, outputs = draw.number(1, 5), 8 * draw.number(1, 20)
        packed = (words(draw, groups * group, outputs // 8), words(draw, groups, outputs // 8),
                  draw.scales(groups, outputs, dtype=torch.float16))
        stored |= {f"m{i}.{name}": tensor
                   for name, tensor in zip(("qweight", "qzeros", "scales"), packed)}
        values = dequantize_gemm(*packed[:2], packed[2].to(dtype), 4, group)
        expected[f"m{i}.weight"] = values.T
    assert_converted(tmp_path, section, stored, expected, dtype)


def gemv_of_gptqmodel(linear, group, scales, zeros):
    out, inputs = linear.weight.shape
    packer = AwqGEMVLinear(bits=4, group_size=group, sym=False, desc_act=False,
                           in_features=inputs, out_features=out)
    packer.pack(linear, scales, zeros)
    return packer


def gemv_of_autoawq(linear, group, scales, zeros):
    return WQLinear_GEMV.from_linear(linear, 4, group, False, scales, zeros)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pack", [gemv_of_autoawq, gemv_of_gptqmodel])
def test_gemv_has_the_floats_of_gemm(tmp_path, pack, seed):
    """Both layouts of a linear are packed; that of gemm is dequantized by AutoAWQ."""
    draw = Draw(seed)
    group = draw.one_of(64, 128, *([32, 256] if pack is gemv_of_autoawq else []))
    dtype = draw.one_of(torch.float16, torch.float32)
    section = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True,
               "version": "gemv"}
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        groups, outputs = draw.number(1, 20), 64 * draw.number(1, 2)
        zeros = draw.integers(0, 15, outputs, groups)
        scales = draw.scales(outputs, groups, dtype=torch.float16)
        codes = draw.integers(0, 15, outputs, groups * group)
        index = torch.arange(groups * group) // group
        linear = torch.nn.Linear(groups * group, outputs, bias=False)
        linear.weight.data = (codes - zeros[:, index]) * scales[:, index].float()
        gemv = pack(linear, group, scales, zeros)
        gemm = WQLinear_GEMM.from_linear(linear, 4, group, False, scales.T.contiguous(),
                                         zeros.T.contiguous())
        stored |= {f"m{i}.{name}": getattr(gemv, name) for name in ("qweight", "qzeros", "scales")}
        values = dequantize_gemm(gemm.qweight, gemm.qzeros, gemm.scales.to(dtype), 4, group)
        assert torch.equal(values.T.float(), linear.weight.data.to(dtype).float())
        expected[f"m{i}.weight"] = values.T
    assert_converted(tmp_path, section, stored, expected, dtype)

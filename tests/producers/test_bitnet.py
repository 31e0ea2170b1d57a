"""Ternary weights that transformers packs: dequant gives the bits of codes divided by the scale, or
multiplied, with which its layers compute."""

import pytest
import torch
from transformers.integrations.bitnet import AutoBitLinear, BitLinear, pack_weights, unpack_weights

from packed import FLOATS, Draw, assert_converted

torch.compiler.set_stance("force_eager")

WEIGHTS = 5
CLASSES = {"bitlinear": torch.div, "autobitlinear": torch.mul}


def section(linear_class):
    return {"quant_method": "bitnet", "linear_class": linear_class, "quantization_mode": "offline"}


@pytest.mark.parametrize("linear_class", CLASSES)
@pytest.mark.parametrize("seed", range(12))
def test_weights(tmp_path, seed, linear_class):
    draw = Draw(seed)
    dtype, output = draw.one_of(*FLOATS), draw.one_of(*FLOATS)
    stored, expected = {}, {}
    for i in range(WEIGHTS):
        shape = 4 * draw.number(1, 40), draw.number(1, 200)
        packed = pack_weights(draw.integers(-1, 1, *shape, dtype=torch.float32))
        scale = draw.scales(1, dtype=dtype)
        stored |= {f"m{i}.weight": packed, f"m{i}.weight_scale": scale}
        codes = unpack_weights(packed, torch.float32)
        expected[f"m{i}.weight"] = CLASSES[linear_class](codes, scale.float()).to(output)
    assert_converted(tmp_path, section(linear_class), stored, expected, output)


@pytest.mark.parametrize("linear_class", CLASSES)
def test_every_byte(tmp_path, linear_class):
    packed, scale = torch.arange(256, dtype=torch.uint8)[None], torch.tensor([1.7])
    codes = unpack_weights(packed, torch.float32)
    expected = {"m.weight": CLASSES[linear_class](codes, scale)}
    assert_converted(tmp_path, section(linear_class),
                     {"m.weight": packed, "m.weight_scale": scale}, expected)


def test_layers_multiply_inputs_by_these_weights(tmp_path):
    """Inputs are integers up to 127, which layers round to themselves."""
    draw = Draw(1)
    packed = pack_weights(draw.integers(-1, 1, 32, 24, dtype=torch.float32))
    codes = unpack_weights(packed, torch.float32)
    inputs = draw.integers(-127, 127, 9, 24, dtype=torch.float32)
    inputs[:, 0] = 127
    for kind, operation in ((BitLinear, torch.div), (AutoBitLinear, torch.mul)):
        layer = kind(24, 32, bias=False, dtype=torch.float32).requires_grad_(False)
        layer.weight.data = packed if kind is BitLinear else codes
        layer.weight_scale.fill_(0.37)
        dense = operation(codes, layer.weight_scale)
        torch.testing.assert_close(layer(inputs), inputs @ dense.T, rtol=1e-5, atol=1e-3)
        folder = tmp_path / kind.__name__
        folder.mkdir()
        assert_converted(folder, section(kind.__name__.lower()),
                         {"m.weight": packed, "m.weight_scale": layer.weight_scale},
                         {"m.weight": dense})

"""Weights in the layouts of packers: written as a folder, converted, compared with what the
producer says they are."""

import json
import os
import subprocess

import torch
from safetensors.torch import load_file, save_file

TYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
FLOATS = list(TYPES)


def same_bits(got, want):
    """Whether all numbers have the same bits, NaN as a class."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    width = torch.int16 if got.itemsize == 2 else torch.int32
    equal = got.contiguous().view(width) == want.contiguous().view(width)
    return bool((equal | (got.isnan() & want.isnan())).all())


def assert_converted(folder, section, stored, expected, dtype=None, metadata=None, files=(),
                     same=same_bits):
    """Converts stored tensors with a quantization_config to `dtype`, None: that of the first
    expected tensor. The output has the expected tensors, and others only as they were stored."""
    source, out = folder / "in", folder / "out"
    source.mkdir()
    config = {"torch_dtype": "bfloat16"} | ({"quantization_config": section} if section else {})
    (source / "config.json").write_text(json.dumps(config))
    for name, text in files:
        (source / name).write_text(text)
    save_file({name: tensor.contiguous() for name, tensor in stored.items()},
              source / "model.safetensors", metadata or {"format": "pt"})
    wanted = TYPES[dtype or next(iter(expected.values())).dtype]
    done = subprocess.run([os.environ["DEQUANT_CLI"], "convert", str(source), "-o", str(out),
                           "--dtype", wanted], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    got = load_file(out / "model.safetensors")
    assert got.keys() >= expected.keys()
    for name, tensor in got.items():
        assert same(tensor, expected.get(name, stored.get(name))), name


class Draw:
    """Random choices and numbers of one seed."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def number(self, low, high):
        """Of low to high."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def one_of(self, *things):
        return things[self.number(0, len(things) - 1)]

    def normal(self, *shape, dtype=torch.float32):
        """Weights: rows of different magnitudes, some zeros and outliers."""
        values = torch.randn(shape, generator=self.generator)
        values *= torch.exp2(torch.randint(-12, 4, (shape[0], 1), generator=self.generator))
        values[torch.rand(shape, generator=self.generator) < 0.02] = 0
        values[torch.rand(shape, generator=self.generator) < 0.01] *= 30
        return values.to(dtype)

    def integers(self, low, high, *shape, dtype=torch.int64):
        """Of low to high."""
        return torch.randint(low, high + 1, shape, generator=self.generator).to(dtype)

    def scales(self, *shape, dtype=torch.float32):
        values = torch.rand(shape, generator=self.generator) + 0.5
        return (values * torch.exp2(self.integers(-9, 1, *shape))).to(dtype)

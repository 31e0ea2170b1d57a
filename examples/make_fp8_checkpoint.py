#!/usr/bin/env python3
"""Writes a small checkpoint laid out as DeepSeek-V3 is: FP8 weights in blocks of 128 x 128, of
which the last ones are short, two shards, an index, a configuration. The numbers are random, and
the same each time. Needs nothing but Python.

    make_fp8_checkpoint.py FOLDER
"""

import json
import pathlib
import random
import struct
import sys

BLOCK = 128
LAYERS, EXPERTS = 3, 4
HIDDEN, INNER = 192, 160


def float32(values):
    return struct.pack(f"<{len(values)}f", *values)


def bfloat16(values):
    return b"".join(struct.pack("<f", value)[2:] for value in values)


class Checkpoint:
    def __init__(self):
        self.random = random.Random(7)
        self.tensors = []  # (name, type, shape, bytes)

    def plain(self, name, *shape):
        count = 1
        for size in shape:
            count *= size
        values = bfloat16([self.random.gauss(0, 0.02) for _ in range(count)])
        self.tensors.append((name, "BF16", shape, values))

    def quantized(self, name, rows, columns):
        """Codes without NaN, which are 0x7F and 0xFF, and a scale for each block."""
        codes = bytes(code if code & 0x7F != 0x7F else 0 for code in
                      self.random.randbytes(rows * columns))
        grid = (-(-rows // BLOCK), -(-columns // BLOCK))
        scales = [self.random.uniform(1e-4, 3e-4) for _ in range(grid[0] * grid[1])]
        self.tensors.append((f"{name}.weight", "F8_E4M3", (rows, columns), codes))
        self.tensors.append((f"{name}.weight_scale_inv", "F32", grid, float32(scales)))


def file_of(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, dtype, shape, values in tensors:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def main(folder):
    c = Checkpoint()
    c.plain("model.embed_tokens.weight", 32, HIDDEN)
    for layer in range(LAYERS):
        name = f"model.layers.{layer}"
        c.plain(f"{name}.input_layernorm.weight", HIDDEN)
        c.quantized(f"{name}.self_attn.q_proj", HIDDEN, HIDDEN)
        c.quantized(f"{name}.self_attn.kv_a_proj_with_mqa", INNER, HIDDEN)
        experts = [f"{name}.mlp.experts.{e}" for e in range(EXPERTS)] if layer else [f"{name}.mlp"]
        for expert in experts:
            c.quantized(f"{expert}.gate_proj", INNER, HIDDEN)
            c.quantized(f"{expert}.up_proj", INNER, HIDDEN)
            c.quantized(f"{expert}.down_proj", HIDDEN, INNER)
    c.plain("lm_head.weight", 32, HIDDEN)

    folder.mkdir(parents=True)
    half = len(c.tensors) // 2
    weight_map = {}
    for i, part in enumerate((c.tensors[:half], c.tensors[half:]), 1):
        name = f"model-{i:05}-of-00002.safetensors"
        (folder / name).write_bytes(file_of(part))
        weight_map.update({tensor[0]: name for tensor in part})
    size = sum(len(values) for *_, values in c.tensors)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": size}, "weight_map": weight_map}, indent=2))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["DeepseekV3ForCausalLM"],
        "hidden_size": HIDDEN,
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
                                "weight_block_size": [BLOCK, BLOCK]},
    }, indent=2))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

"""Tests with the packages of requirements.txt, which are large; DEQUANT_CLI is the program, by
default that of the folder build."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("DEQUANT_CLI", str(ROOT / "build" / "dequant"))
os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")  # its pools refuse a machine of two processors


def flat_rows():
    """bitsandbytes 0.50.2 on AVX-512 takes the scales of other blocks where a row of 16 n elements
    is no whole number of blocks; its own fallback for other rows does not. As one row, which it
    means, each element has the scale of its block."""
    import bitsandbytes.backends.cpu.ops as ops

    def flat(kernel):
        return lambda codes, scales, out, block, rows, columns: kernel(
            codes, scales, out, block, 1, type(columns)(rows.value * columns.value))

    for kind in ("nf4", "fp4"):
        for dtype in ("fp32", "fp16", "bf16"):
            name = f"cdequantize_blockwise_cpu_{kind}_{dtype}"
            setattr(ops.lib, name, flat(getattr(ops.lib, name)))


flat_rows()

"""PyTorch in three variants: dequantize() of a quantized tensor, the operators of
quantized_decomposed, and the same operators compiled."""

import warnings

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers quantized_decomposed
from peers import ALLOCATES, Peer, Task

# Quantized tensors are deprecated, but torch has no other type for them.
warnings.filterwarnings("ignore", message=".*quantized tensor.*")
OUTPUTS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
TYPES = {"uint8": torch.uint8, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32,
         "float8e4m3fn": torch.float8_e4m3fn}


def codes(cell, tensors):
    return torch.from_numpy(tensors.x).view(TYPES[cell.x]).view(tensors.shape)


def parameters(cell, tensors):
    """Scales and zero points: tensors, or Python numbers per tensor."""
    scale = tensors.scale.astype(np.float32)
    zero = np.zeros_like(scale, np.int64)
    if tensors.zero_point is not None:
        zero = tensors.zero_points(cell).astype(np.int64)
    if cell.granularity == "per tensor":
        return float(scale), int(zero)
    return torch.from_numpy(scale), torch.from_numpy(zero)


class Torch(Peer):
    version = torch.__version__

    def can(self, cell, threads):
        return cell.linear and cell.granularity != "blocked 32"

    def task(self, cell, tensors, y, threads):
        call = self.call(cell, codes(cell, tensors), *parameters(cell, tensors))
        last = []

        def run():
            last[:] = []  # frees the last result, so that its memory can be reused
            last.append(call())
        return Task(run, lambda: last[0].view(-1).view(torch.uint8).numpy(), ALLOCATES)


class QuantizedTensor(Torch):
    name = "torch dequantize"

    def can(self, cell, threads):
        fits = cell.x in ("uint8", "int8", "int32") and cell.y == "float32"
        return fits and super().can(cell, threads)

    def call(self, cell, x, scale, zero):
        if cell.granularity == "per tensor":
            return torch._make_per_tensor_quantized_tensor(x, scale, zero).dequantize
        return torch._make_per_channel_quantized_tensor(x, scale, zero, cell.axis).dequantize


class Decomposed(Torch):
    name = "torch decomposed"

    def call(self, cell, x, scale, zero):
        operators = torch.ops.quantized_decomposed
        limits = torch.finfo(x.dtype) if x.dtype.is_floating_point else torch.iinfo(x.dtype)
        shared = (int(limits.min), int(limits.max), x.dtype)
        kind = OUTPUTS[cell.y]

        def per_tensor(x):
            return operators.dequantize_per_tensor(x, scale, zero, *shared, out_dtype=kind)

        def per_channel(x):
            return operators.dequantize_per_channel(x, scale, zero, cell.axis, *shared,
                                                    out_dtype=kind)
        run = self.built(per_tensor if cell.granularity == "per tensor" else per_channel)
        return lambda: run(x)

    def built(self, function):
        return function


class Compiled(Decomposed):
    name = "torch compiled"

    def built(self, function):
        torch._dynamo.reset()
        return torch.compile(function, dynamic=False)


def load(name, threads):
    torch.set_num_threads(threads)
    return [QuantizedTensor(), Decomposed(), Compiled()]

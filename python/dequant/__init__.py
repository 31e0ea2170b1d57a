"""Converts quantized tensors to floats, exactly and at the speed of memory.

Each dialect (a specification of dequantization) is a module whose functions have the argument names
of the specification: onnx, microsoft, tensorflow, directml, webnn. So is each scheme of quantized
checkpoints, by the producer's names: awq, bitnet, bitsandbytes, bitsandbytes_absmax,
bitsandbytes_int8, compressed_tensors, fp8, gguf, gptoss, gptq, hqq, mlx, modelopt, mx, quanto,
quark, torchao. Tensors are numpy arrays, objects that share their memory with numpy, and
dequant.Packed.
The module safetensors reads quantized checkpoints by the interface of the package of that name.
"""

from . import (
    awq,
    bitnet,
    bitsandbytes,
    bitsandbytes_absmax,
    bitsandbytes_int8,
    compressed_tensors,
    directml,
    fp8,
    gguf,
    gptoss,
    gptq,
    hqq,
    microsoft,
    mlx,
    modelopt,
    mx,
    onnx,
    quanto,
    quark,
    safetensors,
    tensorflow,
    torchao,
    webnn,
)
from ._core import BITS as _BITS
from ._core import __version__
from ._convert import ConvertReport, convert
from ._diff import diff
from ._diff_result import Channel, Diff, ModelDiff, Worst
from ._errors import UnsupportedError
from ._model import Model, Tensor, open
from ._packed import Packed
from ._tasks import FinalizeReport, Plan, Task, TaskReport, finalize, plan, run_task

#: The names of all element types.
dtypes = tuple(_BITS)

__all__ = ["Channel", "ConvertReport", "Diff", "FinalizeReport", "Model", "ModelDiff", "Packed",
           "Plan", "Task", "TaskReport", "Tensor", "UnsupportedError", "Worst", "__version__",
           "awq", "bitnet", "bitsandbytes", "bitsandbytes_absmax", "bitsandbytes_int8",
           "compressed_tensors", "convert", "diff", "directml", "dtypes", "finalize", "fp8", "gguf",
           "gptoss", "gptq", "hqq", "microsoft", "mlx", "modelopt", "mx", "onnx", "open", "plan",
           "quanto", "quark", "run_task", "safetensors", "tensorflow", "torchao", "webnn"]

"""Inputs of conversions that are carried out in shares, and comparing whole outputs."""

import json
import os
import pathlib
import tempfile

import numpy as np
import onnx
import pytest

import gguf_support
import tflite_support
from support import dequant, model, node, value
from test_verify import bfloat16, safetensors

#: Bytes of a task: the small inputs here have several tasks in each file.
TASK = 4096


@pytest.fixture(name="tmp_path")
def fixture_memory():
    """A folder in memory where there is one: each task is flushed, which takes long on disks."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield pathlib.Path(path)


def checkpoint(folder, shards=2, rows=(3, 130, 257)):
    """FP8 weights whose scales are in the other file, tensors that are copied, one without numbers,
    and a file beside. Tensors of less and of more than a task."""
    folder.mkdir()
    rng = np.random.default_rng(7)
    blocks = {} if shards == 1 else {"weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps(
        {"architectures": ["A"], "torch_dtype": "bfloat16",
         "quantization_config": {"quant_method": "fp8", **blocks}}))
    (folder / "tokenizer.json").write_text("{}")
    weights = {f"m{i}.weight": ("F8_E4M3", rng.integers(0, 0x78, (n, 200), np.uint8))
               for i, n in enumerate(rows)}
    # Of one file each row has a scale.
    shapes = [(n, 1) if shards == 1 else (-(-n // 128), 2) for n in rows]
    suffix = "weight_scale" if shards == 1 else "weight_scale_inv"
    scales = {f"m{i}.{suffix}": ("F32", rng.random(shape, np.float32))
              for i, shape in enumerate(shapes)}
    others = {"norm": ("BF16", bfloat16(np.ones(8))),
              "embed": ("BF16", bfloat16(rng.random((100, 64)))),
              "empty": ("F32", np.zeros((0, 4), np.float32))}
    if shards == 1:
        safetensors(folder / "model.safetensors", {**weights, **scales, **others})
        return folder
    files = {"a.safetensors": weights, "b.safetensors": {**scales, **others}}
    for name, entries in files.items():
        safetensors(folder / name, entries)
    (folder / "model.safetensors.index.json").write_text(json.dumps(
        {"weight_map": {tensor: name for name, entries in files.items() for tensor in entries}}))
    return folder


def gguf_file(path):
    rng = np.random.default_rng(8)
    floats = rng.standard_normal((48, 512)).astype(np.float32)
    gguf_support.write(path, {
        "a": gguf_support.quantized("Q4_1", floats),
        "b": gguf_support.quantized("Q8_0", floats[:7]),
        "c": floats[:9], "d": ("Q4_K", rng.integers(0, 0x60, (48, 288), np.uint8))})
    return path


def tflite_file(path):
    rng = np.random.default_rng(9)
    codes = tflite_support.random_codes(rng, "INT8", (130, 70))
    path.write_bytes(tflite_support.model([
        tflite_support.Tensor("w", "INT8", codes, np.linspace(0.1, 1, 130, dtype=np.float32),
                              np.zeros(130, np.int64), 0),
        tflite_support.Tensor("bias", "FLOAT32", rng.random(2000).astype(np.float32))]))
    return path


def onnx_file(path, external=False):
    """Weights that are folded, one in int32_data, whose numbers cannot be read from the middle on,
    and floats that stay in a file beside the model."""
    rng = np.random.default_rng(10)
    weights = {"w0": rng.integers(-128, 128, (130, 70)).astype(np.int8),
               "w1": rng.integers(-128, 128, (40, 70)).astype(np.int8),
               "small": rng.integers(-128, 128, (3, 70)).astype(np.int8)}
    tensors = [onnx.numpy_helper.from_array(w, f"{n}_q") for n, w in weights.items()]
    tensors[1] = onnx.helper.make_tensor("w1_q", onnx.TensorProto.INT8, weights["w1"].shape,
                                         weights["w1"].reshape(-1).tolist())
    tensors.append(onnx.numpy_helper.from_array(np.float32(0.1), "scale"))
    tensors.append(onnx.numpy_helper.from_array(rng.random((70, 70), np.float32), "kept"))
    nodes = [node("DequantizeLinear", f"{n}_q scale", n) for n in weights]
    nodes += [node("MatMul", f"{n} kept", f"y_{n}") for n in weights]
    made = model(nodes, outputs=[value(f"y_{n}", shape=(w.shape[0], 70))
                                 for n, w in weights.items()], initializers=tensors)
    onnx.save(made, path, save_as_external_data=external, location="data", size_threshold=1024)
    return path


def files(path):
    """Name -> bytes of all files of an output: a folder, or files that begin with its name."""
    path = pathlib.Path(path)
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    return {p.name: p.read_bytes() for p in path.parent.glob(f"{path.stem}*") if p.is_file()}


def plan(source, out, *options):
    return json.loads(dequant("plan", source, "-o", out, "--task-size", TASK, *options).stdout)


def share(source, out, number, *options, **more):
    return dequant("convert", source, "-o", out, "--shard", number, "--task-size", TASK, *options,
                   **more)

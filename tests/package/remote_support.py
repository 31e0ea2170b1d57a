"""Models behind URLs: what they are made of, and local conversions to compare with."""

import pathlib
import subprocess
import sys

import gguf
import numpy as np

import tflite_support as tflite

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/make_fp8_checkpoint.py"
SHARD = 600_000


def make_checkpoint(folder):
    subprocess.run([sys.executable, EXAMPLE, folder], check=True, timeout=60)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "docs").mkdir()
    (folder / "docs" / "guide.md").write_text("# A guide\n")
    return folder


def make_gguf(path, rows=2000):
    rng = np.random.default_rng(3)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", [f"token {i}" for i in range(5000)])
    for i in range(4):
        blocks = rng.integers(0, 256, (rows, 8 * 18), np.uint8)
        blocks[:, 1::18] = 0x20  # the high byte of each scale
        writer.add_tensor(f"blk.{i}.ffn_up.weight", blocks,
                          raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.add_tensor("output_norm.weight", rng.random(256).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def make_tflite(path, rows=2000):
    rng = np.random.default_rng(4)
    path.write_bytes(tflite.model([
        tflite.Tensor(f"w{i}", "INT8", tflite.random_codes(rng, "INT8", (rows, 64)),
                      rng.random(rows).astype("f4"), np.zeros(rows, int)) for i in range(4)]))
    return path


#: Kind -> its maker, the name of the input, that of the output, options.
MODELS = {"checkpoint": (make_checkpoint, "fp8", "dense", {"max_shard_size": SHARD}),
          "gguf": (make_gguf, "model.gguf", "float.gguf", {}),
          "gguf in safetensors": (make_gguf, "model.gguf", "out", {"max_shard_size": 4 * SHARD})}
if not tflite.MISSING:
    MODELS["tflite"] = (make_tflite, "model.tflite", "float.safetensors", {})


def contents(path):
    """The files of a local model: name -> bytes."""
    path = pathlib.Path(path)
    if path.is_file():
        return {path.name: path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes()
            for file in path.rglob("*") if file.is_file()}


def remote_contents(fs, path):
    """The same of a model behind a URL, and of what lies beside it."""
    path = fs._strip_protocol(path)
    if fs.isfile(path):
        return {path.rpartition("/")[2]: fs.cat_file(path)}
    return {name[len(path) + 1:]: fs.cat_file(name) for name in fs.find(path)}


def upload(fs, local, url):
    root = fs._strip_protocol(url)
    for name, data in contents(local).items():
        fs.pipe_file(f"{root}/{name}" if local.is_dir() else root, data)

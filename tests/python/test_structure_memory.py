"""The structure of a model takes memory by its bytes, or the model is refused as over a limit that
an option raises."""

import os
import pathlib
import subprocess
import sys

import gguf
import numpy as np
import pytest

import gguf_support
from hostile_support import assert_error, model, run, sub
from support import peak_memory

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "model" / "structure.py"
KINDS = ["relu", "names", "dequantize", "pairs", "many pairs", "nodes", "initializers",
         "attributes", "outputs", "values", "subgraphs", "floats"]
EMPTY_VALUES = model(sub(13) * 3_000_000)


@pytest.mark.parametrize("kinds, scale", [(KINDS, "0.2"), (["concat", "many concats"], "1")])
def test_three_million_nodes_took_a_gibibyte(kinds, scale):
    """Every kind of part that a few bytes make, by the script that measures them, in fifths of its
    numbers where these are large."""
    if os.environ.get("DEQUANT_SANITIZED"):
        pytest.skip("SANITIZED: sanitizers take memory of their own")
    done = subprocess.run([sys.executable, SCRIPT, "--dequant", os.environ["DEQUANT_CLI"],
                           "--scale", scale, "--only", *kinds],
                          text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=300)
    assert done.returncode == 0, done.stdout


def test_many_operators_that_read_one_input_took_minutes(tmp_path):
    """20,000 DequantizeLinear nodes were made for one name, each with a longer name, and each was
    compared with all others."""
    sys.path.insert(0, str(SCRIPT.parent))
    import structure
    structure.write(tmp_path / "in.onnx", "many concats", 0.1)
    done = subprocess.run([os.environ["DEQUANT_CLI"], "convert", "in.onnx", "-o", "out.onnx",
                           "--strip-qdq", "--mem", "1Gi", "--quiet"], cwd=tmp_path, check=False,
                          timeout=30, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_tensors_of_a_gguf_model_take_memory_in_proportion(tmp_path):
    """As docs/cli.md says: 2.5 KiB for each tensor, of each of the models."""
    if os.environ.get("DEQUANT_SANITIZED"):
        pytest.skip("SANITIZED: sanitizers take memory of their own")
    count = 30_000
    empty = np.zeros((0, 34), np.uint8)
    path = gguf_support.write(tmp_path / "m.gguf",
                              {f"{i}": ("Q8_0", empty) for i in range(count)})
    for models, command in ((1, ["inspect", path]), (1, ["convert", path, "-o", "out.gguf"]),
                            (1, ["extract", path, "7", "-o", "o.npy"]), (2, ["diff", path, path])):
        limit = (32 << 20) + models * count * 2560
        assert peak_memory(tmp_path, *command) < limit, command


def test_a_vocabulary_took_ten_times_its_memory(tmp_path):
    if os.environ.get("DEQUANT_SANITIZED"):
        pytest.skip("SANITIZED: sanitizers take memory of their own")
    tokens = ["x"] * 1_000_000
    path = gguf_support.write(tmp_path / "m.gguf", {"x": np.zeros(1, np.float32)},
                              [("tokenizer.ggml.tokens", tokens, gguf.GGUFValueType.ARRAY)])
    limit = (32 << 20) + 3 * os.path.getsize(path)
    assert peak_memory(tmp_path, "convert", path, "-o", "out.safetensors", "-q") < limit


def test_the_limit_names_the_option_that_raises_it(tmp_path):
    (tmp_path / "in.onnx").write_bytes(EMPTY_VALUES)
    for command in (["convert", "in.onnx", "-o", "out.onnx"], ["inspect", "in.onnx"],
                    ["extract", "in.onnx", "x", "-o", "y"]):
        assert_error(run(*command, cwd=tmp_path), 3, "in.onnx", "the structure takes more than",
                     "of it; a larger mem allows more")
    outcome = run("convert", "in.onnx", "-o", "out.onnx", "--quiet", "--mem", "512Mi", cwd=tmp_path)
    assert outcome.code == 0, outcome
    assert (tmp_path / "out.onnx").read_bytes() == EMPTY_VALUES

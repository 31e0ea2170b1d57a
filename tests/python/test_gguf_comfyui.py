"""Image and video models in GGUF files as the tools of ComfyUI-GGUF write them: with the names of
the original model, tensors of 5 dimensions, and rows of 256 elements in place of other shapes."""

import json

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import gguf_support
from gguf_support import dequantized, quantized, write
from support import dequant

CONV = "input_blocks.0.0.weight"
KEY = f"comfy.gguf.orig_shape.{CONV}"
SHAPE = (64, 4, 3, 3)


@pytest.fixture
def rng():
    return np.random.default_rng(29)


def sdxl(tmp_path, rng, kind="Q8_0", key=KEY, shape=SHAPE):
    """A file of an SDXL, and the convolution before it was quantized: ComfyUI-GGUF's convert.py
    reshapes it before it calls gguf-py, and adds the key."""
    floats = rng.normal(size=SHAPE).astype(np.float32)
    tensors = {CONV: quantized(kind, floats.reshape(-1, 256)),
               "label_emb.0.0.weight": quantized("Q8_0", rng.normal(size=(6, 256))),
               "out.0.bias": rng.normal(size=8).astype(np.float32)}
    fields = [(key, shape, gguf.GGUFValueType.ARRAY)] if key else []
    return write(tmp_path / "sdxl.gguf", tensors, fields, arch="sdxl"), floats


@pytest.mark.parametrize("kind", ["F32", "Q8_0"])
def test_a_tensor_of_5_dimensions_was_refused(tmp_path, rng, kind):
    floats = rng.normal(size=(8, 3, 2, 2, 32)).astype(np.float32)
    tensor = floats if kind == "F32" else quantized(kind, floats)
    source = write(tmp_path / "wan.gguf", {"patch_embedding.weight": tensor,
                                           "q.weight": quantized("Q4_0", floats[0, 0, 0])},
                   arch="wan")
    _, stored = gguf_support.read(source)
    _, shape, data = stored["patch_embedding.weight"]
    want = data.view("<f4").reshape(shape) if kind == "F32" else dequantized(kind, shape, data)
    assert json.loads(dequant("inspect", source, "--json").stdout)["architecture"] == "wan"
    dequant("convert", source, "-o", tmp_path / "out.safetensors")
    got = load_file(tmp_path / "out.safetensors")["patch_embedding.weight"]
    assert got.shape == floats.shape and got.tobytes() == want.tobytes()
    dequant("convert", source, "-o", tmp_path / "out.gguf")
    _, found = gguf_support.read(tmp_path / "out.gguf")
    assert found["patch_embedding.weight"][:2] == ("F32", list(floats.shape))
    assert found["patch_embedding.weight"][2].tobytes() == want.tobytes()


@pytest.mark.parametrize("kind", ["F16", "Q8_0"])
@pytest.mark.parametrize("output", ["out.safetensors", "out"])
def test_the_original_shape_of_a_tensor_was_lost(tmp_path, rng, kind, output):
    source, _ = sdxl(tmp_path, rng, kind)
    _, stored = gguf_support.read(source)
    want = dequantized(kind, *stored[CONV][1:]).reshape(SHAPE).astype(np.float32)
    path = tmp_path / output
    dequant("convert", source, "-o", path, "--others", "same")
    found = load_file(path / "model.safetensors" if path.is_dir() else path)
    assert set(found) == set(stored)
    assert found[CONV].shape == SHAPE and found[CONV].tobytes() == want.tobytes()


def test_every_command_has_the_original_shape(tmp_path, rng):
    source, floats = sdxl(tmp_path, rng)
    tensors = json.loads(dequant("inspect", source, "--all", "--json").stdout)["tensors"]
    row = next(t for t in tensors if t["name"] == CONV)
    assert row["shape"] == list(SHAPE) and row["granularity_text"] == "in blocks of 32"
    dequant("extract", source, CONV, "-o", tmp_path / "a.npy")
    assert np.load(tmp_path / "a.npy").shape == SHAPE
    label = dequantized("Q8_0", *gguf_support.read(source)[1]["label_emb.0.0.weight"][1:])
    original = {CONV: floats, "label_emb.0.0.weight": label,
                "out.0.bias": gguf_support.read(source)[1]["out.0.bias"][2].view("<f4")}
    save_file(original, tmp_path / "original.safetensors")
    report = json.loads(dequant("diff", tmp_path / "original.safetensors", source, "--json",
                                code=1).stdout)
    assert sorted(t["name"] for t in report["tensors"]) == sorted(original)
    dequant("convert", source, "-o", tmp_path / "out.safetensors", "--audit", tmp_path / "audit")
    dequant("verify", source, tmp_path / "out.safetensors")
    dequant("verify", tmp_path / "out.safetensors", "--audit", tmp_path / "audit")


def test_a_gguf_output_keeps_the_rows_and_the_key_of_an_original_shape(tmp_path, rng):
    source, _ = sdxl(tmp_path, rng)
    dequant("convert", source, "-o", tmp_path / "out.gguf")
    fields, found = gguf_support.read(tmp_path / "out.gguf")
    assert fields[KEY] == list(SHAPE) and found[CONV][:2] == ("F32", [9, 256])
    dequant("verify", source, tmp_path / "out.gguf")


@pytest.mark.parametrize("shape, words", [
    ((64, 4, 3, 4), "a shape of [64, 4, 3, 4] for a tensor of 2304 elements"),
    ((-64, -4, 3, 3), "a shape of [-64, -4, 3, 3] for a tensor of 2304 elements"),
    ((2**31 - 1,) * 5, "for a tensor of 2304 elements"),
    ((1,) * 9, "a shape of 9 dimensions, more than 8"),
    ((64.0, 36.0), "a value of type array of float32, not an array of integers"),
    (("64", "36"), "a value of type array of string, not an array of integers")])
def test_an_impossible_original_shape_is_refused(tmp_path, rng, shape, words):
    source, _ = sdxl(tmp_path, rng, shape=shape)
    error = dequant("inspect", source, code=3).stderr
    assert f'sdxl.gguf: key "{KEY}": ' in error and words in error


def test_an_original_shape_of_a_tensor_that_is_not_there_changes_nothing(tmp_path, rng):
    source, _ = sdxl(tmp_path, rng, key="comfy.gguf.orig_shape.other", shape=(1, 2))
    dequant("convert", source, "-o", tmp_path / "out.safetensors")
    assert load_file(tmp_path / "out.safetensors")[CONV].shape == (9, 256)


def test_names_of_transformers_with_an_original_shape_are_refused(tmp_path, rng):
    name = "blk.0.attn_q.weight"
    source = write(tmp_path / "l.gguf", {name: quantized("Q8_0", rng.normal(size=(4, 64)))},
                   [(f"comfy.gguf.orig_shape.{name}", (8, 32), gguf.GGUFValueType.ARRAY)])
    error = dequant("inspect", source, "--names", "hf", code=4).stderr
    assert f'tensor "{name}": names hf: it has another shape in the model' in error


@pytest.mark.parametrize("arch, warned", [("flux", False), ("wan", False), ("llama", True)])
def test_image_models_were_said_to_have_permuted_rows(tmp_path, rng, arch, warned):
    source = write(tmp_path / "m.gguf", {"a.weight": quantized("Q8_0", rng.normal(size=(4, 64)))},
                   arch=arch)
    report = json.loads(dequant("convert", source, "-o", tmp_path / "out.safetensors",
                                "--json").stdout)
    assert any("permuted" in warning for warning in report["warnings"]) == warned

"""Conversions of a part of a checkpoint: the tensors that stay quantized are those of the input for
what reads them, dequant or ComfyUI."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from support import dequant
from test_checkpoints import FOLDERS, checkpoint, tensors
from test_verify import bfloat16, e4m3, float_of, safetensors

CODES = np.arange(64, dtype=np.uint8).reshape(8, 8)
PREFIX = "model.diffusion_model."


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_stays_quantized_is_converted_later(shared, folder, tmp_path):
    """Of torchao the output had no metadata, and of Quanto no quanto_qmap.json."""
    source = checkpoint(shared, folder, tmp_path)
    listed = json.loads(dequant("inspect", source, "--all", "--json").stdout)["tensors"]
    excluded = [t["name"] for t in listed if t["dense"]][-1]
    dequant("convert", source, "-o", tmp_path / "part", "--exclude", excluded)
    dequant("convert", tmp_path / "part", "-o", tmp_path / "rest")
    dequant("convert", source, "-o", tmp_path / "whole")
    dequant("verify", source, tmp_path / "rest")
    files = {f.name: f.read_bytes() for f in (tmp_path / "rest").iterdir() if f.is_file()}
    assert files == {f.name: f.read_bytes() for f in (tmp_path / "whole").iterdir() if f.is_file()}


def metadata(path):
    with safe_open(path, "np") as file:
        return file.metadata()


def seen_by_comfyui(path, layer):
    """The weight of a layer as ComfyUI's convert_old_quants() and its Linear read it, which strip
    the prefix of a diffusion model or not."""
    said, entries = metadata(path) or {}, tensors(path)
    if "_quantization_metadata" in said:
        layers = json.loads(said["_quantization_metadata"])["layers"]
        layers = {name.removeprefix(PREFIX) for name in layers}
        scale = "weight_scale"
    elif PREFIX + "scaled_fp8" in entries:
        layers = {n.removeprefix(PREFIX).removesuffix(".scale_weight") for n in entries
                  if n.startswith(PREFIX) and n.endswith(".scale_weight")}
        scale = "scale_weight"
    else:
        layers = {n.removeprefix(PREFIX).removesuffix(".comfy_quant") for n in entries
                  if n.endswith(".comfy_quant")}
        scale = "weight_scale"
    dtype, shape, data = entries[f"{PREFIX}{layer}.weight"]
    codes = np.frombuffer(data.tobytes(), np.uint8 if dtype == "F8_E4M3" else np.uint16)
    values = (e4m3 if dtype == "F8_E4M3" else float_of)(codes).reshape(shape)
    if layer not in layers:
        return values
    assert dtype == "F8_E4M3"  # what the markers describe has codes
    return values * np.frombuffer(entries[f"{PREFIX}{layer}.{scale}"][2].tobytes(), np.float32)


def comfyui(kind):
    scale = "scale_weight" if kind == "marker" else "weight_scale"
    entries, layers = {}, {}
    for layer, factor in (("a", 0.5), ("b", 0.25)):
        entries[f"{PREFIX}{layer}.weight"] = ("F8_E4M3", CODES)
        entries[f"{PREFIX}{layer}.{scale}"] = ("F32", np.float32(factor))
        layers[layer] = {"format": "float8_e4m3fn"}
        if kind == "tensors":
            said = np.frombuffer(json.dumps(layers[layer]).encode(), np.uint8)
            entries[f"{PREFIX}{layer}.comfy_quant"] = ("U8", said)
    if kind == "marker":
        entries[PREFIX + "scaled_fp8"] = ("F8_E4M3", np.zeros(2, np.uint8))
    begin = PREFIX if kind == "metadata" else ""
    said = {"format_version": "1.0", "layers": {begin + n: v for n, v in layers.items()}}
    return entries, {"_quantization_metadata": json.dumps(said)} if "metadata" in kind else None


KINDS = ["marker", "tensors", "metadata", "metadata without the prefix"]


@pytest.mark.parametrize("kind", KINDS)
def test_comfyui_read_a_layer_that_stays_quantized_without_its_scale(tmp_path, kind):
    source = safetensors(tmp_path / "in.safetensors", *comfyui(kind))
    part, rest = tmp_path / "part.safetensors", tmp_path / "rest.safetensors"
    report = dequant("convert", source, "-o", part, "--exclude", "*.b.*", "--dtype", "bfloat16",
                     "--json").stdout
    for layer in "ab":
        assert (seen_by_comfyui(part, layer) == seen_by_comfyui(source, layer)).all()
    assert json.loads(report)["dropped"] == []
    dequant("convert", part, "-o", rest, "--dtype", "bfloat16")
    whole = tmp_path / "whole.safetensors"
    dequant("convert", source, "-o", whole, "--dtype", "bfloat16")
    assert rest.read_bytes() == whole.read_bytes()
    assert metadata(rest) == {"format": "pt"}


def test_a_marker_of_layers_that_are_all_floats_goes(tmp_path):
    """One file may have the markers of a diffusion model and of a text encoder."""
    entries, _ = comfyui("marker")
    entries |= {"te.c.weight": ("F8_E4M3", CODES), "te.c.scale_weight": ("F32", np.float32(0.5)),
                "te.scaled_fp8": ("F8_E4M3", np.zeros(0, np.uint8)),
                "norm": ("BF16", bfloat16(CODES))}
    source = safetensors(tmp_path / "in.safetensors", entries)
    out = tmp_path / "out.safetensors"
    dequant("convert", source, "-o", out, "--include", "te.*", "--dtype", "bfloat16")
    assert tensors(out).keys() == entries.keys() - {"te.scaled_fp8", "te.c.scale_weight"}

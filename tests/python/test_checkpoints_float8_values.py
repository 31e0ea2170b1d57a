"""Models that were converted to a float8 type without scales: the codes are the values."""

import json

import ml_dtypes
import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_verify import bfloat16, safetensors

CODES = np.arange(256, dtype=np.uint8).reshape(16, 16)
TYPES = {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}
FLOATS = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def model(dtype="F8_E4M3"):
    return {"block.0.q.weight": (dtype, CODES), "block.0.q.bias": (dtype, CODES[0]),
            "block.0.key_norm.scale": (dtype, CODES[1]), "in_proj_weight": (dtype, CODES),
            "norm.weight": ("BF16", bfloat16(np.ones(8)))}


@pytest.fixture(name="file")
def fixture_file(tmp_path):
    """Converts a file; returns its tensors and the warnings, or the message of an error."""
    def convert(entries, metadata=None, *, code=0, options=()):
        source = safetensors(tmp_path / "in.safetensors", entries, metadata)
        out = tmp_path / "out.safetensors"
        done = dequant("convert", source, "-o", out, *options, code=code)
        if code:
            assert not out.exists()
            return done.stderr
        dequant("verify", source, out)
        return tensors(out), done.stderr
    return convert


@pytest.mark.parametrize("output", FLOATS)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_code_is_its_value(file, dtype, output):
    out, warnings = file(model(dtype), options=["--dtype", output])
    values = CODES.view(TYPES[dtype]).astype(np.float32).astype(FLOATS[output])
    got = np.frombuffer(out["block.0.q.weight"][2].tobytes(), FLOATS[output]).reshape(16, 16)
    nan = np.isnan(values.astype(np.float32))
    assert (np.isnan(got.astype(np.float32)) == nan).all()
    assert (got[~nan] == values[~nan]).all()
    assert (np.signbit(got.astype(np.float32)) == np.signbit(values.astype(np.float32)))[~nan].all()
    assert out.keys() == model().keys()
    assert "4 tensors of float8 types are taken as values" in warnings


def test_the_type_of_the_model_is_the_type_of_the_output(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    safetensors(folder / "model.safetensors", model())
    (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"}))
    dequant("convert", folder, "-o", tmp_path / "out")
    out = tensors(tmp_path / "out" / "model.safetensors")
    assert {dtype for dtype, _, _ in out.values()} == {"BF16"}


def test_codes_stay_as_they_are_where_the_caller_wants_that(tmp_path):
    source = safetensors(tmp_path / "in.safetensors", model())
    out = tmp_path / "out.safetensors"
    dequant("convert", source, "-o", out, "--keep-unknown")
    assert tensors(out).keys() == model().keys()
    for name, (dtype, array) in model().items():
        got = tensors(out)[name]
        assert got[0] == dtype and got[2].tobytes() == array.tobytes()


@pytest.mark.parametrize("scale", ["block.0.q.s", "block.0.q.weight_amax", "in_proj_weight_scale",
                                   "block.0.q.weight_scale", "block.0.q.input_scale"])
def test_beside_what_may_be_a_scale_codes_are_no_values(file, scale):
    """Also of one weight alone: the others may have lost theirs."""
    error = file({**model(), scale: ("F32", np.ones(1, np.float32))}, code=4)
    assert "F8_E4M3" in error and "how it is quantized" in error


@pytest.mark.parametrize("scale", ["block.0.q.weight.scale", "in_proj_weight.scale",
                                   "in_proj_weight.s", "block.0.q.bias.scale"])
def test_codes_with_a_scale_behind_their_whole_name_were_values(file, scale):
    error = file({**model(), scale: ("F32", np.ones(1, np.float32))}, code=4)
    assert "F8_E4M3" in error and "how it is quantized" in error


@pytest.mark.parametrize("weight", ["q.weight", "experts.w13"])
def test_a_scale_behind_a_whole_name_is_named(file, weight):
    error = file({weight: ("F8_E4M3", CODES), f"{weight}.scale": ("F32", np.ones(1, np.float32))},
                 code=4)
    assert f"tensor {weight}" in error and f"{weight}.scale may be its scale" in error


@pytest.mark.parametrize("config", [{"quantization_config": {"bits": 8}},
                                    {"compression_config": {"quant_method": "aqlm"}},
                                    {"quantization": {"quant_algo": "FP8"}}])  # TensorRT-LLM
def test_where_a_configuration_speaks_of_quantization_codes_are_no_values(tmp_path, config):
    folder = tmp_path / "in"
    folder.mkdir()
    safetensors(folder / "model.safetensors", model())
    (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16", **config}))
    dequant("convert", folder, "-o", tmp_path / "out", code=4)


@pytest.mark.parametrize("name", ["v.weight_scale_2", "v.weight_scale", "experts.w_scale_inv"])
def test_codes_with_the_name_of_a_scale_became_floats_that_nothing_reads(file, name):
    error = file({name: ("F8_E5M2", CODES)}, code=3)
    assert f"tensor {name}: there is no " in error and "that it may be the scale of" in error
    assert "nothing in the checkpoint says" in file({**model(), name: ("F8_E5M2", CODES)}, code=4)


def test_inspect_showed_a_scale_that_the_file_does_not_have(tmp_path):
    source = safetensors(tmp_path / "in.safetensors", model())
    text = dequant("inspect", source).stdout
    assert "none: codes are values" in text and "per tensor" not in text
    dense = json.loads(dequant("inspect", source, "--json").stdout)["dense"]
    assert {(t["scale"], t["granularity"]) for t in dense} == {("", "none: codes are values")}
    rows = json.loads(dequant("inspect", source, "--all", "--json").stdout)["tensors"]
    assert {(t["scale_type"], t["scale_count"], t["granularity_text"]) for t in rows} == {
        (None, 0, "none: codes are values")}
    assert all(t["scale"] is None and t["dense"] for t in rows)
    assert "none: codes are values" in dequant("inspect", source, "--all").stdout
    dequant("inspect", source, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "no scale" in page and "1 float32" not in page


SCALED = {"a.attn.weight": ("F8_E4M3", CODES % 0x7E), "a.attn.bias": ("BF16", bfloat16(CODES[0]))}


def comfyui(kind):
    """A weight with a scale and its marker; and the metadata."""
    scale = "scale_weight" if kind == "marker" else "weight_scale"
    entries = {**SCALED, f"a.attn.{scale}": ("F32", np.float32(0.5))}
    said = json.dumps({"format": "float8_e4m3fn"}).encode()
    if kind == "marker":
        entries["scaled_fp8"] = ("F8_E4M3", np.zeros(0, np.uint8))
    if kind == "tensor":
        entries["a.attn.comfy_quant"] = ("U8", np.frombuffer(said, np.uint8))
    layers = {"layers": {"a.attn": {"format": "float8_e4m3fn"}}}
    return entries, {"_quantization_metadata": json.dumps(layers)} if kind == "metadata" else None


KINDS = ["marker", "tensor", "metadata"]


@pytest.mark.parametrize("kind", KINDS)
def test_float8_tensors_that_comfyui_casts_were_refused(file, kind):
    """Its loader gives a layer without a format `weight.to(compute_dtype)`."""
    entries, said = comfyui(kind)
    out, warnings = file({**entries, **model()}, said)
    values = CODES.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    got = np.frombuffer(out["block.0.q.weight"][2].tobytes(), np.float32).reshape(16, 16)
    assert np.array_equal(got, values, equal_nan=True)
    scaled = (CODES % 0x7E).view(ml_dtypes.float8_e4m3fn).astype(np.float32) * np.float32(0.5)
    assert out["a.attn.weight"][2].tobytes() == scaled.tobytes()
    assert "4 tensors of float8 types are taken as values, as ComfyUI takes those" in warnings


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["block.0.q.weight_scale_2", "block.0.q.input_scale",
                                   "block.0.q.s"])
def test_also_in_files_of_comfyui_nothing_may_be_a_scale(file, kind, scale):
    entries, said = comfyui(kind)
    error = file({**entries, **model(), scale: ("F32", np.ones(1, np.float32))}, said, code=4)
    assert "tensor block.0" in error and "how it is quantized" in error


@pytest.mark.parametrize("prefix", ["", "model.diffusion_model."])
def test_a_layer_with_a_format_and_no_scale_is_no_value(file, prefix):
    entries = {**SCALED, f"{prefix}b.weight": ("F8_E4M3", CODES)}
    said = json.dumps({"layers": {"b": {"format": "float8_e4m3fn"}}})
    error = file(entries, {"_quantization_metadata": said}, code=4)
    assert f"tensor {prefix}b.weight" in error or "tensor a.attn.weight" in error


def nf4():
    """A weight of bitsandbytes, as in files for Forge with a text encoder of float8."""
    state = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [16, 16]}
    return {"u.weight": ("U8", CODES.reshape(-1)[:128].reshape(128, 1)),
            "u.weight.absmax": ("F32", np.ones(4, np.float32)),
            "u.weight.quant_map": ("F32", np.linspace(-1, 1, 16, dtype=np.float32)),
            "u.weight.quant_state.bitsandbytes__nf4": (
                "U8", np.frombuffer(json.dumps(state).encode(), np.uint8))}


def test_the_message_beside_another_scheme_names_two_conversions_that_work(file, tmp_path):
    error = file({**nf4(), **model()}, code=4)
    assert "keep-unknown keeps such tensors as they are, and a conversion of that output" in error
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    dequant("convert", tmp_path / "in.safetensors", "-o", first, "--keep-unknown")
    dequant("convert", first, "-o", second, "--dtype", "bfloat16")
    values = CODES.view(ml_dtypes.float8_e4m3fn).astype(ml_dtypes.bfloat16).astype(np.float32)
    got = tensors(second)["block.0.q.weight"]
    floats = np.frombuffer(got[2].tobytes(), ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(floats.reshape(16, 16), values, equal_nan=True)
    assert tensors(second)["u.weight"][0] == "BF16"

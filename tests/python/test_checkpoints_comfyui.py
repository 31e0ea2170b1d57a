"""Files of ComfyUI: markers of FP8 weights with scales, the formats of layers in metadata and in
tensors "X.comfy_quant", and formats whose scales are swizzled."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import CODES, Folder
from test_verify import bfloat16, e4m3, safetensors

SCALE = np.float32(0.375)
FLOATS = bfloat16(e4m3(CODES) * SCALE).tobytes()  # products of 6 bits: exact in float32
EMPTY, TWO = np.zeros(0, np.uint8), np.zeros(2, np.uint8)
BIAS = ("BF16", bfloat16(np.ones(8)))


def text(document):
    return ("U8", np.frombuffer(json.dumps(document).encode(), np.uint8))


def layers(formats):
    return {"_quantization_metadata": json.dumps({
        "format_version": "1.0", "layers": {n: {"format": f} for n, f in formats.items()}})}


def weight(name="a.attn", scale="weight_scale", dtype="F8_E4M3"):
    return {f"{name}.weight": (dtype, CODES), f"{name}.{scale}": ("F32", SCALE)}


@pytest.fixture(name="file")
def fixture_file(tmp_path):
    """Converts a file; returns its tensors, or the message of an error."""
    def convert(entries, metadata=None, *, code=0, options=()):
        source = safetensors(tmp_path / "in.safetensors", entries, metadata)
        out = tmp_path / "out.safetensors"
        done = dequant("convert", source, "-o", out, "--dtype", "bfloat16", *options, code=code)
        if code:
            assert not out.exists()
            return done.stderr
        again = tmp_path / "again.safetensors"  # a file that dequant wrote is one that it reads
        dequant("convert", out, "-o", again, "--dtype", "bfloat16")
        return tensors(out)
    return convert


MARKERS = {"scaled_fp8": ("F8_E4M3", EMPTY), "model.diffusion_model.scaled_fp8": ("F8_E4M3", TWO),
           "te.scaled_fp8": ("F8_E5M2", TWO)}


@pytest.mark.parametrize("name", MARKERS)
def test_the_marker_of_files_with_scales_was_refused_as_codes(file, name):
    """With keep-unknown it was copied, to an output that was refused."""
    out = file({**weight(scale="scale_weight"), "a.attn.bias": BIAS, name: MARKERS[name]})
    assert out.keys() == {"a.attn.weight", "a.attn.bias"}
    assert out["a.attn.weight"][0] == "BF16" and out["a.attn.weight"][2].tobytes() == FLOATS


TOKENIZERS = ["spiece_model", "tekken_model", "tokenizer_json", "text_encoders.spiece_model"]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_in_the_file_was_refused_as_codes(file, name):
    tokenizer = np.arange(200, dtype=np.uint8)
    out = file({**weight(scale="scale_weight"), "scaled_fp8": MARKERS["scaled_fp8"],
                name: ("U8", tokenizer)})
    assert out.keys() == {"a.attn.weight", name}
    assert out[name][:2] == ("U8", [200]) and out[name][2].tobytes() == tokenizer.tobytes()


@pytest.mark.parametrize(("name", "dtype", "shape"), [
    ("spiece_model", "I8", 8), ("spiece_model", "U8", (2, 4)), ("spiece_model.weight", "U8", 8),
    ("a_spiece_model", "U8", 8)])
def test_codes_that_are_no_tokenizer_are_refused(file, name, dtype, shape):
    error = file({**weight(), name: (dtype, np.zeros(shape, np.uint8))}, code=4)
    assert f"tensor {name} of type {dtype}" in error


def test_a_marker_beside_floats_is_left_out(file):
    assert file({"a.bias": BIAS, "scaled_fp8": ("F8_E4M3", EMPTY)}).keys() == {"a.bias"}


@pytest.mark.parametrize("entry", [("F8_E4M3", np.zeros(3, np.uint8)), ("I8", TWO)])
def test_more_than_a_marker_is_refused_as_codes(file, entry):
    error = file({**weight(), "scaled_fp8": entry}, code=4)
    assert f"tensor scaled_fp8 of type {entry[0]}" in error


@pytest.mark.parametrize(("name", "dtype"), [("float8_e4m3fn", "F8_E4M3"),
                                             ("float8_e5m2", "F8_E5M2")])
@pytest.mark.parametrize("where", ["tensor", "metadata", "both"])
def test_the_format_of_a_layer_was_refused_as_codes(file, name, dtype, where):
    marker = {"a.attn.comfy_quant": text({"format": name, "full_precision_matrix_mult": True})}
    out = file({**weight(dtype=dtype), **(marker if where != "metadata" else {})},
               layers({"a.attn": name}) if where != "tensor" else None)
    assert out.keys() == {"a.attn.weight"} and out["a.attn.weight"][0] == "BF16"


def test_the_name_that_modelopt_gives_to_a_format_is_known(file):
    assert file(weight(), layers({"a.attn": "fp8"}))["a.attn.weight"][2].tobytes() == FLOATS


MX = {"a.attn.weight": ("F8_E4M3", np.zeros((128, 128), np.uint8)),
      "a.attn.weight_scale": ("F8_E8M0", np.zeros((128, 4), np.uint8))}


@pytest.mark.parametrize("where", ["tensor", "metadata", "a name without the prefix"])
def test_swizzled_scales_of_mxfp8_were_read_as_rows(file, where):
    """The sizes of the scales are those of rows where rows are a multiple of 128."""
    if where == "tensor":
        entries, said = {**MX, "a.attn.comfy_quant": text({"format": "mxfp8"})}, None
    else:
        entries, said = MX, layers({"a.attn" if where == "metadata" else "attn": "mxfp8"})
    error = file(entries, said, code=4)
    assert 'attn.weight: its format in ComfyUI is "mxfp8"' in error and "swizzled" in error


@pytest.mark.parametrize(("name", "why"), [
    ("nvfp4", "swizzled"), ("int8_tensorwise", "not one that dequant reads"),
    ("convrot_w4a4", "not one that dequant reads"), ("fp8_pb_wo", "not one that dequant reads")])
def test_other_formats_are_refused_by_name(file, name, why):
    error = file(weight(), layers({"a.attn": name}), code=4)
    assert f'tensor a.attn.weight: its format in ComfyUI is "{name}"' in error and why in error


def test_a_format_that_a_configuration_contradicts_is_refused(tmp_path):
    folder = Folder(tmp_path)  # quant_method fp8
    folder.file(MX, metadata=layers({"a.attn": "mxfp8"}))
    folder.refused(4, "swizzled")


WRONG = {
    "other formats": ({"a.attn.comfy_quant": text({"format": "float8_e5m2"})}, "float8_e4m3fn",
                      'it is F8_E4M3'),
    "another type": ({"a.attn.weight": ("BF16", bfloat16(np.ones((8, 8))))}, "float8_e4m3fn",
                     "it is BF16"),
    "two formats": ({"a.attn.comfy_quant": text({"format": "fp8"})}, "float8_e4m3fn",
                    'are "float8_e4m3fn" and "fp8"'),
    "scales of columns": ({"a.attn.weight_scale": ("F32", np.ones(8, np.float32))},
                          "float8_e4m3fn", "tensor a.attn.weight_scale: shape [8]"),
    "no format": ({"a.attn.comfy_quant": text({})}, "float8_e4m3fn", "format is absent"),
    "no JSON": ({"a.attn.comfy_quant": ("U8", CODES)}, "float8_e4m3fn", "a.attn.comfy_quant"),
    "a format that is a number": ({}, 8, "_quantization_metadata: a.attn: format is 8"),
}


@pytest.mark.parametrize("case", WRONG)
def test_contradictions_are_refused(file, case):
    replaced, name, message = WRONG[case]
    assert message in file({**weight(), **replaced}, layers({"a.attn": name}), code=3)


@pytest.mark.parametrize(("said", "message"), [
    ("{", "metadata _quantization_metadata"), ("{}", "layers is absent"),
    ('{"layers": {"a.attn": "float8_e4m3fn"}}', 'a.attn is "float8_e4m3fn", not an object')])
def test_metadata_that_are_not_comfyui_s_are_refused(file, said, message):
    assert message in file(weight(), {"_quantization_metadata": said}, code=3)


def test_a_weight_that_is_not_selected_keeps_its_format(file):
    entries = {**weight(), **weight("b"), "a.attn.comfy_quant": text({"format": "float8_e4m3fn"})}
    out = file(entries, options=["--include", "b.*"])
    assert out.keys() == {"a.attn.weight", "a.attn.weight_scale", "a.attn.comfy_quant", "b.weight"}


def with_other(where, name="nvfp4", prefix=""):
    """A layer of a format that is not read, "u", beside one of FP8 and floats."""
    entries = {**weight(), f"{prefix}u.weight": ("U8", np.arange(64, dtype=np.uint8).reshape(8, 8)),
               f"{prefix}u.weight_scale": ("F8_E4M3", CODES),
               f"{prefix}u.weight_scale_2": ("F32", SCALE), f"{prefix}u.bias": BIAS}
    if where == "tensor":
        return {**entries, f"{prefix}u.comfy_quant": text({"format": name})}, None
    return entries, layers({"a.attn": "float8_e4m3fn", "u": name})


WHERE = [("tensor", ""), ("metadata", ""), ("metadata", "model.diffusion_model.")]


@pytest.mark.parametrize(("where", "prefix"), WHERE)
@pytest.mark.parametrize("name", ["nvfp4", "int8_tensorwise"])
def test_a_layer_that_is_not_read_made_its_file_unreadable(tmp_path, where, name, prefix):
    entries, said = with_other(where, name, prefix)
    source = safetensors(tmp_path / "in.safetensors", entries, said)
    other, out = f"{prefix}u.weight", tmp_path / "out.safetensors"
    for options in ([], ["--keep-unknown"]):
        report = json.loads(dequant("inspect", source, "--json", "--all", *options).stdout)
        assert {t["name"]: t["dense"] for t in report["tensors"]} == {
            "a.attn.weight": True, other: False}
        [reason] = [t["reason"] for t in report["tensors"] if not t["dense"]]
        assert f'its format in ComfyUI is "{name}"' in reason
    dequant("extract", source, f"{prefix}u.bias", "-o", tmp_path / "bias.npy")
    dequant("extract", source, "a.attn.weight", "-o", tmp_path / "a.npy")
    raw = ["extract", source, "--raw", other, "-o", tmp_path / "codes.npy"]
    assert "keep-unknown takes such tensors" in dequant(*raw, code=4).stderr
    dequant(*raw, "--keep-unknown")
    assert np.array_equal(np.load(tmp_path / "codes.npy"), entries[other][1])
    error = dequant("convert", source, "-o", out, "--dtype", "bfloat16", code=4).stderr
    assert f"tensor {other}: its format in ComfyUI is" in error and "excludes the tensor" in error
    assert not out.exists()


@pytest.mark.parametrize(("where", "prefix"), WHERE)
@pytest.mark.parametrize("option", [["--exclude", "*u.weight"], ["--keep-unknown"]])
def test_a_layer_that_is_not_read_stays_with_all_its_parts(tmp_path, where, prefix, option):
    entries, said = with_other(where, prefix=prefix)
    source = safetensors(tmp_path / "in.safetensors", entries, said)
    out, again = tmp_path / "out.safetensors", tmp_path / "again.safetensors"
    report = json.loads(dequant("convert", source, "-o", out, "--dtype", "bfloat16", "--json",
                                *option).stdout)
    assert [left["name"] for left in report["left"]] == [f"{prefix}u.weight"]
    got = tensors(out)
    assert got.keys() == entries.keys() - {"a.attn.weight_scale"}
    for name, (dtype, array) in entries.items():
        if name.startswith(prefix + "u."):
            assert got[name][0] == dtype and got[name][2].tobytes() == array.tobytes()
    assert got["a.attn.weight"][2].tobytes() == FLOATS
    if where == "metadata":
        with safe_open(out, "np") as file:
            said = json.loads(file.metadata()["_quantization_metadata"])
        assert said == {"format_version": "1.0", "layers": {"u": {"format": "nvfp4"}}}
    dequant("convert", out, "-o", again, "--exclude", "*u.weight")
    assert again.read_bytes() == out.read_bytes()

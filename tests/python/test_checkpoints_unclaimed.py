"""Tensors of a checkpoint that no scheme has a use for: copied, left out with a reason, or refused,
never copied silently where they are codes or belong to codes."""

import json

import numpy as np
import pytest

from support import TENSORS, dequant, dq, model, save
from test_checkpoints import tensors
from test_checkpoints_folder import CODES, NORM, SCALE, Folder, weight
from test_verify import safetensors

WORDS = np.zeros((8, 1), np.int32)
DENSE = ("BF16", NORM.reshape(1, 8))
KEPT = "keep-unknown"


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def names_of(folder):
    return tensors(folder.out).keys()


# Codes.

@pytest.mark.parametrize("name", ["v.qweight", "v.weight_packed", "v.qzeros", "v.weight"])
@pytest.mark.parametrize("dtype", ["I32", "U32"])
def test_words_of_codes_that_no_scheme_has_are_refused(folder, name, dtype):
    folder.file({**weight(), name: (dtype, WORDS)})
    folder.refused(4, f"tensor {name} of type {dtype}", "nothing in the checkpoint says", KEPT)
    report = json.loads(folder.convert("--keep-unknown", "--json").stdout)
    assert [left["name"] for left in report["left"]] == [name]
    assert any(name in warning for warning in report["warnings"])
    assert tensors(folder.out)[name][0] == dtype


def test_words_of_codes_are_refused_without_a_configuration_too(folder):
    (folder.path / "config.json").unlink()
    folder.file({"v.qweight": ("I32", WORDS), "v.scales": ("F16", np.ones((1, 1), np.float16))})
    folder.refused(4, "tensor v.qweight of type I32")


OTHERS = {"hqq": {"v.W_q": ("I32", np.zeros(64, np.int32))},
          "quanto": {"v.weight._data": ("BOOL", np.zeros((8, 8), np.bool_)),
                     "v.weight._scale": ("F32", np.ones((8, 1), np.float32))},
          "bitsandbytes": {"v.weight.quant_state.bitsandbytes__nf4": ("F32", SCALE)}}


@pytest.mark.parametrize("scheme", OTHERS)
def test_a_tensor_of_another_scheme_was_copied_to_an_output_that_cannot_be_opened(folder, scheme):
    """In the output, which has no quant_method, such a tensor alone would name the scheme."""
    folder.file({**weight(), **OTHERS[scheme]})
    name = next(iter(OTHERS[scheme]))
    folder.refused(4, f"tensor {name}: it is one of {scheme}, and config.json says", KEPT)
    assert not folder.out.exists()
    report = json.loads(folder.convert("--keep-unknown", "--json").stdout)
    assert [left["name"] for left in report["left"]] == [name]


FOREIGN = {
    "AQLM": ("codes", "I16", {"codebooks": ("F16", np.zeros((1, 4, 1, 8), np.float16))}),
    "QuIP#": ("Qidxs", "I64", {}),
    "QTIP": ("trellis", "I16", {"SU": ("F16", np.zeros(8, np.float16))}),
    "EXL3": ("trellis", "I16", {"svh": ("F16", np.zeros(8, np.float16))}),
    "EXL2": ("q_weight", "I32", {"q_scale": ("I32", WORDS)}),
    "SpQR": ("dense_weights", "I64", {"row_offsets": ("I32", WORDS)}),
    "VPTQ": ("indices", "I32", {"centroids.weight": ("F16", np.zeros((1, 8), np.float16))}),
    "Marlin": ("B", "I32", {"s": ("F16", np.zeros((1, 8), np.float16))}),
    "SVDQuant (Nunchaku)": ("qweight", "I8", {
        "wscales": ("F16", np.zeros((1, 8), np.float16)),
        "smooth_factor": ("F16", np.zeros(8, np.float16))})}
INTEGERS = {"I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64}


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("scheme", FOREIGN)
def test_codes_of_schemes_that_dequant_does_not_have_were_copied(folder, scheme, configured):
    name, dtype, beside = FOREIGN[scheme]
    if not configured:
        (folder.path / "config.json").unlink()
    folder.file({f"m.{name}": (dtype, np.zeros((8, 8), INTEGERS[dtype])),
                 **{f"m.{end}": tensor for end, tensor in beside.items()}})
    folder.refused(4, f"tensor m.{name} of type {dtype}: it holds codes of {scheme}, which", KEPT,
                   "not a dense model")
    report = json.loads(folder.convert("--keep-unknown", "--json").stdout)
    assert [left["name"] for left in report["left"]] == [f"m.{name}"]
    assert len(report["warnings"]) == 1


def test_integers_named_as_codes_are_none_without_what_belongs_to_codes(folder):
    names = ["m.codes", "m.indices", "m.B", "m.q_weight"]
    folder.file({**weight(), **{name: ("I32", WORDS) for name in names}})
    assert "warning" not in folder.convert().stderr
    assert names_of(folder) == {"w.weight", *names}


def test_large_integers_were_copied_silently_where_nothing_is_dequantized(folder):
    """Codes of a scheme that no list of names has: a folder of these was converted to itself."""
    (folder.path / "config.json").unlink()
    words = ("I32", np.zeros((8, 8), np.int32))
    floats = {"norm": ("F32", np.zeros(64, np.float32))}
    folder.file({"m.magic": words, "m.places": ("I64", np.zeros(8, np.int64)), **floats})
    error = folder.convert().stderr
    assert "warning: no tensor is dequantized, and 1 tensors of integers with 2" in error
    assert "the first is m.magic" in error
    folder.file({"m.magic": words, **weight()})
    assert "warning" not in folder.convert("--force").stderr
    folder.file({"m.magic": words, "norm": ("F32", np.zeros(6400, np.float32))})
    assert "warning" not in folder.convert("--force", "--dtype", "float32").stderr


MISSING = {
    "a key": ({"weight_block_size": [128, 128]}, "v.weight", None,
              "quantization_config has no quant_method, which says how it is quantized "
              "(no scale belongs to it)"),
    "a key beside a scale": ({"bits": 4}, "v.qweight", "v.scales",
                             "has no quant_method, which says how it is quantized "
                             "(v.scales may be its scale)"),
    "a scale of another name": ({"quant_method": "fp8"}, "v.weight", "v.weight_scales",
                                'v.weight_scales may be its scale, and quant_method "fp8" has no'),
    "a scale of experts": ({"quant_method": "fp8"}, "e.down", "e.down_weight_scale",
                           "e.down_weight_scale may be its scale, and"),
    "all": (None, "v.weight", "v.SCB",
            "nothing in the checkpoint says how it is quantized (v.SCB may be its scale)"),
}


@pytest.mark.parametrize("case", MISSING)
def test_messages_said_that_nothing_is_known_of_codes(folder, case):
    """Their configuration lacks a key, or a scale beside these has a name that no scheme has."""
    said, codes, scale, message = MISSING[case]
    folder.config({"torch_dtype": "bfloat16", **({"quantization_config": said} if said else {})})
    folder.file({codes: ("I8", CODES), **({scale: ("F32", SCALE)} if scale else {})})
    folder.refused(4, f"tensor {codes} of type I8: ", message, "not a dense model")


@pytest.mark.parametrize("n", [1, 8])
def test_a_mask_of_attention_is_no_codes(folder, n):
    mask = np.tril(np.ones((1, 1, n, n), np.uint8))
    folder.file({**weight(), "h.0.attn.bias": ("U8", mask)})
    folder.convert()
    assert tensors(folder.out)["h.0.attn.bias"][:2] == ("U8", [1, 1, n, n])


@pytest.mark.parametrize(("name", "dtype", "shape"), [
    ("attn.bias", "U8", (1, 1, 4, 8)), ("attn.bias", "U8", (2, 1, 8, 8)),
    ("attn.bias", "U8", (8,)), ("attn.bias", "I8", (1, 1, 8, 8)),
    ("attn.weight", "U8", (1, 1, 8, 8))])
def test_codes_that_are_no_mask_of_attention_are_refused(folder, name, dtype, shape):
    folder.file({**weight(), name: (dtype, np.zeros(shape, np.uint8))})
    folder.refused(4, f"tensor {name} of type {dtype}", KEPT)


@pytest.mark.parametrize("entry", [("I32", WORDS), ("I64", np.zeros((1, 8), np.int64))])
def test_integers_of_other_names_are_copied(folder, entry):
    folder.file({**weight(), "rope.position_ids": entry})
    folder.convert()
    assert names_of(folder) == {"w.weight", "rope.position_ids"}


def test_commands_that_read_refused_what_convert_had_copied(folder, tmp_path):
    """Files with codes that nothing dequantizes: verify had an option for them, and diff and
    extract had none."""
    kept = {"v.weight": ("I8", np.arange(64, dtype=np.int8).reshape(8, 8)), "norm": ("BF16", NORM)}
    a, b = (safetensors(tmp_path / f"{name}.safetensors", kept) for name in "ab")
    for command in (["diff", a, b], ["extract", a, "norm", "-o", tmp_path / "no.npy"]):
        assert "tensor v.weight of type I8" in dequant(*command, code=4).stderr
        dequant(*command, "--keep-unknown")
    assert dequant("diff", a, b, "--keep-unknown").stderr == "".join(
        f"dequant: warning: {file}: 1 quantized constant that nothing dequantizes is not compared\n"
        for file in (a, b))
    dequant("extract", a, "v.weight", "-o", tmp_path / "v.npy", "--keep-unknown")
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), kept["v.weight"][1])


def test_options_of_the_other_file_s_format_were_refused(tmp_path):
    """verify gave its options to both files, also to one whose format does not have them."""
    a = save(model([dq()], initializers=TENSORS), tmp_path / "a.onnx")
    b = safetensors(tmp_path / "b.safetensors", {"y": ("BF16", NORM),
                                                 "v.weight": ("I8", np.zeros(8, np.int8))})
    for command in ("verify", "diff"):
        dequant(command, a, b, "--keep-unknown", "--no-checksum", code=1)
        wrong = dequant(command, a, a, "--keep-unknown", code=2)
        assert "keep-unknown is an option of checkpoints, not of ONNX models" in wrong.stderr


# Parameters of activations and caches.

EXPERTS = {"e.down": ("F8_E4M3", CODES.reshape(1, 8, 8)),
           "e.down_scale_inv": ("F32", SCALE.reshape(1, 1, 1))}
HEADS = ("F32", np.ones(64, np.float32))


@pytest.mark.parametrize("end", ["activation_scale", "input_scale"])
def test_scales_of_the_inputs_of_experts_were_copied(folder, end):
    """Names of experts have no ".weight", and so none of their scales has a dot before it."""
    folder.file({**EXPERTS, f"e.down_{end}": ("F32", SCALE), f"e.up_{end}": ("F32", SCALE)})
    report = json.loads(folder.convert("--json").stdout)
    assert report["dropped"] == [{"name": f"e.down_{end}",
                                  "reason": "it quantizes activations or a cache"}]
    assert names_of(folder) == {"e.down", f"e.up_{end}"}


@pytest.mark.parametrize("name", ["q_scale", "k_scale", "v_scale", "attn.q_scale", "attn.k_scale"])
def test_trained_parameters_were_left_out_as_scales_of_caches(folder, name):
    folder.file({**weight(), name: HEADS, "l.k_scale": ("F32", np.ones((2, 1, 3), np.float32))})
    folder.convert()
    assert names_of(folder) == {"w.weight", name, "l.k_scale"}
    assert tensors(folder.out)[name][2].tobytes() == HEADS[1].tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (4, 1, 1)])
@pytest.mark.parametrize("name", ["attn.k_scale", "attn.k_proj.k_scale", "attn.q_scale",
                                  "attn.kv_scale", "mlp.up_proj.input_scale_ub"])
def test_scales_of_caches_are_left_out(folder, name, shape):
    folder.file({**weight(), name: ("F32", np.ones(shape, np.float32)),
                 "attn.v_zero_point": ("I8", np.zeros(shape, np.int8))})
    folder.convert()
    assert names_of(folder) == {"w.weight"}


@pytest.mark.parametrize(("key", "value"), [
    ("kv_cache_scheme", {"num_bits": 8}), ("kv_cache_quant_algo", "FP8"),
    ("kv_cache_quant_config", {"*k_proj": {}})])
def test_scales_of_caches_have_any_shape_where_the_configuration_says_so(folder, key, value):
    for given, left in ((value, set()), (None, {"attn.k_scale"})):
        folder.config({"torch_dtype": "bfloat16",
                       "quantization_config": {"quant_method": "fp8", key: given}})
        folder.file({**weight(), "attn.k_scale": HEADS})
        folder.convert("--force")
        assert names_of(folder) == {"w.weight", *left}


def test_the_file_of_modelopt_may_say_that_caches_are_quantized(folder):
    folder.config({"torch_dtype": "bfloat16"})
    (folder.path / "hf_quant_config.json").write_text(json.dumps(
        {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}))
    folder.file({**weight(scale="weight_scale"), "attn.k_scale": HEADS})
    folder.convert()
    assert names_of(folder) == {"w.weight"}


# Scales.

SCALES = ["weight_scale", "weight_scale_inv", "weight_scale_2", "weight_global_scale",
          "weight_zero_point", "scale_weight", "qscale_weight"]


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_beside_a_dense_weight_is_left_out_and_listed(folder, scale):
    folder.file({**weight(), "v.weight": DENSE, f"v.{scale}": ("F32", SCALE)})
    report = json.loads(folder.convert("--json").stdout)
    assert report["dropped"] == [{"name": f"v.{scale}", "reason": "its weight is stored as floats"}]
    assert names_of(folder) == {"w.weight", "v.weight"}
    assert tensors(folder.out)["v.weight"][0] == "BF16"


@pytest.mark.parametrize("end", ["_scale_inv", "_weight_scale", "_weight_scale_2"])
def test_a_scale_named_after_a_dense_tensor_is_left_out(folder, end):
    folder.file({**weight(), "experts.down": DENSE, f"experts.down{end}": ("F32", SCALE)})
    folder.convert()
    assert names_of(folder) == {"w.weight", "experts.down"}


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_without_a_weight_is_refused(folder, scale):
    folder.file({**weight(), f"v.{scale}": ("F32", SCALE)})
    folder.refused(3, f"tensor v.{scale}", "there is no v.weight", KEPT)
    folder.convert("--keep-unknown")
    assert names_of(folder) == {"w.weight", f"v.{scale}"}


@pytest.mark.parametrize("scale", ["weight_scale_2", "weight_global_scale", "weight_zero_point"])
def test_a_second_parameter_that_a_scheme_does_not_read_is_refused(folder, scale):
    folder.file({**weight(), f"w.{scale}": ("F32", SCALE)})
    folder.refused(3, f"tensor w.{scale}", "w.weight has a scale already")


def test_scales_of_norms_are_no_scales_of_weights(folder):
    entries = {"norm.scale": ("BF16", NORM), "attn.l2_clip.scale": ("F32", SCALE),
               "mixer.scales": ("F32", SCALE)}
    folder.file({**weight(), **entries})
    folder.convert()
    assert names_of(folder) == {"w.weight", *entries}


def test_a_model_that_is_not_quantized_keeps_all_of_its_tensors(folder):
    folder.config({"torch_dtype": "bfloat16"})
    folder.file({"v.weight": DENSE, "v.weight_scale": ("F32", SCALE)})
    folder.convert()
    assert names_of(folder) == {"v.weight", "v.weight_scale"}


def test_codes_that_are_kept_keep_their_scale(folder):
    folder.config({"torch_dtype": "bfloat16"})
    folder.file({"v.weight": ("U8", CODES), "v.weight_scale": ("F32", SCALE)})
    folder.refused(4, "tensor v.weight of type U8")
    folder.convert("--keep-unknown")
    assert names_of(folder) == {"v.weight", "v.weight_scale"}

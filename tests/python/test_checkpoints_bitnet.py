"""BitNet checkpoints of transformers: four ternary codes in a byte, with a scale by which layers
divide or multiply. The packer here is written from the layout, and tests/producers has
transformers' own."""

import json

import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16, safetensors

F = np.float32
#: Codes of 8 rows, one of them of each value.
CODES = np.random.default_rng(1).integers(-1, 2, (8, 5)).astype(np.int8)
TYPES = {"F32": F, "F16": np.float16}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def packed(codes):
    """Four quarters of the rows, the first in the lowest bits."""
    quarters = (codes + 1).astype(np.uint8).reshape(4, -1, *codes.shape[1:])
    return sum(quarter << 2 * i for i, quarter in enumerate(quarters)).astype(np.uint8)


def number(dtype, value):
    return dtype, bfloat16(np.array([value])) if dtype == "BF16" else np.array([value],
                                                                              TYPES[dtype])


def bitnet(folder, dtype="float32", scale=("F32", np.array([3], F)), section=None, **more):
    """A folder with a weight of CODES, and other tensors that are given."""
    folder.config({"torch_dtype": dtype, "architectures": ["A"],
                   "quantization_config": {"quant_method": "bitnet", **(section or {})}})
    folder.file({"w.weight": ("U8", packed(CODES)), "w.weight_scale": scale,
                 **{name.replace("_dot_", "."): tensor for name, tensor in more.items()}})


def floats(folder, name="w.weight"):
    dtype, shape, bits = tensors(folder.out)[name]
    wide = bits.astype(np.uint32) << 16 if dtype == "BF16" else bits
    return wide.view(np.float16 if dtype == "F16" else F).astype(F).reshape(shape)


@pytest.mark.parametrize("section", [None, {"linear_class": "bitlinear"},
                                     {"quantization_mode": "online"},
                                     {"linear_class": None, "quantization_mode": "offline",
                                      "modules_to_not_convert": ["lm_head"], "bits": 2}])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_layers_divide_by_the_scale_unless_the_configuration_says_otherwise(folder, dtype, section):
    bitnet(folder, scale=number(dtype, 1.375), section=section)
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight"}
    assert np.array_equal(floats(folder), CODES.astype(F) / F(1.375))


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_autobitlinear_multiplies(folder, dtype):
    bitnet(folder, scale=number(dtype, 1.375), section={"linear_class": "autobitlinear"})
    folder.convert()
    assert np.array_equal(floats(folder), CODES.astype(F) * F(1.375))


@pytest.mark.parametrize(("asked", "rounded"), [("float16", lambda y: y.astype(np.float16)),
                                                ("bfloat16", lambda y: bfloat16(y))])
def test_quotients_are_rounded_to_float32_and_then_to_the_output(folder, asked, rounded):
    bitnet(folder, scale=("F32", np.array([0.7071], F)))
    folder.convert("--dtype", asked)
    want = rounded(CODES.astype(F) / F(0.7071))
    assert tensors(folder.out)["w.weight"][2].tolist() == want.view(np.uint16).ravel().tolist()


def test_the_output_has_the_type_that_the_model_computes_in_and_no_quantization_config(folder):
    norm = ("F32", np.ones(8, F))
    bitnet(folder, "bfloat16", section={"linear_class": "autobitlinear"}, norm_dot_weight=norm)
    error = folder.convert().stderr
    found = tensors(folder.out)
    assert {name: entry[0] for name, entry in found.items()} == {"w.weight": "BF16",
                                                                 "norm.weight": "F32"}
    assert json.loads((folder.out / "config.json").read_text()) == {
        "torch_dtype": "bfloat16", "architectures": ["A"]}
    assert "warning" not in error


def test_the_field_3_is_2_as_transformers_unpacks_it(folder):
    bitnet(folder, w_dot_weight=("U8", np.full((2, 5), 0xFF, np.uint8)))
    folder.convert()
    assert np.array_equal(floats(folder), np.full((8, 5), F(2) / F(3)))


@pytest.mark.parametrize("scale", [0.0, -0.0, np.inf, -np.inf, -3.0, 2.0 ** 126, 2.0 ** -127])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_scales_give_what_a_division_gives(folder, scale):
    bitnet(folder, scale=("F32", np.array([scale], F)))
    folder.convert()
    want = CODES.astype(F) / F(scale)
    got = floats(folder)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    real = ~np.isnan(want)
    assert np.array_equal(got[real].view(np.uint32), want[real].view(np.uint32))


@pytest.mark.parametrize("scale", [2.0 ** -128, -1e-39, 1e-45, 1e38, -3e38])
def test_scales_whose_reciprocal_does_not_give_the_quotient_are_refused(folder, scale):
    bitnet(folder, scale=("F32", np.array([scale], F)))
    folder.refused(4, "tensor w.weight_scale: weights are divided by", "whose reciprocal")
    bitnet(folder, scale=("F32", np.array([scale], F)), section={"linear_class": "autobitlinear"})
    folder.convert()
    assert np.array_equal(floats(folder), CODES.astype(F) * F(scale))


def test_inputs_that_are_normalized_are_warned_of_and_the_weights_of_norms_are_copied(folder):
    norm = ("F32", np.ones(5, F))
    bitnet(folder, section={"use_rms_norm": True, "rms_norm_eps": 1e-6},
           w_dot_rms_norm_dot_weight=norm)
    assert "warning: quantization_config: use_rms_norm: layers normalize" in folder.convert().stderr
    assert tensors(folder.out).keys() == {"w.weight", "w.rms_norm.weight"}


BIAS = ("F32", np.zeros(8, F))


def test_a_bias_has_an_element_for_each_row(folder):
    bitnet(folder, w_dot_bias=BIAS)
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight", "w.bias"}
    bitnet(folder, w_dot_bias=("F32", np.zeros(7, F)))
    error = folder.convert("--force", code=3).stderr
    assert "tensor w.weight: 8 rows of 4 codes in a byte, and w.bias has 7" in error


@pytest.mark.parametrize("linear_class", ["bitlinear", "autobitlinear"])
def test_a_bias_that_layers_multiply_by_the_scale_was_copied_silently(folder, linear_class):
    """transformers: F.linear(input, weight, bias) * weight_scale in one class, and in the other a
    bias that is added last."""
    bitnet(folder, section={"linear_class": linear_class}, w_dot_bias=BIAS)
    error = folder.convert().stderr
    warned = "warning: tensor w.bias: it is copied" in error and "multiply it by w.weight_scale"
    assert bool(warned) == (linear_class == "autobitlinear"), error


FLOATS = ("F32", CODES.astype(F))


@pytest.mark.parametrize(("section", "more", "code", "words"), [
    ({"linear_class": "autobitlinear", "quantization_mode": "online"}, {}, 4,
     ["quantization_mode \"online\" is not supported", "ternary values while they compute"]),
    ({"quantization_mode": "later"}, {}, 3, ["quantization_mode is \"later\", not one of offline"]),
    ({"linear_class": "linear"}, {}, 3, ["linear_class is \"linear\", not one of bitlinear"]),
    ({"linear_class": 1}, {}, 3, ["linear_class"]),
    ({"use_rms_norm": "yes"}, {}, 3, ["use_rms_norm"]),
    ({}, {"w_dot_weight": FLOATS}, 4, ["tensor w.weight of type F32", "four codes in a byte",
                                       "w.weight_scale"]),
    ({}, {"w_dot_weight": ("I8", CODES)}, 4, ["tensor w.weight of type I8"]),
    ({}, {"v_dot_weight_scale": number("F32", 1)}, 3, ["there is no v.weight"]),
    ({}, {"v_dot_weight": ("U8", packed(CODES))}, 4, ["tensor v.weight of type U8"]),
    ({}, {"w_dot_weight_scale": ("F32", np.ones(8, F))}, 3, ["weight_scale: shape [8]"]),
    ({}, {"w_dot_weight_scale": ("F64", np.ones(1))}, 4, ["w.weight_scale", "F64"]),
    ({}, {"w_dot_weight_scale": ("U8", np.ones(1, np.uint8))}, 3, ["element type uint8"]),
])
def test_what_is_not_as_transformers_writes_it_is_refused(folder, section, more, code, words):
    bitnet(folder, section=section, **more)
    folder.refused(code, *words)


def test_a_scale_of_no_dimensions_is_one_number(folder):
    bitnet(folder, scale=("F32", F(3)))
    folder.convert()
    assert np.array_equal(floats(folder), CODES.astype(F) / F(3))


def test_tensors_of_this_layout_are_not_taken_without_the_method(folder):
    bitnet(folder)
    (folder.path / "config.json").unlink()
    folder.refused(4, "tensor w.weight of type U8")


@pytest.mark.parametrize(("linear_class", "factor"), [("bitlinear", F(3)),
                                                      ("autobitlinear", 1 / F(3))])
def test_a_scale_that_was_taken_the_other_way_is_called_inverted(folder, linear_class, factor):
    bitnet(folder, section={"linear_class": linear_class})
    wrong = safetensors(folder.path.parent / "wrong.safetensors",
                        {"w.weight": ("F32", CODES * factor)})
    report = json.loads(dequant("verify", folder.path, wrong, "--json", code=1).stdout)
    assert [(w["name"], w["mistake"]) for w in report["wrong"]] == [("w.weight", "scale_inverted")]


def test_a_single_weight_is_dequantized_by_its_names(tmp_path):
    for name, array in {"w": packed(CODES), "s": np.array([3], F)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    dequant("op", "bitnet", "--weight", tmp_path / "w.npy", "--weight-scale", tmp_path / "s.npy",
            "-o", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), CODES.astype(F) / F(3))

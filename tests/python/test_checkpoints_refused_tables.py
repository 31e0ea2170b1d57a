"""bitsandbytes, MLX and gpt-oss checkpoints that contradict themselves, or have what is not
supported."""

import json

import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16

STATE = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [4, 32]}
NESTED = {**STATE, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.5}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


# bitsandbytes.

def text(document):
    if not isinstance(document, bytes):
        document = json.dumps(document).encode()
    return "U8", np.frombuffer(document, np.uint8)


def nf4(folder, state=None, **replaced):
    """The tensors of a weight of 4 bits; None leaves a tensor out."""
    folder.config({"torch_dtype": "float32", "quantization_config": {
        "quant_method": "bitsandbytes", "load_in_4bit": True}})
    parts = {"": ("U8", np.full((64, 1), 0x21, np.uint8)),
             ".absmax": ("F32", np.array([1, 10], np.float32)),
             ".quant_map": ("F32", np.arange(16, dtype=np.float32)),
             ".quant_state.bitsandbytes__nf4": text(STATE if state is None else state),
             **replaced}
    folder.file({f"w.weight{end}": tensor for end, tensor in parts.items() if tensor is not None})


def nested(folder, state=None, **replaced):
    nf4(folder, NESTED if state is None else state, **{
        ".absmax": ("U8", np.array([0, 1], np.uint8)),
        ".nested_absmax": ("F32", np.array([2], np.float32)),
        ".nested_quant_map": ("F32", np.arange(256, dtype=np.float32)), **replaced})


def values(folder):
    dtype, shape, numbers = tensors(folder.out)["w.weight"]
    assert shape == [4, 32]
    return dtype, numbers.reshape(shape)[[0, 0, 2, 2], [0, 1, 0, 1]].tolist()


def test_the_type_of_the_state_is_that_of_the_weight(folder):
    nf4(folder)
    folder.convert()
    assert values(folder) == ("BF16", bfloat16([2, 1, 20, 10]).tolist())
    assert tensors(folder.out).keys() == {"w.weight"}


def test_scales_may_be_quantized_themselves(folder):
    nested(folder)  # scales: 0 * 2 + 0.5, 1 * 2 + 0.5
    folder.convert()
    assert values(folder) == ("BF16", bfloat16([1, 0.5, 5, 2.5]).tolist())


@pytest.mark.parametrize(("quant_type", "zero"), [("nf4", 0), ("fp4", 0x8000)])
def test_code_8_of_fp4_is_minus_zero(folder, quant_type, zero):
    state = text({**STATE, "quant_type": quant_type})
    nf4(folder, **{"": ("U8", np.full((64, 1), 0x08, np.uint8)),
                   ".quant_map": ("F32", np.zeros(16, np.float32)),
                   ".quant_state.bitsandbytes__nf4": None,
                   f".quant_state.bitsandbytes__{quant_type}": state})
    folder.convert()
    assert tensors(folder.out)["w.weight"][2].tolist() == [0, zero] * 64
    assert tensors(folder.out).keys() == {"w.weight"}


def test_codes_may_be_stored_under_another_type(folder):
    nf4(folder, **{"": ("BF16", np.full((32, 1), 0x2121, np.uint16))})
    folder.convert()
    assert values(folder) == ("BF16", bfloat16([2, 1, 20, 10]).tolist())


def test_scales_of_a_tensor_that_is_not_selected_stay(folder):
    nested(folder)
    folder.convert("--exclude", "w.weight")
    assert len(tensors(folder.out)) == 6


@pytest.mark.parametrize("part", ["", ".absmax", ".quant_map"])
def test_a_state_without_tensors_is_refused(folder, part):
    nf4(folder, **{part: None})
    folder.refused(3, "quant_state.bitsandbytes__nf4", f"there is no w.weight{part}")


@pytest.mark.parametrize(("state", "code", "words"), [
    (b"{", 3, ["quant_state.bitsandbytes__nf4"]),
    (b"[]", 3, ["quant_type is absent"]),
    ({**STATE, "quant_type": "fp4"}, 3, ["quant_type", "the type in its name"]),
    ({**STATE, "dtype": "float64"}, 3, ["dtype", "float64"]),
    ({**STATE, "shape": None}, 3, ["shape is absent"]),
    ({**STATE, "shape": [4, "32"]}, 3, ["shape", "a list of integers"]),
    ({**STATE, "shape": [4, 33]}, 3, ["weight: uint8[64, 1] has 64 bytes", "need 66"]),
    ({**STATE, "shape": [-4, -32]}, 3, ["shape"]),
    ({**STATE, "blocksize": 32}, 3, ["absmax: shape [2] where [4]"]),
    ({**STATE, "blocksize": 0}, 3, ["blocksize: 0"]),
    (NESTED, 3, ["w.weight.absmax", "type F32", "has double quantization"]),
])
def test_a_state_that_tensors_contradict_is_refused(folder, state, code, words):
    nf4(folder, state)
    folder.refused(code, *words)


@pytest.mark.parametrize(("state", "words"), [
    (STATE, ["type U8", "has no double quantization"]),
    ({**NESTED, "nested_dtype": "float16"}, ["nested_dtype", "not float32"]),
    ({**NESTED, "nested_offset": 1e39}, ["nested_offset", "not a float32"]),
    ({**NESTED, "nested_offset": "0"}, ["nested_offset", "a number"]),
    ({**NESTED, "nested_blocksize": 1}, ["nested_absmax: shape [1] where [2]"]),
])
def test_a_state_that_nested_scales_contradict_is_refused(folder, state, words):
    nested(folder, state)
    folder.refused(3, *words)


def int8(folder, dtype="float16", **more):
    folder.config({**({"torch_dtype": dtype} if dtype else {}), "quantization_config": {
        "quant_method": "bitsandbytes", "load_in_8bit": True}})
    folder.file({"w.weight": ("I8", np.full((2, 4), 127, np.int8)),
                 "w.SCB": ("F32", np.array([1, 2], np.float32)), **more})


def test_the_largest_code_is_the_scale(folder):
    int8(folder, **{"w.weight_format": ("U8", np.zeros((), np.uint8))})
    folder.convert()
    got = tensors(folder.out)
    assert got.keys() == {"w.weight"}
    assert got["w.weight"][2].view("<f2").tolist() == [1] * 4 + [2] * 4


def test_a_config_of_diffusers_without_a_type_was_asked_for_one(folder):
    """The scales of LLM.int8 are float32, and so are the floats of its dequantizer."""
    int8(folder, dtype=None)
    folder.convert()
    got = tensors(folder.out)
    assert got["w.weight"][0] == "F32"
    assert got["w.weight"][2].view("<f4").tolist() == [1] * 4 + [2] * 4


def test_other_orders_of_rows_are_refused(folder):
    int8(folder, **{"w.weight_format": ("U8", np.ones((), np.uint8))})
    folder.refused(4, "w.weight_format", "only the layout 0", "not 1")


# MLX.

def mlx(folder, quantization, **replaced):
    folder.config({"torch_dtype": "float32", "quantization": quantization})
    parts = {"weight": ("U32", np.full((2, 8), 0x33333333, np.uint32)),
             "scales": ("F32", np.full((2, 2), 2, np.float32)),
             "biases": ("F32", np.full((2, 2), -1, np.float32)), **replaced}
    folder.file({f"w.{part}": tensor for part, tensor in parts.items() if tensor is not None})


@pytest.mark.parametrize("quantization", [
    {"bits": 4, "group_size": 32},
    {"bits": 8, "group_size": 64, "w": {"bits": 4, "group_size": 32}},
    {"bits": 4, "group_size": 64, "w": {"group_size": 32}},
    {"bits": 4, "group_size": 32, "v": False},
])
def test_the_bits_of_a_module_are_its_own_or_those_of_all(folder, quantization):
    mlx(folder, quantization)
    folder.convert()
    got = tensors(folder.out)
    assert got.keys() == {"w.weight"} and got["w.weight"][:2] == ("F32", [2, 64])
    assert (got["w.weight"][2].view("<f4") == 5).all()
    assert "quantization" not in json.loads((folder.out / "config.json").read_text())


@pytest.mark.parametrize("own", [{"group_size": 32, "bits": 4}, {"group_size": 32},
                                 {"group_size": 32, "bits": 4, "mode": "affine"}])
@pytest.mark.parametrize("whole", [{"bits": 4, "group_size": 32, "mode": "mxfp4"},
                                   {"bits": 4, "group_size": 16, "mode": "nvfp4"},
                                   {"bits": 8, "group_size": 32, "mode": "mxfp8"},
                                   {"bits": 8, "group_size": 64}])
def test_a_module_with_an_object_of_its_own_has_nothing_of_the_whole_model(folder, whole, own):
    mlx(folder, {**whole, "w": own})
    folder.convert()
    assert (tensors(folder.out)["w.weight"][2].view("<f4") == 5).all()


def test_a_module_that_is_true_had_no_settings(folder):
    mlx(folder, {"bits": 4, "group_size": 32})
    folder.convert()
    right = tensors(folder.out)
    mlx(folder, {"bits": 4, "group_size": 32, "w": True})
    folder.convert("--force")
    np.testing.assert_array_equal(tensors(folder.out)["w.weight"][2], right["w.weight"][2])


@pytest.mark.parametrize(("own", "words"), [
    ({}, ["scales: dimension 1 is 2"]),  # 4 bits in groups of 64
    ({"mode": "nvfp4"}, ["scales: element type float32 is not uint8"]),
    ({"mode": "mxfp8", "bits": 4}, ["bits: 4 where mxfp8 has 8"]),
    ({"mode": "mxfp4", "group_size": 16}, ["group_size: 16 where mxfp4 has 32"]),
    ({"mode": "fp3"}, ['mode: "fp3"']),
    ({"bits": "4"}, ['bits is "4", not an integer']),
])
def test_numbers_that_an_object_of_a_module_lacks_are_those_of_its_mode(folder, own, words):
    mlx(folder, {"bits": 4, "group_size": 32, "w": own})
    folder.refused(3, *words)


@pytest.mark.parametrize(("quantization", "code", "words"), [
    ({}, 4, ["tensor w.weight", "bits of its codes are not stored"]),
    ({"bits": 4}, 3, ["group_size is absent"]),
    ({"bits": 8, "group_size": 32, "w": True}, 3,
     ["tensor w.weight", "scales: dimension 1 is 2"]),
    ({"bits": 4, "group_size": 32, "w": False}, 3, ["w is false"]),
    ({"bits": 4, "group_size": 32, "mode": "fp3"}, 3, ['mode: "fp3"', "mxfp4"]),
    ({"bits": 4, "group_size": 32, "mode": "mxfp4", "w": True}, 3,
     ["scales: element type float32"]),
    ([], 3, ["quantization is [], not an object"]),
])
def test_numbers_of_mlx_that_tensors_contradict_are_refused(folder, quantization, code, words):
    mlx(folder, quantization)
    folder.refused(code, *words)


def test_affine_weights_without_biases_are_refused(folder):
    mlx(folder, {"bits": 4, "group_size": 32}, biases=None)
    folder.refused(3, "affine weights need some")


def test_a_scale_of_the_whole_tensor_is_refused(folder):
    mlx(folder, {"bits": 4, "group_size": 16, "mode": "nvfp4"}, biases=None,
        scales=("U8", np.zeros((2, 4), np.uint8)), global_scale=("F32", np.ones(1, np.float32)))
    folder.refused(4, "w.global_scale")


@pytest.mark.parametrize("mode, bits", [("mxfp4", 4), ("mxfp8", 8)])
def test_scales_of_255_were_nan_where_mlx_has_infinity(folder, mode, bits):
    """Codes 0, 1 and, of the other sign, 1, in MLX 0.32 on a CPU."""
    codes = np.zeros(32, np.uint8)
    codes[1:3] = 1, 1 | 1 << bits - 1
    words = (codes[::2] | codes[1::2] << 4 if bits == 4 else codes).view(np.uint32)
    mlx(folder, {"bits": bits, "group_size": 32, "mode": mode}, biases=None,
        weight=("U32", words[None]), scales=("U8", np.array([[255]], np.uint8)))
    assert "1 of 1 scales are infinite" in folder.convert().stderr
    np.testing.assert_array_equal(tensors(folder.out)["w.weight"][2].view("<f4")[:4],
                                  [np.nan, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("name, shape, is_moved", [
    ("switch_mlp.up_proj.weight", (3, 4, 8), True), ("conv1d.weight", (8, 4, 1), True),
    ("conv1d.weight", (8, 1, 4), False), ("mlp.up_proj.weight", (4, 8), False)])
def test_layouts_of_mlx_passed_for_those_of_transformers(folder, name, shape, is_moved):
    mlx(folder, {"bits": 4, "group_size": 32}, **{name: ("F32", np.zeros(shape, np.float32))})
    error = folder.convert().stderr
    assert (f"tensor w.{name} is as MLX has it" in error) == is_moved, error


def test_codes_of_one_bit_were_refused(folder):
    """MLX has them from 0.32 on."""
    mlx(folder, {"bits": 1, "group_size": 32}, weight=("U32", np.full((2, 2), 0x00FF00FF, "u4")))
    folder.convert()
    got = tensors(folder.out)["w.weight"][2].view("<f4")
    np.testing.assert_array_equal(got, np.tile([1.0] * 8 + [-1.0] * 8, 8))


def test_float32_results_of_narrow_scales_are_not_rounded_to_their_type(folder):
    scales = ("BF16", np.full((2, 2), 0x3F81, np.uint16))  # 1 + 2^-7
    biases = ("BF16", np.full((2, 2), 0xB880, np.uint16))  # -2^-14
    mlx(folder, {"bits": 4, "group_size": 32}, scales=scales, biases=biases)
    folder.convert("--dtype", "float32")
    exact = 3 * (1 + 2 ** -7) - 2 ** -14
    assert (tensors(folder.out)["w.weight"][2].view("<f4") == np.float32(exact)).all()


# gpt-oss.

def experts(folder, blocks="w_blocks", scales="w_scales", **config):
    folder.config(config)
    tensors_of = {}
    if blocks:
        tensors_of[blocks] = ("U8", np.full((1, 2, 1, 16), 0x22, np.uint8))
    if scales:
        tensors_of[scales] = ("U8", np.array([[[127], [128]]], np.uint8))
    folder.file(tensors_of)


def test_the_type_of_experts_is_bfloat16_where_nothing_says_another(folder):
    experts(folder, "w.blocks", "w.scales")
    folder.convert()
    dtype, shape, numbers = tensors(folder.out)["w"]
    assert (dtype, shape) == ("BF16", [1, 2, 32])
    assert (numbers == bfloat16([1] * 32 + [2] * 32)).all()


def test_experts_of_transformers_are_transposed(folder):
    experts(folder, torch_dtype="float16", quantization_config={"quant_method": "mxfp4"})
    folder.convert()
    dtype, shape, numbers = tensors(folder.out)["w"]
    assert (dtype, shape) == ("F16", [1, 32, 2])
    assert numbers.view("<f2").tolist() == [1, 2] * 32


def test_blocks_without_scales_are_refused(folder):
    experts(folder, scales=None, quantization_config={"quant_method": "mxfp4"})
    folder.refused(3, "w_blocks", "w_scales")


def test_scales_without_blocks_are_refused(folder):
    experts(folder, blocks=None, quantization_config={"quant_method": "mxfp4"})
    folder.refused(4, "tensor w_scales of type U8")


def test_layouts_that_would_both_become_one_tensor_are_refused_by_their_stored_names(folder):
    stored = {}
    for join in ("_", "."):
        stored[f"w{join}blocks"] = ("U8", np.full((1, 2, 1, 16), 0x22, np.uint8))
        stored[f"w{join}scales"] = ("U8", np.array([[[127], [128]]], np.uint8))
    folder.file(stored)
    folder.config({"quantization_config": {"quant_method": "mxfp4"}})
    folder.refused(3, "tensors w_blocks and w.blocks would both become w")
    assert "would both become w" in dequant("inspect", folder.path, code=3).stderr

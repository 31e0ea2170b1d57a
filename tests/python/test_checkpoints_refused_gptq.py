"""GPTQ and AWQ checkpoints that contradict themselves, or whose layout is not read; and what
conversions warn of."""

import json

import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder

GROUPS, INPUTS, OUTPUTS = 2, 64, 8


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def section(**members):
    return {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, **members}


def config(folder, quantization, dtype="float16"):
    folder.config({"torch_dtype": dtype, "quantization_config": quantization})


def weight(name="w", bits=4, **replaced):
    """The tensors of a module; None leaves a tensor out."""
    parts = {
        "qweight": ("I32", np.zeros((INPUTS * bits // 32, OUTPUTS), np.int32)),
        "qzeros": ("I32", np.zeros((GROUPS, OUTPUTS * bits // 32), np.int32)),
        "scales": ("F16", np.ones((GROUPS, OUTPUTS), np.float16)),
        "g_idx": ("I32", (np.arange(INPUTS) // 32).astype(np.int32)),
        **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def gptq(folder, quantization=None, **replaced):
    config(folder, quantization or section())
    folder.file(weight(**replaced))


def zeros_of(folder):
    """The zero points of the first group: all codes are 0, and all scales 1."""
    dtype, shape, numbers = tensors(folder.out)["w.weight"]
    assert (dtype, shape) == ("F16", [OUTPUTS, INPUTS])
    return (-numbers.view("<f2").reshape(shape)[:, 0]).tolist()


# GPTQ.

@pytest.mark.parametrize("part", ["qzeros", "scales"])
def test_a_weight_without_parameters_is_refused(folder, part):
    gptq(folder, **{part: None})
    folder.refused(3, "tensor w.qweight", f"there is no w.{part}")


def test_codes_in_the_order_of_activations_without_their_index_were_taken_as_in_order(folder):
    gptq(folder, section(desc_act=True), g_idx=None)
    folder.refused(3, "module w: there is no w.g_idx", "where desc_act is true")
    one = {"qzeros": ("I32", np.zeros((1, OUTPUTS // 8), np.int32)),
           "scales": ("F16", np.ones((1, OUTPUTS), np.float16))}
    gptq(folder, section(desc_act=True, group_size=-1), g_idx=None, **one)
    folder.convert()


def test_an_index_is_not_needed(folder):
    gptq(folder, g_idx=None)
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight"}


def test_an_index_without_entries_is_refused(folder):
    gptq(folder, g_idx=("I32", np.zeros(0, np.int32)))
    folder.refused(3, "tensor w.g_idx: it has no entries")


def test_an_old_file_of_its_own_has_the_configuration(folder):
    folder.config({"torch_dtype": "float16"})
    (folder.path / "quantize_config.json").write_text(
        json.dumps({"bits": 4, "group_size": 32, "desc_act": False, "sym": True}))
    folder.file(weight())
    folder.convert()
    assert zeros_of(folder) == [1] * OUTPUTS
    assert not (folder.out / "quantize_config.json").exists()


@pytest.mark.parametrize(("members", "code", "words"), [
    ({"bits": None}, 3, ["bits is absent"]),
    ({"bits": "4"}, 3, ["bits is \"4\"", "integer"]),
    ({"bits": 5}, 3, ["bits: 5 is not one of 2, 3, 4, 8"]),
    ({"bits": 8}, 3, ["qweight: 8 rows of words where 64 inputs of 8 bits need 16"]),
    ({"group_size": None}, 3, ["group_size is absent"]),
    ({"group_size": 128}, 3, ["tensor w.g_idx", "groups of 32 inputs, and group_size is 128"]),
    ({"checkpoint_format": "marlin"}, 4, ["checkpoint_format", "marlin"]),
    ({"is_marlin_format": True}, 4, ["Marlin"]),
    ({"pack_dtype": "int8"}, 4, ["words of int8"]),
    ({"meta": []}, 3, ["meta is []", "object"]),
])
def test_a_configuration_that_tensors_contradict_is_refused(folder, members, code, words):
    gptq(folder, section(**members))
    folder.refused(code, *words)


def test_groups_without_order_are_those_of_the_index(folder):
    index = (np.arange(INPUTS) % 2).astype(np.int32)
    scales = np.stack([np.full(OUTPUTS, 1, np.float16), np.full(OUTPUTS, 2, np.float16)])
    gptq(folder, section(desc_act=True), g_idx=("I32", index), scales=("F16", scales))
    folder.convert()
    numbers = tensors(folder.out)["w.weight"][2].view("<f2").reshape(OUTPUTS, INPUTS)
    assert (numbers == -1 - np.arange(INPUTS) % 2).all()


def test_an_index_without_order_is_refused_where_the_configuration_says_order(folder):
    gptq(folder, g_idx=("I32", (np.arange(INPUTS) % 2).astype(np.int32)))
    folder.refused(3, "tensor w.g_idx", "desc_act is false")


def test_missing_groups_of_scales_were_blamed_on_the_index(folder):
    gptq(folder, section(), scales=("F16", np.ones((GROUPS - 1, OUTPUTS), np.float16)))
    folder.refused(3, "tensor w.scales: 1 groups, and w.qzeros has 2")


def test_an_index_of_no_group_is_refused(folder):
    index = np.full(INPUTS, GROUPS, np.int32)
    gptq(folder, section(desc_act=True), g_idx=("I32", index))
    folder.refused(3, "tensor w.g_idx", "entry 0 is 2", "2 groups")


@pytest.mark.parametrize("dynamic", [
    {"+:.*v": {"bits": 8}}, {".*v": {"bits": 8}}, {"-:.*lm_head": {}, r"+:a\.v$": {"bits": 8}},
    {"+:a": {"bits": 8}, "+:.*v": {"bits": 2}},  # the first counts
    {"+:(?=a)": {"bits": 8}}])  # no syntax of RE2: the bits that fit the shapes
def test_modules_may_have_bits_of_their_own(folder, dynamic):
    config(folder, section(dynamic=dynamic))
    folder.file({**weight(), **weight("a.v", 8)})
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight", "a.v.weight"}


def test_modules_may_have_groups_and_an_order_of_their_own(folder):
    index = ("I32", (np.arange(INPUTS) % 2).astype(np.int32))
    whole = {part: ("F16" if part == "scales" else "I32", np.ones((1, n), t))
             for part, n, t in [("qzeros", 1, np.int32), ("scales", OUTPUTS, np.float16)]}
    folder.file({**weight("order", g_idx=index), **weight("one", g_idx=None, **whole), **weight()})
    config(folder, section(dynamic={"+:one": {"group_size": -1}}))
    folder.refused(3, "tensor order.g_idx", "desc_act is false")
    config(folder, section(dynamic={"+:order": {"desc_act": True}, "+:one": {"group_size": -1}}))
    folder.convert()


@pytest.mark.parametrize(("dynamic", "code", "words"), [
    ({"+:w": {"bits": 8}}, 3, ["qweight: 8 rows of words where 64 inputs of 8 bits need 16"]),
    ({"+:x": {"bits": 8}, "+:w": {"group_size": 64}}, 3, ["groups of 32 inputs", "is 64"]),
    ({"-:w": {}}, 3, ["module w", "\"-:w\" of dynamic", "not quantized"]),
    ({"+:x": {"checkpoint_format": "gptq_v2"}}, 4, ["+:x", "a checkpoint_format of their own"]),
    ({"+:x": {"bits": "8"}}, 3, ["dynamic: +:x", "bits is \"8\""]),
    ({"+:x": 8}, 3, ["dynamic: +:x is 8, not an object"]),
    ({"x" * 100_001: {}}, 3, ["more than 100000 characters"]),
])
def test_a_rule_that_tensors_contradict_is_refused(folder, dynamic, code, words):
    gptq(folder, section(dynamic=dynamic))
    folder.refused(code, *words)


def test_bits_that_fit_no_shape_are_refused(folder):
    gptq(folder, section(dynamic={"-:(?=v)": {}}), qzeros=("I32", np.zeros((GROUPS, 2), np.int32)))
    folder.refused(3, "module w", "none of 2 to 8 bits")


def test_no_module_differs_where_none_is_named(folder):
    gptq(folder, section(dynamic={}, extra_config={}, group_size=64))
    folder.refused(3, "tensor w.g_idx", "groups of 32 inputs, and group_size is 64")


def test_a_dense_tensor_of_the_same_name_is_refused(folder):
    config(folder, section())
    folder.file({**weight(), "w.weight": ("F16", np.zeros((8, 64), np.float16))})
    folder.refused(3, "tensor w.weight is stored", "w.qweight")


def test_stored_zero_points_of_all_ones_are_reported(folder):
    # Of eight outputs: -1, 0, 0, 0, 15 - 1, 0, 0, -1, each stored less 1 by words or by itself.
    fields = [0xF, 0, 0, 0, 0xE, 0, 0, 0xF]
    word = np.array([sum(f << 4 * i for i, f in enumerate(fields))], np.uint32).view(np.int32)
    qzeros = ("I32", np.stack([word, np.zeros(1, np.int32)]))
    gptq(folder, qzeros=qzeros)
    done = folder.convert()
    assert "w.qzeros: 2 stored zero points are all ones" in done.stderr
    assert "other readers take 16" in done.stderr
    assert zeros_of(folder) == [0, 1, 1, 1, 15, 1, 1, 0]


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_zero_points_of_all_ones_are_counted_in_words_and_across_them(folder, bits):
    outputs = 43
    ones = (1 << bits) - 1
    rng = np.random.default_rng(bits)
    fields = np.where(rng.random((GROUPS, outputs)) < 0.5, ones, rng.integers(0, ones + 1, (
        GROUPS, outputs)))
    words = -(-outputs * bits // 32)
    rows = [sum(int(field) << bits * i for i, field in enumerate(row)) for row in fields]
    # What is left of the last word is no zero point.
    rest = (1 << 32 * words) - (1 << outputs * bits)
    stored = b"".join((row | rest).to_bytes(4 * words, "little") for row in rows)
    gptq(folder, section(bits=bits),
         qweight=("I32", np.zeros((INPUTS * bits // 32, outputs), np.int32)),
         qzeros=("I32", np.frombuffer(stored, np.int32).reshape(GROUPS, words)),
         scales=("F16", np.ones((GROUPS, outputs), np.float16)))
    assert f" {(fields == ones).sum()} stored zero points" in folder.convert().stderr


def test_gptqmodel_subtracted_1_from_words_of_zero_points(folder):
    fields = [0xF, 0, 0, 0, 0xE, 0, 0, 0xF]
    word = np.array([sum(f << 4 * i for i, f in enumerate(fields))], np.uint32).view(np.int32)
    qzeros = ("I32", np.stack([word, np.zeros(1, np.int32)]))
    gptq(folder, section(meta={"quantizer": ["gptqmodel:7.7.0"]}), qzeros=qzeros)
    done = folder.convert()
    assert "with a carry to the next one" in done.stderr
    assert zeros_of(folder) == [0, 2, 1, 1, 15, 1, 1, 0]


def test_true_zero_points_may_be_all_ones(folder):
    qzeros = ("I32", np.full((GROUPS, 1), -1, np.int32))
    gptq(folder, section(checkpoint_format="gptq_v2"), qzeros=qzeros)
    assert "warning" not in folder.convert().stderr
    assert zeros_of(folder) == [15] * OUTPUTS


def test_tensors_that_are_not_selected_stay_with_their_index(folder):
    config(folder, section())
    folder.file({**weight(), **weight("v")})
    folder.convert("--exclude", "v.weight")
    assert tensors(folder.out).keys() == {"w.weight", *weight("v")}


# AutoRound.

@pytest.mark.parametrize(("packing", "zero"), [
    ("auto_round:auto_gptq", 1), ("auto_round:gptqmodel", 0), ("auto_round", 0)])
def test_autoround_stores_what_its_packing_format_says(folder, packing, zero):
    gptq(folder, section(quant_method="auto-round", packing_format=packing), g_idx=None)
    folder.convert()
    assert zeros_of(folder) == [zero] * OUTPUTS


@pytest.mark.parametrize(("members", "code", "words"), [
    ({"packing_format": "auto_round:llm_compressor"}, 4, ["packing_format", "llm_compressor"]),
    ({"data_type": "fp"}, 4, ['data_type "fp" of AutoRound']),
    ({"packing_format": "auto_round", "data_type": "mx_int"}, 4, ['data_type "mx_int"']),
    ({}, 3, ["packing_format is absent"]),
])
def test_other_packing_formats_of_autoround_are_refused(folder, members, code, words):
    gptq(folder, section(quant_method="auto-round", **members))
    folder.refused(code, *words)


LAYER = "layers.1.up"
OTHERS = {"lm_head": {"bits": 8, "group_size": 128}}


def autoround(folder, extra, **members):
    """The module w has 4 bits in groups of 32, the other 8 bits in groups of 64."""
    config(folder, section(quant_method="auto-round", packing_format="auto_round",
                           extra_config={**OTHERS, **extra}, **members))
    one = {"qzeros": ("I32", np.zeros((1, OUTPUTS // 4), np.int32)),
           "scales": ("F16", np.full((1, OUTPUTS), 2, np.float16)),
           "qweight": ("I32", np.full((INPUTS // 4, OUTPUTS), 0x03030303, np.int32))}
    folder.file({**weight(g_idx=None), **weight(LAYER, g_idx=None, **one)})


@pytest.mark.parametrize("extra", [
    {LAYER: {"bits": 8, "group_size": 64, "sym": True, "act_bits": None}},
    {r".*layers\.1\..*": {"bits": 8, "group_size": 64}},
    {r"1\.u": {"bits": 8, "group_size": 64}},  # any part of the name
    {".*": {}, ".*up$": {"bits": 8, "group_size": 64}, ".*1.*": {"bits": 2}},  # the first
    {".*up$": {"bits": 2}, LAYER: {"bits": 8, "group_size": 64}},  # the name counts before
    {LAYER: {"bits": 8, "group_size": -1}},
])
def test_modules_of_autoround_may_have_groups_of_their_own(folder, extra):
    autoround(folder, extra)
    folder.convert()
    got = tensors(folder.out)
    assert got["w.weight"][1] == got[f"{LAYER}.weight"][1] == [OUTPUTS, INPUTS]
    assert (got[f"{LAYER}.weight"][2].view("<f2") == 6).all()


@pytest.mark.parametrize(("extra", "code", "words"), [
    ({LAYER: {"bits": 8}}, 3, ["1 groups where 64 inputs in groups of 32 need 2"]),
    ({LAYER: {"bits": 4, "group_size": 64}}, 3, [f"tensor {LAYER}.weight"]),
    ({"layers.1": {"bits": 8, "group_size": 64}}, 4, [f"module {LAYER}", "several"]),
    ({"(?!x).*": {"bits": 8}, LAYER + "$": {"group_size": 64}}, 4, ["module w", "several of 2"]),
    ({LAYER: {"group_size": "64"}}, 3, [f"extra_config: {LAYER}", 'group_size is "64"']),
    ({LAYER: 8}, 3, [f"extra_config: {LAYER} is 8, not an object"]),
    ({"x*" * 50_001: {"bits": 8}}, 3, ["more than 100000 characters"]),
])
def test_numbers_of_modules_of_autoround_that_tensors_contradict_are_refused(folder, extra, code,
                                                                             words):
    autoround(folder, extra)
    folder.refused(code, *words)


def test_a_module_that_extra_config_does_not_name_has_the_bits_that_fit(folder):
    config(folder, section(quant_method="auto-round", packing_format="auto_round",
                           extra_config={"model." + LAYER: {"bits": 8}}))
    wide = {"qweight": ("I32", np.zeros((INPUTS // 4, 32), np.int32)),
            "qzeros": ("I32", np.zeros((GROUPS, 8), np.int32)),
            "scales": ("F16", np.ones((GROUPS, 32), np.float16))}
    folder.file({**weight(g_idx=None), **weight(LAYER, g_idx=None, **wide)})
    folder.convert()
    assert {name: shape for name, (_, shape, _) in tensors(folder.out).items()} == {
        "w.weight": [OUTPUTS, INPUTS], f"{LAYER}.weight": [32, INPUTS]}


# AWQ.

NO_ZEROS = ("I32", np.zeros((GROUPS, OUTPUTS // 8), np.int32))


def awq(folder, qzeros=NO_ZEROS, **members):
    config(folder, {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True,
                    "version": "gemm", **members})
    folder.file(weight(qweight=("I32", np.zeros((INPUTS, OUTPUTS // 8), np.int32)), qzeros=qzeros,
                       g_idx=None))


@pytest.mark.parametrize("members", [{}, {"version": "GEMM"}, {"version": None}])
def test_gemm_is_the_layout_of_awq(folder, members):
    awq(folder, **members)
    folder.convert()
    assert zeros_of(folder) == [0] * OUTPUTS


def test_awq_of_symmetric_codes_has_zero_points_as_well(folder):
    awq(folder, zero_point=False, qzeros=("I32", np.full((GROUPS, 1), -0x77777778, np.int32)))
    folder.convert()
    assert zeros_of(folder) == [8] * OUTPUTS


def test_awq_of_symmetric_codes_without_zero_points_is_refused(folder):
    awq(folder, zero_point=False, qzeros=None)
    folder.refused(3, "tensor w.qweight", "there is no w.qzeros")


def test_autoround_stores_awq(folder):
    awq(folder, quant_method="auto-round", packing_format="auto_round:auto_awq")
    folder.convert()
    assert zeros_of(folder) == [0] * OUTPUTS


def test_modules_of_autoround_as_awq_may_have_groups_of_their_own(folder):
    extra = {"w": {"group_size": 32}}
    awq(folder, quant_method="auto-round", packing_format="auto_round:auto_awq", group_size=64,
        extra_config=extra)
    folder.convert()
    assert zeros_of(folder) == [0] * OUTPUTS
    folder.config({"quantization_config": {
        "quant_method": "auto-round", "packing_format": "auto_round:auto_awq", "bits": 4,
        "group_size": 32, "extra_config": {"w": {"bits": 8}}}})
    folder.out.rename(folder.out.with_name("other"))
    folder.refused(4, "AWQ with 8 bits")


@pytest.mark.parametrize("name", ["h.0.mlp.act", "h.0.mlp.gelu_impl"])
def test_factors_of_activations_were_copied_and_left_out_of_the_model(folder, name):
    """ScaledActivation of AutoAWQ and GPTQModel: act(x) / scales."""
    awq(folder)
    parts = weight(qweight=("I32", np.zeros((INPUTS, OUTPUTS // 8), np.int32)), qzeros=NO_ZEROS,
                   g_idx=None)
    folder.file({**parts, f"{name}.scales": ("F16", np.full(INPUTS, 2, np.float16)),
                 "norm.weight": ("F16", np.ones(8, np.float16)),
                 "norm.scales": ("F16", np.ones(8, np.float16))})
    error = folder.convert().stderr
    assert error.count("warning") == 1 and f"tensor {name}.scales: the dense model" in error
    assert f"divides the results of {name}" in error
    assert tensors(folder.out).keys() == {"w.weight", "norm.weight", "norm.scales"}


@pytest.mark.parametrize(("members", "code", "words"), [
    ({"version": "gemv_fast"}, 4, ['version "gemv_fast"', "only the layouts gemm and gemv"]),
    ({"version": "marlin"}, 4, ["marlin"]),
    ({"version": "gemv"}, 3, ["tensor w.weight", "gemv has no groups of 32 for 8 inputs"]),
    ({"bits": 8}, 4, ["AWQ with 8 bits"]),
    ({"group_size": None}, 3, ["group_size is absent"]),
    ({"group_size": 64}, 3, ["tensor w.weight", "2 groups where 64 inputs in groups of 64 need 1"]),
])
def test_other_layouts_of_awq_are_refused(folder, members, code, words):
    awq(folder, **members)
    folder.refused(code, *words)

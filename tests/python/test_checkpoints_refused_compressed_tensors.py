"""compressed-tensors checkpoints whose configuration and tensors contradict each other, or that are
not supported; which group describes a module; and what conversions warn of."""

import numpy as np
import pytest

from support import dequant
from test_checkpoints import checkpoint, tensors
from test_checkpoints_folder import Folder
from test_verify import bfloat16, float_of

ROWS, COLUMNS = 8, 64
INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32}
FP8 = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel"}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def group(weights, targets=("Linear",), **members):
    return {"targets": list(targets), "weights": weights, **members}


def config(folder, groups=None, **members):
    if groups is None:
        groups = {"group_0": group(INT4)}
    folder.config({"torch_dtype": "bfloat16", "quantization_config": {
        "quant_method": "compressed-tensors", "format": "pack-quantized", "version": "0.20.0",
        "quantization_status": "compressed", "config_groups": groups, **members}})


def packed(name="w", **replaced):
    """A weight [8, 64] of 4 bits: all codes are 9, which is 1, and all scales 2."""
    parts = {
        "weight_packed": ("I32", np.full((ROWS, COLUMNS // 8), -0x66666667, np.int32)),
        "weight_scale": ("BF16", bfloat16(np.full((ROWS, 2), 2))),
        "weight_shape": ("I64", np.array([ROWS, COLUMNS], np.int64)),
        **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def floats(name="w", value=0x38, **replaced):
    parts = {"weight": ("F8_E4M3", np.full((ROWS, COLUMNS), value, np.uint8)),
             "weight_scale": ("BF16", bfloat16(np.full((ROWS, 1), 2))), **replaced}
    return {f"{name}.{part}": tensor for part, tensor in parts.items() if tensor is not None}


def values(folder, name="w"):
    dtype, shape, numbers = tensors(folder.out)[f"{name}.weight"]
    assert (dtype, shape) == ("BF16", [ROWS, COLUMNS])
    return numbers


def test_codes_have_8_on_top(folder):
    config(folder)
    folder.file(packed())
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight"}
    assert (values(folder) == bfloat16([2])).all()


@pytest.mark.parametrize("version", ["0.17.1", "0.20.0"])
def test_codes_of_one_bit_were_refused(folder, version):
    """Words as of pack_to_int32(): codes -1 and 0 in turn."""
    config(folder, {"g": group({**INT4, "num_bits": 1})}, version=version)
    folder.file(packed(weight_packed=("I32", np.full((ROWS, COLUMNS // 32), -0x55555556, "i4"))))
    folder.convert()
    assert (values(folder) == bfloat16([-2, 0] * (ROWS * COLUMNS // 2))).all()


# Tensors.

@pytest.mark.parametrize(("replaced", "code", "words"), [
    ({"weight_scale": None}, 3, ["w.weight_packed", "there is no w.weight_scale"]),
    ({"weight_shape": None}, 3, ["tensor w.weight", "weight_shape"]),
    ({"weight_shape": ("I64", np.array([ROWS], np.int64))}, 3, ["weight_shape: [8]"]),
    ({"weight_shape": ("F32", np.array([ROWS, COLUMNS], np.float32))}, 3,
     ["w.weight_shape", "F32"]),
    ({"weight_shape": ("I64", np.array([ROWS, 33], np.int64))}, 3,
     ["8 words a row do not hold 4-bit codes of [8, 33]"]),
    ({"weight_shape": ("I64", np.zeros((8, 8), np.int64))}, 3, ["w.weight_shape"]),
    ({"weight_scale": ("BF16", bfloat16(np.ones((ROWS, 3))))}, 3, ["weight_scale: shape [8, 3]"]),
    ({"weight_scale": ("F8_E4M3", np.zeros((ROWS, 2), np.uint8))}, 3, ["float8e4m3fn"]),
    ({"weight_zero_point": ("I32", np.zeros((1, 2), np.int32))}, 3,
     ["symmetric is true", "packed ones"]),
    ({"weight_g_idx": ("I32", np.full(COLUMNS, 2, np.int32))}, 3,
     ["w.weight_g_idx: entry 0 is 2, and there are 2 groups"]),
    ({"weight": ("BF16", np.zeros((ROWS, COLUMNS), np.uint16))}, 3, ["w.weight"]),
])
def test_tensors_that_contradict_each_other_are_refused(folder, replaced, code, words):
    config(folder)
    folder.file(packed(**replaced))
    folder.refused(code, *words)


def test_an_index_that_was_not_set_leaves_columns_in_order(folder):
    config(folder)
    folder.file(packed(weight_g_idx=("I32", np.full(COLUMNS, -1, np.int32))))
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight"}


def test_asymmetric_weights_need_zero_points(folder):
    config(folder, {"g": group({**INT4, "symmetric": False})})
    folder.file(packed())
    folder.refused(3, "symmetric is false", "the module has none")


def test_packed_codes_under_another_name_are_refused(folder):
    config(folder)
    folder.file({"experts.down_proj_packed": ("I32", np.zeros((2, 8, 8), np.int32))})
    folder.refused(4, "experts.down_proj_packed", "only under the name")


def test_a_scale_beside_a_dense_weight_is_dropped(folder):
    config(folder)
    folder.file({**packed(), "v.weight": ("BF16", np.zeros((2, 2), np.uint16)),
                 "v.weight_scale": ("BF16", bfloat16(np.ones((2, 1))))})
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight", "v.weight"}


def test_a_scale_without_a_weight_is_refused(folder):
    config(folder)
    folder.file({**packed(), "v.weight_scale": ("BF16", bfloat16(np.ones((2, 1))))})
    folder.refused(3, "v.weight_scale", "there is no v.weight")


@pytest.mark.parametrize(("version", "padded"), [("0.17.1", True), ("0.18.0", False),
                                                 ("0.9.4", True), ("1.0.0", False)])
def test_the_version_says_how_words_are_filled_where_their_number_does_not(folder, version, padded):
    config(folder, {"g": group({**INT4, "num_bits": 3, "group_size": 80})},
           version=version)
    # 70 codes of 3 bits, 5 each, which is 1: 10 in a padded word, or 210 bits.
    word = sum(5 << 3 * i for i in range(10 if padded else 32))
    row = np.array([word] * 7 if padded else [word >> 32 * i & 0xFFFFFFFF for i in range(3)] * 3,
                   np.uint64)[:7].astype(np.uint32).view(np.int32)
    folder.file(packed(weight_packed=("I32", np.stack([row])),
                       weight_scale=("BF16", bfloat16([[2]])),
                       weight_shape=("I64", np.array([1, 70], np.int64))))
    folder.convert()
    assert (tensors(folder.out)["w.weight"][2] == bfloat16([2])).all()


@pytest.mark.parametrize("version", ["0.17.2", "0.18.0a2", "new", None])
def test_words_that_nothing_tells_are_refused(folder, version):
    config(folder, {"g": group({**INT4, "num_bits": 3, "group_size": 80})}, version=version)
    folder.file(packed(weight_packed=("I32", np.zeros((1, 7), np.int32)),
                       weight_scale=("BF16", bfloat16([[2]])),
                       weight_shape=("I64", np.array([1, 70], np.int64))))
    folder.refused(4, "may be padded (to version 0.17.1) or dense (from 0.18.0 on) in 7 words")


def test_embeddings_are_weights_like_others(shared, tmp_path):
    source = shared / "checkpoints" / "ct_embed_and_head_w8" / "model.safetensors"
    out = tmp_path / "out"
    dequant("convert", checkpoint(shared, "ct_embed_and_head_w8", tmp_path), "-o", out)
    stored = tensors(source)
    _, shape, scale = stored["model.embed_tokens.weight_scale"]
    words = stored["model.embed_tokens.weight_packed"][2].astype("<u4")
    codes = words.view(np.uint8).reshape(shape[0], -1).astype(np.float32) - 128
    got = tensors(out)["model.embed_tokens.weight"]
    assert got[:2] == ("BF16", list(codes.shape))
    assert (got[2] == bfloat16(codes * float_of(scale)[:, None]).ravel()).all()


# Configurations.

@pytest.mark.parametrize(("members", "code", "words"), [
    ({"format": "marlin-24"}, 4, ['format "marlin-24" of group_0']),
    ({"format": None}, 4, ['format "" of group_0']),
    ({"sparsity_config": {"format": "sparse-24-bitmask"}}, 4, ["sparsity_config", "bitmask"]),
    ({"config_groups": {}}, 3, ["no group of quantization_config describes module w"]),
    ({"config_groups": []}, 3, ["config_groups is []"]),
    ({"config_groups": {"g": 1}}, 3, ["g is 1, not an object"]),
    ({"config_groups": {"g": group({**INT4, "strategy": "token"})}}, 4, ['strategy "token"']),
    ({"config_groups": {"g": group({**INT4, "num_bits": "4"})}}, 3, ["num_bits is", "an integer"]),
    ({"config_groups": {"g": group({**INT4, "num_bits": 9})}}, 3, ["num_bits: 9 is not 1 to 8"]),
    ({"config_groups": {"g": group({**INT4, "group_size": 16})}}, 3,
     ["in groups of 16 needs [8, 4]"]),
    ({"config_groups": {"g": group({**INT4, "type": "float"})}}, 3,
     ['g of quantization_config has type "float", and the tensor is I32']),
    ({"config_groups": {"g": group(INT4, targets=[1])}}, 3, ["targets", "a list of strings"]),
    ({"config_groups": {"g": group(INT4, targets=["a.b", "re:v"])}}, 3,
     ["no group of quantization_config describes module w"]),
    ({"ignore": ["w"]}, 3, ["tensor w.weight_packed", "leaves module w unquantized"]),
    ({"ignore": ["re:[a-w]$"]}, 3, ["leaves module w unquantized"]),
])
def test_configurations_that_do_not_describe_the_tensors_are_refused(folder, members, code, words):
    config(folder, **members)
    folder.file(packed())
    folder.refused(code, *words)


@pytest.mark.parametrize("members", [
    {"quantization_status": "frozen"}, {"quantization_status": None}, {"version": None},
    {"sparsity_config": {"format": "dense"}}, {"sparsity_config": {}}])
def test_members_that_old_versions_write_do_not_matter(folder, members):
    config(folder, **members)
    folder.file(packed())
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()


def test_weights_of_an_unknown_format_may_be_dense(folder):
    config(folder, format="dense")
    folder.file({"v.weight": ("BF16", np.zeros((2, 2), np.uint16)),
                 "v.weight_scale": ("BF16", bfloat16(np.ones((2, 1))))})
    folder.convert()
    assert tensors(folder.out).keys() == {"v.weight"}


@pytest.mark.parametrize("targets", [["w", "Linear"], ["re:w"], ["re:(?=w)."], ["Linear"]])
def test_a_group_may_name_modules_or_classes_of_these(folder, targets):
    config(folder, {"g": group(INT4, targets)})
    folder.file(packed())
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()


def test_modules_may_have_formats_of_their_own(folder):
    config(folder, {"a": group(FP8, ["re:.*v$"], format="float-quantized"),
                    "b": group(INT4, ["Linear"], format="pack-quantized")},
           format="mixed-precision")
    folder.file({**packed("m.w"), **floats("m.v")})
    folder.convert()
    assert (values(folder, "m.w") == bfloat16([2])).all()
    assert (values(folder, "m.v") == bfloat16([2])).all()


def test_of_groups_for_classes_the_one_counts_that_the_tensors_fit(folder):
    config(folder, {"a": group({**INT4, "num_bits": 8, "group_size": 16}), "b": group(INT4)})
    folder.file(packed())
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()


def test_two_groups_that_the_tensors_fit_are_refused(folder):
    config(folder, {"a": group({**INT4, "group_size": 40}), "b": group(INT4)})
    folder.file(packed())
    folder.refused(4, "tensor w.weight_packed", "a and b of quantization_config both may")


def test_a_name_counts_more_than_an_expression_and_that_more_than_a_class(folder):
    config(folder, {"a": group({**INT4, "group_size": 40}), "b": group(INT4, ["re:m.*"]),
                    "c": group({**INT4, "group_size": 33}, ["m.v"])})
    codes = np.zeros((ROWS, 2), np.float32) + [2, 4]
    folder.file({**packed("m.w", weight_scale=("BF16", bfloat16(codes))),
                 **packed("m.v", weight_scale=("BF16", bfloat16(codes)))})
    folder.convert()
    assert (values(folder, "m.w").reshape(ROWS, -1)[0] == bfloat16([2] * 32 + [4] * 32)).all()
    assert (values(folder, "m.v").reshape(ROWS, -1)[0] == bfloat16([2] * 33 + [4] * 31)).all()


def test_scales_of_uint8_make_floats_in_groups_mxfp8(folder):
    weights = {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32,
               "scale_dtype": "torch.uint8"}
    config(folder, {"g": group(weights, format="naive-quantized")})
    folder.file(floats(weight_scale=("U8", np.full((ROWS, 2), 128, np.uint8))))
    folder.convert()
    assert (values(folder) == bfloat16([2])).all()


def test_many_patterns_take_little_time(folder):
    names = [f"re:.*layers.{i}.self_attn.*" for i in range(3000)]
    config(folder, ignore=names)
    folder.file({k: t for i in range(300) for k, t in packed(f"layers.{i}.mlp").items()})
    folder.convert()


def test_more_characters_of_patterns_than_any_model_has_are_refused(folder):
    config(folder, ignore=["re:" + "a" * 100_001])
    folder.file(packed())
    folder.refused(3, "ignore", "characters of patterns")

"""MLX checkpoints with modules that config.json does not name: mlx-lm reads these by the shapes of
its own model."""

import numpy as np
import pytest

from test_checkpoints import tensors
from test_checkpoints_folder import Folder

BITS = (1, 2, 3, 4, 5, 6, 8)
GROUPS = (32, 64, 128)
ROWS, COLUMNS = 2, 256


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def module(name, bits, group_size):
    """The tensors of codes 0, 1, 2 ..., of scales of 1 and biases of 0; and the floats."""
    codes = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 2 ** bits
    stream = (codes[..., None] >> np.arange(bits) & 1).astype(np.uint8)
    words = np.packbits(stream.reshape(ROWS, -1), axis=1, bitorder="little").view("<u4")
    groups = (ROWS, COLUMNS // group_size)
    return {f"{name}.weight": ("U32", words), f"{name}.scales": ("F32", np.ones(groups, "f4")),
            f"{name}.biases": ("F32", np.zeros(groups, "f4"))}, codes.astype("f4")


def write(folder, all_modules, named=None, **modules):
    """Modules of the first layer by bits and group size; `all_modules` is the pair of the model."""
    folder.config({"torch_dtype": "float32", "quantization": {
        "bits": all_modules[0], "group_size": all_modules[1],
        **{f"model.layers.0.{name}": {"bits": bits, "group_size": group_size}
           for name, (bits, group_size) in (named or {}).items()}}})
    stored, floats = {}, {}
    for name, pair in modules.items():
        parts, values = module(f"model.layers.0.{name}", *pair)
        stored |= parts
        floats[f"model.layers.0.{name}.weight"] = values
    folder.file(stored)
    return floats


def check(folder, floats):
    got = tensors(folder.out)
    assert got.keys() == floats.keys()
    for name, values in floats.items():
        assert got[name][1] == list(values.shape)
        np.testing.assert_array_equal(got[name][2].view("<f4").reshape(values.shape), values)


PAIRS = [(bits, group_size) for bits in BITS for group_size in GROUPS]


def rivals(pair):
    return [other for other in PAIRS if other[0] * other[1] == pair[0] * pair[1]]


@pytest.mark.parametrize("pair", PAIRS)
def test_modules_without_settings_were_refused_where_one_pair_alone_fits(folder, pair):
    default = next(other for other in PAIRS if other[0] * other[1] != pair[0] * pair[1])
    floats = write(folder, default, q=default, other=pair)
    if len(rivals(pair)) > 1:
        folder.refused(4, "model.layers.0.other.weight", "does not name its module",
                       *(f"{bits} bits in groups of {size}" for bits, size in rivals(pair)))
        return
    folder.convert()
    check(folder, floats)


@pytest.mark.parametrize("old", rivals((4, 64))[:1] + rivals((4, 64))[2:])
def test_modules_that_replace_others_were_read_with_the_bits_of_the_whole_model(folder, old):
    """As embed_q of mlx_lm.fuse, whose config.json has kv_b_proj."""
    write(folder, (4, 64), {"self_attn.kv_b_proj": old}, **{"self_attn.embed_q": old})
    folder.refused(4, "tensor model.layers.0.self_attn.embed_q.weight",
                   "names model.layers.0.self_attn.kv_b_proj, which has no tensors",
                   "4 bits in groups of 64", f"{old[0]} bits in groups of {old[1]}",
                   '"model.layers.0.self_attn.embed_q": {"bits": ..., "group_size": ...}')


def test_an_object_of_the_module_decides(folder):
    floats = write(folder, (4, 64), {"kv_b_proj": (8, 32), "embed_q": (8, 32), "q": (4, 64)},
                   embed_q=(8, 32), q=(4, 64))
    folder.convert()
    check(folder, floats)


@pytest.mark.parametrize("named, warns", [
    ({}, False),
    ({"gate": (8, 64)}, False),  # has tensors of other shapes
    ({"gate": (8, 32)}, True),
])
def test_the_bits_of_the_whole_model_are_reported_where_those_of_another_module_fit(
        folder, named, warns):
    floats = write(folder, (4, 64), named, q=(4, 64), k=(4, 64), **named)
    error = folder.convert().stderr
    check(folder, floats)
    assert ("tensor model.layers.0.q.weight (and 1 more): config.json: quantization does not name"
            in error) == warns, error


def test_replaced_modules_of_other_layers_and_shapes_refuse_nothing(folder):
    floats = write(folder, (4, 64), {"old": (8, 64)}, q=(4, 64))
    folder.convert()
    check(folder, floats)


@pytest.mark.parametrize("mode, bits, group_size", [
    ("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)])
def test_the_mode_of_a_module_with_scales_of_bytes_follows_from_its_shapes(folder, mode, bits,
                                                                          group_size):
    one = {"nvfp4": 0x38}.get(mode, 127)
    codes = np.full((ROWS, COLUMNS * bits // 32), {4: 0x22222222, 8: 0x38383838}[bits], np.uint32)
    folder.config({"torch_dtype": "float32", "quantization": {"bits": 4, "group_size": 64}})
    folder.file({"w.weight": ("U32", codes),
                 "w.scales": ("U8", np.full((ROWS, COLUMNS // group_size), one, np.uint8))})
    folder.convert()
    got = tensors(folder.out)["w.weight"]
    assert got[1] == [ROWS, COLUMNS] and (got[2].view("<f4") == 1).all()


@pytest.mark.parametrize("packing", ["mlx", "auto_round:mlx"])
def test_tensors_of_mlx_that_autoround_stores_were_refused(folder, packing):
    """quantization_config has the bits of the whole model alone."""
    floats = write(folder, (4, 64), {"k": (8, 32)}, q=(4, 64), k=(8, 32))
    folder.config({"torch_dtype": "float32", "quantization": {
        "bits": 4, "group_size": 64, "model.layers.0.k": {"bits": 8, "group_size": 32},
        "model.layers.0.q": {"bits": 4, "group_size": 64}, "lm_head": False},
        "quantization_config": {"quant_method": "auto-round", "packing_format": packing, "bits": 4,
                                "group_size": 64, "sym": True, "data_type": "int"}})
    folder.convert()
    check(folder, floats)

"""--names hf: factors of tensors, which llama.cpp multiplies the product with a tensor by, whatever
its type."""
import numpy as np
import pytest
from safetensors.numpy import load_file

from gguf_support import dequantized, quantized, write
from support import dequant

UP = "blk.0.ffn_up_exps"
EXPERT = "model.layers.0.mlp.experts.{}.up_proj.weight"


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def stack(rng, experts=3):
    """Blocks of NVFP4 and their floats, an expert a matrix."""
    blocks = rng.integers(0, 256, (experts, 4, 36)).astype(np.uint8)
    return blocks, dequantized("NVFP4", [experts, 4, 64], blocks)


def convert(tmp_path, kind, made, code=0):
    source = write(tmp_path / "m.gguf", made, arch=kind)
    done = dequant("convert", source, "-o", tmp_path / "out", "--names", "hf", code=code)
    if code:
        assert not (tmp_path / "out").exists()
        return done.stderr
    dequant("verify", source, tmp_path / "out", "--names", "hf")
    return load_file(tmp_path / "out" / "model.safetensors")


@pytest.mark.parametrize("factors", [[0.3], [0.3, -2, 7]])
def test_one_factor_of_a_stack_was_that_of_its_first_expert(tmp_path, rng, factors):
    blocks, floats = stack(rng)
    found = convert(tmp_path, "qwen2moe", {
        f"{UP}.weight": ("NVFP4", blocks), f"{UP}.scale": np.array(factors, np.float32),
        f"{UP}.input_scale": np.array([2.5], np.float32)})
    assert set(found) == {EXPERT.format(e) for e in range(3)}
    for expert, factor in enumerate(np.resize(np.float32(factors), 3)):
        assert found[EXPERT.format(expert)].tobytes() == (floats[expert] * factor).tobytes()


def test_one_expert_has_one_factor(tmp_path, rng):
    blocks, floats = stack(rng, 1)
    found = convert(tmp_path, "qwen2moe", {f"{UP}.weight": ("NVFP4", blocks),
                                           f"{UP}.scale": np.array([0.3], np.float32)})
    assert found[EXPERT.format(0)].tobytes() == (floats[0] * np.float32(0.3)).tobytes()


def test_six_factors_of_three_experts_were_taken(tmp_path, rng):
    for numbers, text in ((np.ones(6, np.float32), "6 numbers of type F32"),
                          (np.ones(3, np.float16), "3 numbers of type F16")):
        error = convert(tmp_path, "qwen2moe", {f"{UP}.weight": ("NVFP4", stack(rng)[0]),
                                               f"{UP}.scale": numbers}, code=4)
        assert (f'tensor "{UP}.scale": names hf: it has {text}, neither one float32 nor one for '
                f'each of the 3 experts of "{UP}.weight"') in error


def test_factors_without_their_experts_are_refused(tmp_path):
    error = convert(tmp_path, "qwen2moe", {f"{UP}.scale": np.ones(3, np.float32)}, code=3)
    assert f'tensor "{UP}.scale": names hf: its tensor of experts is not there' in error


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_a_factor_beside_other_blocks_was_left_out_of_their_floats(tmp_path, rng, kind):
    made = {f"blk.0.attn_v.{last}": values for last, values in {
        "weight": quantized(kind, rng.normal(size=(5, 64))),
        "scale": np.array([0.3], np.float32), "input_scale": np.array([3], np.float32)}.items()}
    floats = dequantized(kind, [5, 64], made["blk.0.attn_v.weight"][1])
    found = convert(tmp_path, "qwen2", made)
    name = "model.layers.0.self_attn.v_proj.weight"
    assert set(found) == {name}
    assert found[name].tobytes() == (floats * np.float32(0.3)).tobytes()


def test_a_factor_of_plain_numbers_was_copied_beside_them(tmp_path, rng):
    halves = rng.normal(size=(5, 64)).astype(np.float16)
    error = convert(tmp_path, "qwen2", {"blk.0.attn_v.weight": halves,
                                        "blk.0.attn_v.scale": np.ones(1, np.float32)}, code=4)
    assert ('"model.layers.0.self_attn.v_proj.scale": names hf: it is a factor, and '
            '"model.layers.0.self_attn.v_proj.weight", which it multiplies, is no tensor of '
            "blocks") in error

"""A Clip of codes between QuantizeLinear and DequantizeLinear, as torch exports models of
quantization-aware training with fewer codes than the type has: activations of 0 to 127 in uint8,
weights of -127 to 127 in int8."""

import itertools
import json

import numpy as np
import pytest
from onnx import TensorProto, helper

from arithmetic import codes, floats
from support import (SCALE, convert, dequant, dq, model, node, op_types, q, reasons, save, session,
                     value)
from test_strip_clip import limits

ZERO = codes("uint8", 0)
INPUT = np.array([[-90, -1, 0], [1, 60, 3]], "f4")
CLIP = node("Clip", "aq least most", "ac", "clip")
CLIP_ABOVE = node("Clip", "aq - most", "ac", "clip")
CLIP_BELOW = node("Clip", "aq least", "ac", "clip")
LIMITS = {"least": codes("uint8", 10), "most": codes("uint8", 127)}


def pair(folder, clips, *, zero=ZERO, more=LIMITS, codes_of="ac", scale=SCALE, options=(),
         before=(node("Neg", "in", "a"),), after=(node("Identity", "b", "out"),), opset=21,
         outputs=("out",)):
    """in -> a -> QuantizeLinear -> the nodes `clips` -> DequantizeLinear -> b -> out, converted."""
    nodes = [*before, q("a s z", "aq"), *clips, dq(f"{codes_of} s z", "b"), *after]
    tensors = [scale.tensor("s"), zero.tensor("z")]
    tensors += [what.tensor(name) for name, what in more.items() if hasattr(what, "tensor")]
    proto = model(nodes, ["in", *(v for v in more.values() if not hasattr(v, "tensor"))], outputs,
                  tensors, opset=opset)
    return convert(save(proto, folder / "in.onnx"), "--strip-qdq", *options)


def assert_same_but_for_rounding(folder):
    before, after = (session(folder / name).run(None, {"in": INPUT})
                     for name in ("in.onnx", "out.onnx"))
    for x, y in zip(before, after, strict=True):
        np.testing.assert_allclose(y, x, atol=SCALE.values() / 2 + 1e-6)


# Activations.

def in_floats(code, zero=0):
    return np.float32((code - zero) * np.float32(SCALE.values()))


@pytest.mark.parametrize("clip, low, high", [
    (CLIP, 10, 127), (CLIP_ABOVE, 0, 127), (CLIP_BELOW, 10, 255),
    (node("Clip", "aq", "ac"), 0, 255), (node("Clip", "aq most least", "ac"), 10, 10)])
@pytest.mark.parametrize("zero", [0, 100])
def test_pair_with_a_clip_of_codes_stayed(clip, low, high, zero, tmp_path):
    """Its range is that of the codes that the Clip lets through. Where the lower limit is greater,
    the upper one wins."""
    stripped, report = pair(tmp_path, [clip], zero=codes("uint8", zero))
    assert report["left"] == []
    assert limits(stripped) == {"min": in_floats(low, zero), "max": in_floats(high, zero)}
    assert [t for t in op_types(stripped) if t != "Constant"] == ["Neg", "Clip", "Identity"]
    assert_same_but_for_rounding(tmp_path)


@pytest.mark.parametrize("clip", ["needed", "always", "never"])
def test_clip_option_counts_for_a_pair_with_a_clip_of_codes(clip, tmp_path):
    more = LIMITS | {"low": floats(4), "high": floats(30)}
    stripped, report = pair(tmp_path, [CLIP], options=["--clip", clip], more=more,
                            before=[node("Clip", "in low high", "a")])
    assert report["left"] == []
    assert op_types(stripped).count("Clip") == (2 if clip == "always" else 1)


def test_several_clips_of_codes_take_effect_in_their_order(tmp_path):
    more = LIMITS | {"high": codes("uint8", 200)}
    clips = [node("Clip", "aq least most", "c1"), node("Identity", "c1", "c2"),
             node("Cast", "c2", "c3", to=TensorProto.UINT8), node("Clip", "c3 high", "ac")]
    stripped, report = pair(tmp_path, clips, more=more)
    assert report["left"] == []
    assert limits(stripped) == {"min": in_floats(200), "max": in_floats(200)}


def test_range_of_the_codes_with_a_negative_scale(tmp_path):
    stripped, _ = pair(tmp_path, [CLIP], scale=floats(-0.5))
    assert limits(stripped) == {"min": -63.5, "max": -5}


def test_readers_of_clipped_and_of_all_codes_have_their_own_clips(tmp_path):
    """They would have shared that of the first."""
    after = [dq("aq s z", "c", "dq2"), dq("ac s z", "d", "dq3"), node("Add", "b c", "e"),
             node("Add", "e d", "out")]
    stripped, report = pair(tmp_path, [CLIP], after=after)
    assert report["left"] == []
    assert [t for t in op_types(stripped) if t != "Constant"] == \
        ["Neg", "Clip", "Clip", "Add", "Add"]
    assert_same_but_for_rounding(tmp_path)


def test_clip_of_codes_that_others_read_stays_with_its_quantizer(tmp_path):
    after = [node("Identity", "b", "out"), node("Cast", "ac", "other", to=TensorProto.FLOAT)]
    stripped, report = pair(tmp_path, [CLIP], after=after, outputs=["out", "other"])
    assert reasons(report) == {"q": "its output is used as it is, quantized"}
    assert op_types(stripped).count("Clip") == 2
    assert_same_but_for_rounding(tmp_path)


@pytest.mark.parametrize("more", [
    LIMITS | {"most": value("most", "uint8", [])},  # an input of the model
    LIMITS | {"most": codes("uint8", [127, 127])},
    LIMITS | {"most": codes("int8", 127)}])
def test_pair_with_other_limits_stays(more, tmp_path):
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"), CLIP, dq("ac s z", "out")]
    given = [v for v in more.values() if not hasattr(v, "tensor")]
    tensors = [what.tensor(n) for n, what in more.items() if hasattr(what, "tensor")]
    proto = model(nodes, ["in", *given], ["out"],
                  [SCALE.tensor("s"), ZERO.tensor("z"), *tensors])
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "out.onnx", "--strip-qdq",
                                "--json").stdout)
    assert reasons(report)["dq"] == "ac is computed by Clip"
    assert reasons(report)["q"] == "dq, which dequantizes it, stays: ac is computed by Clip"
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_numbers_computed_from_constants_keep_the_clip_of_codes(tmp_path):
    """A pair of codes that are quantized already goes without a trace, but not its limits."""
    nodes = [dq("w s z", "d", "dq_w"), node("Tile", "d times", "a"), q("a s z", "aq"), CLIP,
             dq("ac s z", "b"), node("Add", "b in", "out")]
    tensors = [SCALE.tensor("s"), ZERO.tensor("z"), *(c.tensor(n) for n, c in LIMITS.items()),
               codes("uint8", [[1, 200, 20], [30, 40, 50]]).tensor("w"),
               helper.make_tensor("times", TensorProto.INT64, [2], [1, 1])]
    source = save(model(nodes, ["in"], ["out"], tensors), tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq")
    assert reasons(report)["dq"] == "a is computed from constants, and quantized would be others"
    assert_same_but_for_rounding(tmp_path)


# Verification.

@pytest.mark.parametrize("option", ["needed", "always"])
@pytest.mark.parametrize("zero", [codes("uint8", 0), codes("uint8", 50)])
def test_bounds_of_a_pair_with_a_clip_of_codes_are_those_of_its_codes(option, zero, tmp_path):
    pair(tmp_path, [CLIP], zero=zero, options=["--clip", option])
    found = json.loads(dequant("verify", tmp_path / "in.onnx", tmp_path / "out.onnx",
                               "--json").stdout)
    assert found["good"] and found["totals"]["compared"] == 2


def test_bounds_of_codes_without_a_zero_point_have_the_type_of_the_quantizer(tmp_path):
    """They were taken for codes of uint8."""
    nodes = [node("Neg", "in", "a"), q("a s", "aq", output_dtype=TensorProto.INT8),
             dq("aq s", "b"), node("Identity", "b", "out")]
    source = save(model(nodes, ["in"], ["out"], [SCALE.tensor("s")]), tmp_path / "in.onnx")
    stripped, _ = convert(source, "--strip-qdq")
    assert limits(stripped)["min"] == in_floats(-128)
    dequant("verify", source, tmp_path / "out.onnx")


# As torch exports it.

def test_models_of_quantization_aware_training_of_torch_become_float(tmp_path):
    """All pairs of activations stayed, and weights with a Clip did not fold."""
    rng = np.random.default_rng(3)
    weight = floats(rng.normal(size=[3, 3]) * 5)
    nodes = [q("weight ws wz", "wq", "q_w"), node("Clip", "wq wl wh", "wc"),
             dq("wc ws wz", "w", "dq_w"), node("MatMul", "in w", "m"), q("m s z", "mq", "q_m"),
             node("Constant", "", "top", value=codes("uint8", 127).tensor("t")),
             node("Clip", "mq - top", "mc"), dq("mc s z", "n", "dq_m"), node("Relu", "n", "out")]
    tensors = [weight.tensor("weight"), floats(0.1).tensor("ws"), codes("int8", 0).tensor("wz"),
               codes("int8", -127).tensor("wl"), codes("int8", 127).tensor("wh"),
               SCALE.tensor("s"), codes("uint8", 60).tensor("z")]
    source = save(model(nodes, ["in"], ["out"], tensors, opset=17, ir_version=8),
                  tmp_path / "in.onnx")
    folded, _ = convert(source, to="folded.onnx")
    assert op_types(folded) == ["MatMul", *op_types(folded)[1:]]
    stripped, report = convert(source, "--strip-qdq", "--require-float")
    assert report["left"] == []
    assert [t for t in op_types(stripped) if t != "Constant"] == ["MatMul", "Clip", "Relu"]
    assert_same_but_for_rounding(tmp_path)
    before, after = (session(tmp_path / name).run(None, {"in": INPUT})[0]
                     for name in ("in.onnx", "folded.onnx"))
    np.testing.assert_array_equal(before, after)
    assert json.loads(dequant("verify", source, tmp_path / "out.onnx", "--json").stdout)["good"]


def test_random_chains_of_clips_compute_what_the_pair_did(tmp_path):
    rng = np.random.default_rng(11)
    for i, count in itertools.product(range(6), (1, 2, 3)):
        folder = tmp_path / f"{i}_{count}"
        folder.mkdir()
        names, more, clips = ["aq"], {}, []
        for k in range(count):
            more |= {f"l{k}": codes("uint8", rng.integers(0, 256)),
                     f"h{k}": codes("uint8", rng.integers(0, 256))}
            low, high = (n if rng.random() < 0.8 else "-" for n in (f"l{k}", f"h{k}"))
            names.append(f"c{k}")
            clips.append(node("Clip", f"{names[-2]} {low} {high}", names[-1]))
        _, report = pair(folder, clips, more=more, codes_of=names[-1], zero=codes("uint8", 100))
        assert report["left"] == []
        assert_same_but_for_rounding(folder)

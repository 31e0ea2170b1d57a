"""`dequant convert --strip-qdq` writes every node behind those that it reads."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from arithmetic import codes, floats
from support import SCALE, convert, dq, model, node, op_types, q, save, session, value

ZERO = codes("uint8", 100)
TENSORS = [SCALE.tensor("s"), ZERO.tensor("z")]
INPUT = np.array([[-90, -1, 0], [1, 60, 3]], "f4")


def outputs_of(folder, proto, *options):
    """The converted model, which onnx.checker has seen, and the outputs of both models by ONNX's
    reference evaluator, which takes the nodes in their order."""
    converted, _ = convert(save(proto, folder / "in.onnx"), "--strip-qdq", *options)
    feeds = {i.name: INPUT for i in converted.graph.input}
    before = ReferenceEvaluator(proto).run(None, {
        i.name: INPUT if i.type.tensor_type.elem_type == 1 else quantized(INPUT)
        for i in proto.graph.input})
    return converted, before, ReferenceEvaluator(converted).run(None, feeds)


def quantized(x):
    return np.clip(np.rint(x / SCALE.values()) + 100, 0, 255).astype(np.uint8)


def floats_of(array):
    if array.dtype != np.uint8:
        return array
    return (array.astype("f4") - np.float32(100)) * np.float32(SCALE.values())


def assert_close(before, after):
    for x, y in zip(before, after, strict=True):
        np.testing.assert_allclose(y, floats_of(x), atol=SCALE.values() / 2 + 1e-5)


def test_clip_of_an_output_that_is_also_dequantized_stood_behind_its_reader(tmp_path):
    """The Identity of the output came first, and read the Clip of the DequantizeLinear."""
    proto = model([q("in s z", "codes"), dq("codes s z", "d"), node("Neg", "d", "y")], ["in"],
                  [value("codes", "uint8"), "y"], TENSORS)
    converted, before, after = outputs_of(tmp_path, proto)
    assert [t for t in op_types(converted) if t != "Constant"] == ["Clip", "Clip", "Neg"]
    assert_close(before, after)


def test_clip_of_an_input_is_the_one_of_the_first_reader_also_beside_operators(tmp_path):
    """The DequantizeLinear of an operator that is replaced is made after those of the file, also
    where it stands before them."""
    nodes = [node("QLinearSigmoid", "in s z s2 z2", "g", domain="com.microsoft"),
             dq("g s2 z2", "y", "dq_g"), node("Transpose", "in", "t", perm=[0, 1]),
             dq("in s z", "d"), dq("t s z", "d2", "dq_t"), node("Neg", "d", "y2"),
             node("Neg", "d2", "y3")]
    tensors = [*TENSORS, floats(1 / 256).tensor("s2"), codes("uint8", 0).tensor("z2")]
    proto = model(nodes, [value("in", "uint8")], ["y", "y2", "y3"], tensors, opset=17, ir_version=8,
                  domains=["com.microsoft"])
    converted, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert report["left"] == []
    known = {i.name for i in (*converted.graph.input, *converted.graph.initializer)}
    for n in converted.graph.node:
        assert known.issuperset(n.input), (n.op_type, n.input)
        known.update(n.output)
    before = session(tmp_path / "in.onnx").run(None, {"in": quantized(INPUT)})
    after = session(tmp_path / "out.onnx").run(None, {"in": floats_of(quantized(INPUT))})
    for x, y in zip(before, after, strict=True):
        np.testing.assert_allclose(y, x, atol=1 / 256)


OPERATORS = ["Neg", "Abs", "Identity of codes", "Add", "Transpose of codes"]


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_of_pairs_are_written_in_order(seed, tmp_path):
    rng = np.random.default_rng(seed)
    nodes, known, outputs = [q("in s z", "q0", "first")], ["q0"], []
    for i in range(1, rng.integers(3, 9)):
        source, operator = rng.choice(known), rng.choice(OPERATORS)
        if operator.endswith("of codes"):
            more = {"perm": [0, 1]} if operator.startswith("T") else {}
            nodes.append(node(operator.split()[0], source, f"q{i}", **more))
        else:
            names = [source, rng.choice(known)] if operator == "Add" else [source]
            for k, name in enumerate(names):
                nodes.append(dq(f"{name} s z", f"d{i}_{k}", f"dq{i}_{k}"))
            floating = " ".join(f"d{i}_{k}" for k in range(len(names)))
            nodes += [node(operator, floating, f"f{i}"), q(f"f{i} s z", f"q{i}", f"quantize{i}")]
        known.append(f"q{i}")
    for name in rng.permutation(known)[:3]:
        if rng.random() < 0.6:
            outputs.append(value(name, "uint8"))
        if rng.random() < 0.6:
            nodes.append(dq(f"{name} s z", f"y_{name}", f"last_{name}"))
            outputs.append(value(f"y_{name}"))
    nodes.append(dq(f"{known[-1]} s z", "y", "last"))
    proto = model(nodes, ["in"], [*outputs, "y"], TENSORS)
    _, before, after = outputs_of(tmp_path, proto)
    for x, y in zip(before, after, strict=True):
        steps = len(nodes) * SCALE.values()  # each pair rounds
        np.testing.assert_allclose(floats_of(y), floats_of(x), atol=steps)

"""Operators that read the same quantized weight, as layers with shared weights do, read one float
constant after `dequant convert`."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from support import convert, model, names, node, op_types, save, session, value

RNG = np.random.default_rng(3)
CODES = RNG.integers(0, 256, [24, 24]).astype("u1")


def constants(scale=0.02, name="w"):
    return [numpy_helper.from_array(CODES, f"{name}_quantized"),
            numpy_helper.from_array(np.float32(scale), f"{name}_scale"),
            numpy_helper.from_array(np.uint8(120), f"{name}_zero_point"),
            numpy_helper.from_array(np.float32(0.05), "s"),
            numpy_helper.from_array(np.uint8(128), "z")]


def layers(weights, opset=21):
    """A chain of QLinearMatMul with these weights."""
    nodes = [node("QuantizeLinear", "x s z", "h0", "q")]
    for i, w in enumerate(weights):
        nodes.append(node("QLinearMatMul", f"h{i} s z w_quantized {w}_scale w_zero_point s z",
                          f"h{i + 1}", f"layer{i}"))
    nodes.append(node("DequantizeLinear", f"h{len(weights)} s z", "y", "dq"))
    return model(nodes, [value("x", shape=["n", 24])], [value("y", shape=["n", 24])], constants(),
                 opset=opset)


def run(path):
    return session(path).run(None, {"x": np.random.default_rng(1).normal(size=[4, 24]).astype(
        "f4")})[0]


@pytest.mark.parametrize("opset", [10, 21])
def test_layers_with_shared_weights_read_one_constant(opset, tmp_path):
    source = save(layers("www", opset), tmp_path / "in.onnx")
    plain, report = convert(source, "--strip-qdq", "--clip", "never")
    assert names(plain) == ["w"] and report["left"] == []
    products = [n for n in plain.graph.node if n.op_type == "MatMul"]
    assert [n.input[1] for n in products] == ["w"] * 3
    assert report["totals"]["folded"] == len(report["folded"]) == 1
    dense = (CODES.astype("f4") - 120) * np.float32(0.02)
    assert numpy_helper.to_array(plain.graph.initializer[0]).tobytes() == dense.tobytes()


def test_equal_codes_with_other_scales_are_other_constants(tmp_path):
    proto = layers("wvw")
    proto.graph.initializer.append(numpy_helper.from_array(np.float32(0.03), "v_scale"))
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    first, second, third = (n.input[1] for n in plain.graph.node if n.op_type == "MatMul")
    assert first == third != second and len(names(plain)) == len(report["folded"]) == 2


def test_constant_of_another_type_is_shared_with_its_cast(tmp_path):
    source = save(layers("www"), tmp_path / "in.onnx")
    plain, _ = convert(source, "--strip-qdq", "--clip", "never", "--dtype", "float16")
    assert op_types(plain).count("Cast") == 1 and len(names(plain)) == 1
    assert run(tmp_path / "out.onnx").shape == (4, 24)


def test_function_shares_constants_within_itself(tmp_path):
    body = [node("Constant", "", t.name, value=t) for t in constants()]
    body += list(layers("ww").graph.node)
    function = helper.make_function("own", "layer", ["x"], ["y"], body,
                                    [helper.make_opsetid("", 21)])
    nodes = [node("layer", "x", "h", "one", "own"), node("layer", "h", "y", "two", "own")]
    proto = model(nodes, [value("x", shape=["n", 24])], [value("y", shape=["n", 24])],
                  functions=[function], domains=["own"])
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    assert [n.op_type for n in plain.functions[0].node] == ["Constant", "MatMul", "MatMul",
                                                            "Identity"]
    assert report["left"] == [] and run(tmp_path / "out.onnx").shape == (4, 24)


def test_branches_have_constants_of_their_own(tmp_path):
    """A constant of one branch is not seen in the other."""
    def branch(name):
        nodes = [node("QuantizeLinear", "x s z", f"{name}q"),
                 node("QLinearMatMul", f"{name}q s z w_quantized w_scale w_zero_point s z",
                      f"{name}p", f"{name}_layer"),
                 node("DequantizeLinear", f"{name}p s z", name)]
        return helper.make_graph(nodes, name, [], [value(name, shape=["n", 24])])
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    proto = model([node("If", "flag", "y", then_branch=branch("a"), else_branch=branch("b"))],
                  [flag, value("x", shape=["n", 24])], [value("y", shape=["n", 24])], constants())
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    assert report["left"] == [] and len(report["folded"]) == 2
    for choice in (True, False):
        assert session(tmp_path / "out.onnx").run(None, {
            "flag": np.array(choice), "x": np.ones([4, 24], "f4")})[0].shape == (4, 24)


def test_weights_of_matmul_nbits_are_shared(tmp_path):
    b = RNG.integers(0, 256, [32, 1, 16]).astype("u1")
    tensors = [numpy_helper.from_array(b, "b"),
               numpy_helper.from_array(RNG.normal(size=32).astype("f4"), "s")]
    nodes = [node("MatMulNBits", "x b s", "h", "one", "com.microsoft", K=32, N=32, bits=4,
                  block_size=32),
             node("MatMulNBits", "h b s", "y", "two", "com.microsoft", K=32, N=32, bits=4,
                  block_size=32)]
    proto = model(nodes, [value("x", shape=["n", 32])], [value("y", shape=["n", 32])], tensors,
                  domains=["com.microsoft"])
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source)
    assert op_types(plain) == ["MatMul", "MatMul"] and len(names(plain)) == 1
    assert report["left"] == []
    given = {"x": np.random.default_rng(1).normal(size=[4, 32]).astype("f4")}
    [before], [after] = (session(p).run(None, given) for p in (source, tmp_path / "out.onnx"))
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3)


def test_nodes_of_the_file_keep_their_constants(tmp_path):
    """Two DequantizeLinear nodes of the file stay two constants: their outputs are names of it."""
    nodes = [node("DequantizeLinear", "w_quantized w_scale w_zero_point", f"d{i}") for i in "12"]
    nodes += [node("MatMul", "x d1", "h"), node("MatMul", "h d2", "y")]
    proto = model(nodes, [value("x", shape=["n", 24])], [value("y", shape=["n", 24])],
                  constants()[:3])
    plain, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert names(plain) == ["d1", "d2"]

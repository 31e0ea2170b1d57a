"""ONNX Runtime's default optimizer quantizes float weights between activation pairs again: a
converted model that it does this to comes with a warning, and no other."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from arithmetic import codes, floats
from support import convert, dq, model, node, op_types, q, save, value

RNG = np.random.default_rng(7)
ANY = ["d0", "d1", "d2", "d3"]


def network(op="Conv", weight=(4, 3, 3, 3), bias=(4,), shape=(1, 3, 8, 8), after=(), **attributes):
    """in -> pair -> the operator -> `after` -> pair -> out, with an int8 weight and a float
    bias."""
    steps = list(after)
    last = steps[-1].output[0] if steps else "c"
    nodes = [dq("wq s z", "w", "dq_w"), q("in s z", "iq"), dq("iq s z", "x"),
             node(op, "x w b" if bias else "x w", "c", **attributes), *steps,
             q(f"{last} s z", "oq", "q2"), dq("oq s z", "out", "dq2")]
    tensors = [codes("int8", RNG.integers(-128, 128, weight)).tensor("wq"),
               floats(0.02).tensor("s"),
               codes("int8", 0).tensor("z")]
    if bias:
        tensors.append(numpy_helper.from_array(RNG.normal(size=bias).astype("f4"), "b"))
    return model(nodes, [value("in", shape=shape)], [value("out", shape=ANY[:len(shape)])], tensors)


def also_an_output(proto, name):
    rank = 4 if len(proto.graph.input[0].type.tensor_type.shape.dim) == 4 else 2
    proto.graph.output.append(value(name, shape=[f"{name}{i}" for i in range(rank)]))
    return proto


def also_read(proto, name):
    proto.graph.node.append(node("Neg", name, "other"))
    return also_an_output(proto, "other")


def weight_without_bias():
    return network(bias=())


def requantized(path, disabled=()):
    """How many constants ONNX Runtime's basic optimizations turn to int8 and int32."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path) + ".optimized"
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"],
                                 disabled_optimizers=list(disabled))
    optimized = onnx.load(options.optimized_model_filepath)
    before = {t.name for t in onnx.load(path).graph.initializer}
    return sum(t.data_type in (TensorProto.INT8, TensorProto.INT32) and t.name not in before
               and "zp" not in t.name for t in optimized.graph.initializer)


def relu(source="c", output="r"):
    return node("Relu", source, output)


NETWORKS = {
    "Conv": lambda: network(),
    "Conv without bias": weight_without_bias,
    "Conv, Relu": lambda: network(after=[relu()]),
    "Conv, Clip": lambda: network(after=[node("Clip", "c", "r")]),
    "Conv, Sigmoid": lambda: network(after=[node("Sigmoid", "c", "r")]),
    "Conv, Relu, Relu": lambda: network(after=[relu(), relu("r", "t")]),
    "Conv, Relu, Clip": lambda: network(after=[relu(), node("Clip", "r", "t")]),
    "Conv that another reads": lambda: also_read(network(), "c"),
    "Conv, Relu that another reads": lambda: also_read(network(after=[relu()]), "r"),
    "Conv that is an output": lambda: also_an_output(network(), "c"),
    "weight that another reads": lambda: also_read(network(), "w"),
    "ConvTranspose": lambda: network("ConvTranspose", (3, 4, 3, 3)),
    "Gemm": lambda: network("Gemm", (8, 4), (4,), (2, 8)),
    "Gemm with a matrix": lambda: network("Gemm", (8, 4), (1, 4), (2, 8)),
    "MatMul": lambda: network("MatMul", (8, 4), (), (2, 8)),
}


def warnings_of(report):
    return [w for w in report["warnings"] if "WeightBiasQuantization" in w]


@pytest.mark.parametrize("name", NETWORKS)
def test_warning_counts_what_onnx_runtime_quantizes(name, tmp_path):
    """One model lost 13 dB, where it was exact without optimizations, and nobody said so."""
    _, report = convert(save(NETWORKS[name](), tmp_path / "in.onnx"))
    count = requantized(tmp_path / "out.onnx")
    found = warnings_of(report)
    assert len(found) == (count > 0)
    if count:
        assert f"quantizes {count} float constant" in found[0]
    assert requantized(tmp_path / "out.onnx", ["WeightBiasQuantization"]) == 0


def test_stripped_model_has_no_such_weights(tmp_path):
    _, report = convert(save(network(), tmp_path / "in.onnx"), "--strip-qdq")
    assert warnings_of(report) == []
    assert requantized(tmp_path / "out.onnx") == 0


def test_weights_that_stay_quantized_are_none(tmp_path):
    _, report = convert(save(weight_without_bias(), tmp_path / "in.onnx"), "--exclude", "dq_w")
    assert warnings_of(report) == []


# Imports of operator sets.

CONTRIBUTED = dict(domain="com.microsoft")


def imports(proto):
    return [i.domain for i in proto.opset_import]


def contributed(*nodes, **more):
    body = [q("a s z", "aq", **CONTRIBUTED), dq("aq s z", "b", **CONTRIBUTED),
            node("Neg", "b", "out"), *nodes]
    return model([node("Relu", "in", "a"), *body], ["in"], ["out"],
                 [floats(0.5).tensor("s"), codes("uint8", 0).tensor("z")],
                 domains=["com.microsoft", "unused"], **more)


def test_import_goes_with_the_last_node_of_its_domain(tmp_path):
    """It stayed. What nothing used before stays."""
    stripped, _ = convert(save(contributed(), tmp_path / "in.onnx"), "--strip-qdq")
    assert op_types(stripped) == ["Relu", "Neg"]
    assert imports(stripped) == ["", "unused"]
    onnxruntime.InferenceSession(str(tmp_path / "out.onnx"))


def test_import_of_what_is_left_stays(tmp_path):
    stripped, \
        _ = convert(save(contributed(node("Gelu", "b", "g", **CONTRIBUTED)), tmp_path / "in.onnx"),
                    "--strip-qdq")
    assert imports(stripped) == ["", "com.microsoft", "unused"]


def test_import_of_a_body_stays_and_that_of_a_function_goes(tmp_path):
    nodes = [node("Constant", "", "s", value=floats(0.5).tensor("s")),
             node("Constant", "", "z", value=codes("uint8", 0).tensor("z")), relu("in", "a"),
             q("a s z", "aq", **CONTRIBUTED), dq("aq s z", "b", **CONTRIBUTED),
             node("Neg", "b", "out")]
    body = helper.make_function("local", "Call", ["in"], ["out"], nodes,
                                [helper.make_opsetid("", 21),
                                 helper.make_opsetid("com.microsoft", 1)])
    call = node("Call", "in", "out", domain="local")
    proto = model([call], ["in"], ["out"], functions=[body], domains=["local", "com.microsoft"])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert (imports(stripped), imports(stripped.functions[0])) == (["", "local"], [""])


def test_import_of_folded_nodes_goes(tmp_path):
    proto = model([dq("x s z", "y", **CONTRIBUTED)], initializers=[
        codes("int8", [[1, 2, 3], [4, 5, 6]]).tensor("x"), floats(0.5).tensor("s"),
        codes("int8", 0).tensor("z")],
        domains=["com.microsoft"])
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert imports(converted) == [""]

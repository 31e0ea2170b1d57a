"""`dequant convert` of models that import an operator set twice: the last version counts, as in
ONNX Runtime and, for one spelling of the domain, in onnx.checker."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from support import convert, dequant, dq, model, names, node, save, session, value

TWICE = [(("", 12), ("", 13)), (("", 13), ("", 12)), (("", 12), ("", 13), ("", 12)),
         (("", 12), ("ai.onnx", 13)), (("ai.onnx", 13), ("", 12)), (("ai.onnx", 12), ("", 13))]


def importing(proto, imports):
    del proto.opset_import[:]
    for domain, version in imports:
        proto.opset_import.add(domain=domain, version=version)
    return proto


@pytest.mark.parametrize("imports", TWICE)
def test_the_last_version_counts_in_onnx_runtime(imports):
    """Softmax normalizes the last axis since version 13, before that all behind the first."""
    shape = [2, 3, 4]
    proto = model([node("Softmax", "x", "y")], [value("x", shape=shape)], [value("y", shape=shape)],
                  ir_version=8)
    run = onnxruntime.InferenceSession(importing(proto, imports).SerializeToString(),
                                       providers=["CPUExecutionProvider"])
    [y] = run.run(None, {"x": np.random.default_rng(1).normal(size=shape).astype("f4")})
    axes = -1 if imports[-1][1] == 13 else (1, 2)
    np.testing.assert_allclose(y.sum(axis=axes), 1, rtol=1e-5)


@pytest.mark.parametrize("versions", [(13, 14), (14, 13), (13, 14, 13)])
def test_the_last_version_counts_in_the_checker_of_onnx(versions):
    """HardSwish exists since version 14."""
    proto = importing(model([node("HardSwish", "x", "y")], ["x"], ir_version=8),
                      [("", v) for v in versions])
    if versions[-1] == 14:
        onnx.checker.check_model(proto)
    else:
        with pytest.raises(onnx.checker.ValidationError, match="HardSwish"):
            onnx.checker.check_model(proto)


def half(imports):
    """A weight with a float16 scale, which opset 13 does not have and opset 19 has."""
    return importing(model([dq("w s", "y")], [], [value("y", "float16", [3])],
                           [helper.make_tensor("w", TensorProto.INT8, [3], [1, 2, 3]),
                            helper.make_tensor("s", TensorProto.FLOAT16, [], [0.5])], ir_version=9),
                     imports)


def test_a_model_that_imports_a_set_twice_was_refused(tmp_path):
    source = save(half([("", 13), ("", 19)]), tmp_path / "in.onnx")
    proto, report = convert(source)
    assert names(proto) == ["y"]
    for path in (source, tmp_path / "out.onnx"):
        assert session(path).run(None, {})[0].tolist() == [0.5, 1, 1.5]
    assert report["warnings"] == \
        ['opset_import: ai.onnx twice, versions 13 and 19: the last counts']
    assert proto.opset_import == onnx.load(source).opset_import


def test_the_other_order_has_the_other_meaning(tmp_path):
    source = save(half([("", 19), ("ai.onnx", 13)]), tmp_path / "in.onnx")
    with pytest.raises(Exception, match="float16"):
        session(source)
    proto, report = convert(source)
    assert "y" not in names(proto) and [n["node"] for n in report["left"]] != []
    assert report["warnings"] == \
        ['opset_import: ai.onnx twice, versions 19 and 13: the last counts']


def test_a_function_that_imports_a_set_twice_was_refused(tmp_path):
    weight = helper.make_node("Constant", [], ["w"],
                              value=helper.make_tensor("", TensorProto.INT8, [3], [1, 2, 3]))
    scale = helper.make_node("Constant", [], ["s"],
                             value=helper.make_tensor("", TensorProto.FLOAT16, [], [0.5]))
    body = helper.make_function("f", "F", [], ["o"], [weight, scale, dq("w s", "o")],
                                [helper.make_opsetid("", 13)])
    body.opset_import.add(domain="", version=19)
    proto = model([node("F", "", "y", domain="f")], [], [value("y", "float16", [3])], opset=19,
                  ir_version=9, functions=[body], domains=["f"])
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source)
    assert report["totals"]["folded"] == 1
    assert report["warnings"] == \
        ['opset_import: ai.onnx twice, versions 13 and 19: the last counts']
    assert session(tmp_path / "out.onnx").run(None, {})[0].tolist() == \
        session(source).run(None, {})[0].tolist()


def test_70000_imports_are_few_warnings(tmp_path):
    source = save(importing(half([("", 19)]), [("", 13 + i % 7) for i in range(70_000)]),
                  tmp_path / "in.onnx")
    lines = dequant("convert", source, "-o", tmp_path / "out.onnx", "-q").stderr.splitlines()
    assert len(lines) == 101 and lines[-1] == "dequant: warning: 69899 more warnings like these"

"""`dequant inspect` tells what the quantized tensors of a model hold; the keys of its JSON are
stable."""

import json

import numpy as np
import onnx
import pytest
from onnx import helper

from arithmetic import codes, floats
from support import EXAMPLES, TENSORS, dequant, dq, linear, model, node, q, save, value

NODE = ["node", "op_type", "domain", "graph", "output", "x", "constant", "reason"]
CONSTANT = ["type", "scale_type", "output_type", "shape", "granularity", "granularity_text", "axis",
            "block_size", "scale_count", "scale", "tensor_scale", "zero_point", "values", "bytes",
            "float_bytes"]

COMPUTED = ["type", "scale_type", "scale_count", "scale", "zero_point", "covered"]


def inspect(source, *options):
    return json.loads(dequant("inspect", source, "--json", *options).stdout)


def test_report_has_exactly_these_keys(tmp_path):
    proto = model([dq(), dq("in scale", "v", "open")], [value("in", "int8")], ["y", "v"],
                  [*TENSORS, codes("int4", [1, 2, 3]).tensor("lonely")])
    report = inspect(save(proto, tmp_path / "in.onnx"))
    assert list(report) == ["ir_version", "opset", "opsets", "nodes", "other_constants", "totals"]
    assert [list(n) for n in report["nodes"]] == [NODE + CONSTANT, NODE + COMPUTED]
    assert list(report["nodes"][0]["scale"]) == ["min", "max", "nan"]
    assert [list(o) for o in report["other_constants"]] == \
        [["name", "type", "shape", "bytes", "graph", "read_by"]]
    assert list(report["totals"]) == ["nodes", "constant", "elements", "bytes", "float_bytes"]


def test_report_tells_what_a_node_holds(tmp_path):
    x = codes("int4", [[-8, 7, 1, 2, 3], [0, 0, 0, 0, 0]])
    scale, zero = floats([[0.5, -2], [1, 1]], "float16"), codes("int4", [[1, 2], [3, -4]])
    report = inspect(linear(tmp_path, x, scale, zero, axis=-1, block_size=3))
    assert (report["ir_version"], report["opset"]) == (13, 25)
    assert report["nodes"] == [{
        "node": "dq", "op_type": "DequantizeLinear", "domain": "", "graph": "", "output": "y",
        "x": "x", "constant": True, "reason": "",
        "type": "int4", "scale_type": "float16", "output_type": "float16", "shape": [2, 5],
        "granularity": "blocked", "granularity_text": "blocked by 3 on axis 1", "axis": 1,
        "block_size": 3, "scale_count": 4, "scale": {"min": -2, "max": 1, "nan": 0},
        "tensor_scale": None, "zero_point": {"min": -4, "max": 3, "nan": 0},
        "values": {"min": -4.5, "max": 4, "nan": 0}, "bytes": 5 + 8 + 2, "float_bytes": 20}]
    assert report["totals"] == {"nodes": 1, "constant": 1, "elements": 10, "bytes": 15,
                                "float_bytes": 20}


def test_node_that_is_not_constant_comes_with_the_reason(tmp_path):
    proto = model([dq("in s", "v", "open")], [value("in", "int8"), value("s", shape=[])], ["v"])
    [found] = inspect(save(proto, tmp_path / "in.onnx"))["nodes"]
    assert found == {"node": "open", "op_type": "DequantizeLinear", "domain": "", "graph": "",
                     "output": "v", "x": "in", "constant": False,
                     "reason": "in is an input of the graph"}


@pytest.mark.parametrize("scales, expected", [
    ([np.inf, 1], {"min": 1, "max": "inf", "nan": 0}),
    ([-np.inf, 1], {"min": "-inf", "max": 1, "nan": 0}),
    ([np.nan, 1], {"min": 1, "max": 1, "nan": 1}),
    ([np.nan, np.nan], {"min": None, "max": None, "nan": 2})])
def test_infinities_and_nan_are_told(scales, expected, tmp_path):
    source = linear(tmp_path, codes("int8", [[1, 2], [3, 4]]), floats(scales), axis=0)
    [found] = inspect(source)["nodes"]
    assert found["scale"] == expected


def test_node_without_zero_point_has_none(tmp_path):
    [found] = inspect(linear(tmp_path, codes("int8", [1]), floats(1)))["nodes"]
    assert found["zero_point"] is None and found["axis"] is None


def test_empty_tensor_has_no_values(tmp_path):
    [found] = inspect(linear(tmp_path, codes("int8", np.zeros([0, 2])), floats(1)))["nodes"]
    assert found["values"] is None and found["shape"] == [0, 2]


def test_overridable_initializers_are_shown_with_their_value(tmp_path):
    proto = model([dq()], [value("x", "int8"), value("scale", shape=[])], initializers=TENSORS)
    [found] = inspect(save(proto, tmp_path / "in.onnx"))["nodes"]
    assert found["constant"] and found["scale"]["min"] == float(np.float32(0.3))


def test_codes_that_a_node_changes_were_other_constants(tmp_path):
    """A DequantizeLinear reads the transposed constant."""
    nodes = [node("Transpose", "x", "t", "turn"), dq("t scale", "y")]
    found = inspect(save(model(nodes, [], ["y"], TENSORS[:2]), tmp_path / "in.onnx"))
    assert [n["x"] for n in found["nodes"]] == ["t"]
    assert found["other_constants"] == []


def test_zero_points_and_large_types_are_no_other_constants(tmp_path):
    nodes = [q("in scale zero", "iq"), dq("iq scale zero", "out", "open")]
    others = [codes("int8", [1]).tensor("bytes"), codes("int32", [1]).tensor("integers"),
              floats(1).tensor("float")]
    proto = model(nodes, ["in"], ["out"], [*TENSORS[1:], *others])
    report = inspect(save(proto, tmp_path / "in.onnx"))
    assert report["other_constants"] == [{"name": "bytes", "type": "int8", "shape": [1],
                                          "bytes": 1, "graph": "", "read_by": []}]


def test_nodes_of_bodies_are_listed_with_their_graph(tmp_path):
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    both = {b: helper.make_graph([dq(outputs=b)], f"{b} graph", [], [value(b)])
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    report = inspect(save(model([choice], [flag], ["out"], TENSORS), tmp_path / "in.onnx"))
    assert [(n["graph"], n["output"]) for n in report["nodes"]] == [("else graph", "else"),
                                                                    ("then graph", "then")]


def test_model_of_another_domain_alone_has_no_opset(tmp_path):
    proto = model([dq(domain="com.microsoft")], initializers=TENSORS, domains=["com.microsoft"])
    del proto.opset_import[0]
    report = inspect(save(proto, tmp_path / "in.onnx"))
    assert report["opset"] is None and report["nodes"][0]["constant"]


@pytest.mark.parametrize("options", [["-T", "1"], ["-T", "3"], ["--mem", "1"]])
def test_threads_and_memory_change_nothing(options):
    source = EXAMPLES / "digits_qdq_int8.onnx"
    assert inspect(source, *options) == inspect(source)


def test_mobilenet_totals(shared):
    """Counts from the file's fact sheet: 182 nodes, 106 of constants with 3.49 million elements."""
    totals = inspect(shared / "models" / "maui_mobilenetv2_int8_qdq.onnx")["totals"]
    assert (totals["nodes"], totals["constant"]) == (182, 106)
    assert round(totals["elements"] / 1e6, 2) == 3.49
    assert totals["float_bytes"] == 4 * totals["elements"]


def test_text_names_nodes_types_and_reasons(tmp_path):
    proto = model([dq(), dq("in scale", "v", "open")], [value("in", "int8")], ["y", "v"],
                  [*TENSORS, codes("int4", [1, 2, 3]).tensor("lonely")])
    text = dequant("inspect", save(proto, tmp_path / "in.onnx")).stdout
    for word in ["int8 -> float32", "[2, 3]", "per tensor", "in is an input of the graph",
                 "lonely"]:
        assert word in text

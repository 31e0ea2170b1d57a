"""What `dequant convert` does not fold survives byte for byte: unknown fields and operators,
metadata, the order of everything. Messages are compared as bytes, not as what a library makes of
them."""

import struct

import onnx
import pytest
from onnx import TensorProto, helper

import wire
from support import TENSORS, assert_same_outputs, convert, dequant, dq, model, names, node, value

UNKNOWN = (wire.field(1999, "from a later version") + wire.field(2001, 1 << 60)
           + wire.varint(2002 << 3 | 5) + struct.pack("<f", 1.5)
           + wire.varint(2003 << 3 | 1) + struct.pack("<d", 2.5)
           + wire.varint(2004 << 3 | 3) + wire.field(1, "a group") + wire.varint(2004 << 3 | 4))
MESSAGES = {  # where messages lie, by field numbers
    "model": [], "opset_import": [8], "metadata_props": [14], "graph": [7], "node": [7, 1],
    "attribute": [7, 1, 5], "tensor of an attribute": [7, 1, 5, 5], "initializer": [7, 5],
    "input": [7, 11], "type of an input": [7, 11, 2], "output": [7, 12], "value_info": [7, 13],
    "sparse_initializer": [7, 15], "quantization_annotation": [7, 14], "function": [25],
    "node of a function": [25, 7]}


def rich():
    """A model with one node to fold, between much that is not to be touched."""
    custom = node("Magic", "in y", "m", "magic", "custom.domain", words=["a", "b"], numbers=[1, 2],
                  half=0.5, table=helper.make_tensor("t", TensorProto.DOUBLE, [2], [1.0, 2.0]))
    custom.doc_string = "pulls a rabbit out of a hat"
    custom.metadata_props.add(key="k", value="v")
    custom.overload = "special"
    nodes = [node("Abs", "in", "a", "abs"), dq(), custom, node("Call", "a", "c", "call", "local")]
    others = [helper.make_tensor("ids", TensorProto.INT64, [2], [1, 2]),
              helper.make_tensor("names", TensorProto.STRING, [2], [b"p", b"\xff"])]
    values, indices = (helper.make_tensor(n, t, [1], [3]) for n, t in (("sp", 1), ("i", 7)))
    sparse = helper.make_sparse_tensor(values, indices, [9])
    call = helper.make_function("local", "Call", ["u"], ["v"], [node("Neg", "u", "v")],
                                [helper.make_opsetid("", 21)])
    proto = model(nodes, ["in"], ["m", "c"], [others[0], *TENSORS, others[1]], functions=[call],
                  domains=["custom.domain", "local"], sparse_initializer=[sparse],
                  value_info=[value("a"), value("y")])
    proto.doc_string, proto.domain, proto.model_version = "documented", "org.example", 7
    proto.metadata_props.add(key="author", value="somebody")
    proto.graph.doc_string = "a graph"
    proto.graph.metadata_props.add(key="g", value="h")
    a = proto.graph.quantization_annotation.add(tensor_name="a")
    a.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="ids")
    return proto


def parts(message):
    """The fields of a message, those of its graph apart."""
    found = wire.fields(message)
    [graph] = [payload for number, _, payload in found if number == wire.MODEL_GRAPH]
    return [whole for number, whole, _ in found if number != wire.MODEL_GRAPH], [
        whole for _, whole, _ in wire.fields(graph)]


def assert_only_the_fold_changed(before, after):
    """Model fields stay; of the graph's go dq and its inputs; behind them comes the constant y."""
    before_model, before_graph = parts(before)
    after_model, after_graph = parts(after)
    assert after_model == before_model
    names_of_gone = [b"\x22\x10DequantizeLinear", b"\x42\x01x", b"\x42\x05scale", b"\x42\x04zero"]
    gone = [whole for whole in before_graph if any(mark in whole for mark in names_of_gone)]
    assert len(gone) == 4
    assert after_graph[:-1] == [whole for whole in before_graph if whole not in gone]
    assert b"\x42\x01y" in after_graph[-1]


def converted_bytes(folder, before):
    (folder / "in.onnx").write_bytes(before)
    dequant("convert", folder / "in.onnx", "-o", folder / "out.onnx")
    return (folder / "out.onnx").read_bytes()


def test_everything_around_a_folded_node_stays(tmp_path):
    before = rich().SerializeToString()
    assert_only_the_fold_changed(before, converted_bytes(tmp_path, before))


@pytest.mark.parametrize("message", MESSAGES)
def test_unknown_fields_stay(message, tmp_path):
    before = wire.change(rich().SerializeToString(), MESSAGES[message], lambda m: m + UNKNOWN)
    assert before.count(b"from a later version") >= 1
    assert_only_the_fold_changed(before, converted_bytes(tmp_path, before))


@pytest.mark.parametrize("message", MESSAGES)
def test_model_without_anything_to_fold_stays(message, tmp_path):
    before = wire.change(rich().SerializeToString(), MESSAGES[message], lambda m: UNKNOWN + m)
    before = before.replace(b"\x22\x10DequantizeLinear", b"\x22\x10DequantizeSquare")
    assert converted_bytes(tmp_path, before) == before


def test_fields_in_an_unusual_order_stay(tmp_path):
    def reversed_fields(message):
        """Highest field numbers first; repeated fields keep their order."""
        return b"".join(whole for _, whole, _ in sorted(wire.fields(message), key=lambda f: -f[0]))
    before = rich().SerializeToString()
    for path in ([7, 1], [7, 11], []):
        before = wire.change(before, path, reversed_fields)
    assert_only_the_fold_changed(before, converted_bytes(tmp_path, before))


def test_lengths_longer_than_they_need_to_be_stay(tmp_path):
    def stretched(graph):
        """Node names with their length in two bytes where one would do."""
        graph = graph.replace(b"\x1a\x03abs", b"\x1a\x83\x00abs")
        return graph.replace(b"\x1a\x05magic", b"\x1a\x85\x00magic")
    before = rich().SerializeToString()
    before = wire.change(before, [7, 1], stretched)
    assert before.count(b"\x83\x00abs") == before.count(b"\x85\x00magic") == 1
    assert_only_the_fold_changed(before, converted_bytes(tmp_path, before))


def test_graph_in_two_pieces_is_one_graph(tmp_path):
    """Protobuf merges the pieces of a message that is no repeated field."""
    before = model([dq(), node("Neg", "y", "z")], outputs=["z"],
                   initializers=TENSORS).SerializeToString()
    [graph] = wire.payloads(before, 7)
    nodes = b"".join(whole for number, whole, _ in wire.fields(graph) if number == wire.GRAPH_NODE)
    others = b"".join(whole for number, whole, _ in wire.fields(graph) if number != wire.GRAPH_NODE)
    rest = b"".join(whole for number, whole, _ in wire.fields(before) if number != wire.MODEL_GRAPH)
    split = wire.field(7, nodes) + rest + wire.field(7, others)
    after = onnx.load_from_string(converted_bytes(tmp_path, split))
    assert (names(after), [n.op_type for n in after.graph.node]) == (["y"], ["Neg"])
    assert_same_outputs(tmp_path / "in.onnx", tmp_path / "out.onnx", runs=1)


def test_everything_around_a_node_folded_in_a_body_stays(tmp_path):
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    both = {b: helper.make_graph([node("Magic", "", f"{b}m", domain="custom"), dq(),
                                  node("Neg", "y", b)], b, [], [value(b)], TENSORS)
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    proto = model([choice], [flag], ["out"], domains=["custom"])
    before = wire.change(proto.SerializeToString(), [7, 1, 5, 6, 1], lambda m: m + UNKNOWN)
    after = converted_bytes(tmp_path, wire.change(before, [7, 1, 5], lambda m: UNKNOWN + m))
    for old, new in zip(wire.payloads(before, 7, 1, 5, 6), wire.payloads(after, 7, 1, 5, 6),
                        strict=True):
        old, new = ([whole for _, whole, _ in wire.fields(body)] for body in (old, new))
        assert new[:2] == [old[0], old[2]]      # of three nodes dq went
        assert new[2:-1] == [whole for whole in old[3:]
                             if whole[0] != wire.GRAPH_INITIALIZER << 3 | 2]
        assert b"\x42\x01y" in new[-1]
    assert all(m.startswith(UNKNOWN) for m in wire.payloads(after, 7, 1, 5))


def test_node_replaced_by_a_constant_stays_in_its_place(tmp_path):
    constants = [node("Constant", "", t.name, value=t) for t in TENSORS]
    nodes = [node("Abs", "in", "a"), *constants, dq(), node("Add", "a y", "b")]
    local = helper.make_function("local", "Call", ["in"], ["b"], nodes,
                                 [helper.make_opsetid("", 21)])
    proto = model([node("Call", "in", "out", domain="local")], ["in"], ["out"], functions=[local],
                  domains=["local"])
    before = proto.SerializeToString()
    after = converted_bytes(tmp_path, before)
    old, new = (wire.payloads(m, 25, 7) for m in (before, after))
    assert (new[0], new[2]) == (old[0], old[5]) and len(new) == 3
    assert wire.payloads(after, 7) == wire.payloads(before, 7)
    converted, _ = convert(tmp_path / "in.onnx", "--force")
    assert [n.op_type for n in converted.functions[0].node] == ["Abs", "Constant", "Add"]

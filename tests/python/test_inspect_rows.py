"""`dequant inspect` prints rows as it finds them: who reads a constant, what is broken, and how
much memory it takes."""

import json

import onnx
import pytest
from onnx import helper

import hostile_support as hostile
from arithmetic import codes, floats
from page_support import Page, page_of
from support import EXAMPLES, constant, dequant, model, node, peak_memory, save, value
from test_inspect import NODE, inspect

# Who reads what no DequantizeLinear does.

@pytest.fixture(name="read_by_many")
def _read_by_many(tmp_path):
    """Constants that operators read: directly, through Identity nodes, in a subgraph, nobody, a
    graph output."""
    inner = helper.make_graph([node("MatMulInteger", "c c", "inner_i", "inner"),
                               node("Cast", "inner_i", "inner_o", to=1)], "inner", [],
                              [value("inner_o")])
    other = helper.make_graph([constant("other_o", floats(1))], "other", [], [value("other_o")])
    nodes = [node("MatMulFpQ4", "in b s", "y", "mat", "com.microsoft", K=3, N=3, bits=4,
                  block_size=16),
             *(node("MatMulFpQ4", "in b s", f"y{i}", "", "com.microsoft", K=3, N=3, bits=4,
                    block_size=16)
               for i in range(4)),
             node("Identity", "c", "c1"), node("Identity", "c1", "c2"),
             node("ConvInteger", "x8 c2", "conv", "conv"),
             node("If", "flag", "chosen", "choice", then_branch=inner, else_branch=other),
             constant("held", codes("uint8", [7])), node("Gather", "held ids", "picked")]
    tensors = [codes("uint8", [[[1] * 8]] * 3).tensor("b"), floats([1, 1, 1]).tensor("s"),
               codes("int8", [[1]]).tensor("c"), codes("int8", [2]).tensor("out_only"),
               codes("int32", [0]).tensor("ids")]
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    proto = model(nodes, ["in", value("x8", "int8"), flag],
                  ["y", value("out_only", "int8")], tensors,
                  domains=["com.microsoft"])
    return save(proto, tmp_path / "in.onnx")


def test_quantized_constants_come_with_the_operators_that_read_them(read_by_many):
    others = {o["name"]: o["read_by"] for o in inspect(read_by_many)["other_constants"]}
    assert list(others) == ["b", "c", "out_only", "held"]
    assert others["b"] == \
        [{"node": n, "op_type": "MatMulFpQ4", "domain": "com.microsoft", "input": 1}
         for n in ("mat", "y0", "y1", "y2", "y3")]
    c = sorted(others["c"], key=lambda r: (r["op_type"], r["input"]))
    assert c == [{"node": "conv", "op_type": "ConvInteger", "domain": "", "input": 1},
                 {"node": "inner", "op_type": "MatMulInteger", "domain": "", "input": 0},
                 {"node": "inner", "op_type": "MatMulInteger", "domain": "", "input": 1}]
    assert others["out_only"] == []
    assert others["held"] == [{"node": "picked", "op_type": "Gather", "domain": "", "input": 0}]


def test_text_names_the_first_readers_of_a_quantized_constant(read_by_many):
    lines = {line.split()[0]: line
             for line in dequant("inspect", read_by_many).stdout.splitlines() if line}
    assert lines["name"].endswith("read by")
    assert lines["b"].endswith(
        "MatMulFpQ4 mat (input 1), MatMulFpQ4 y0 (input 1), MatMulFpQ4 y1 (input 1) and 2 more")
    assert "ConvInteger conv (input 1)" in lines["c"] \
        and "MatMulInteger inner (input 0)" in lines["c"]
    assert lines["out_only"].endswith(" -")


def test_page_names_the_readers_too(read_by_many):
    page = Page(page_of(read_by_many))
    row = next(r for r in page.rows if r and r[0][1] == "b")
    assert row[4][1].startswith("MatMulFpQ4 mat (input 1), ") and row[4][1].endswith(" and 2 more")


# Broken parts.

def broken_activation(folder, scale):
    data = hostile.model(
        hostile.node("DequantizeLinear", [b"x", b"s"], [b"y"], name=b"sound"),
        hostile.node("DequantizeLinear", [b"in", b"broken"], [b"z"], name=b"activation"),
        hostile.initializer(hostile.X),
        hostile.initializer(hostile.tensor("s", [], hostile.FLOAT, raw=b"\0\0\0?")),
        hostile.initializer(scale), hostile.value(11, b"in", hostile.INT8), hostile.value(12, b"y"),
        hostile.value(12, b"z"))
    source = folder / "in.onnx"
    source.write_bytes(data)
    return source


@pytest.mark.parametrize("scale, words", [
    (hostile.tensor("broken", [4], hostile.FLOAT, raw=b"\0" * 3), "3 bytes"),
    (hostile.external("broken", [4], hostile.FLOAT, location="nowhere.bin"), "nowhere.bin"),
    (hostile.external("broken", [4], hostile.FLOAT, location="../up.bin"), "up.bin")])
def test_one_broken_scale_of_an_activation_is_no_reason_to_refuse_the_model(scale, words, tmp_path):
    source = broken_activation(tmp_path, scale)
    sound, activation = inspect(source)["nodes"]
    assert sound["constant"] and sound["values"] is not None
    assert list(activation) == NODE and not activation["constant"]
    assert activation["reason"].startswith("in is an input of the graph; its scale and zero point "
                                           "cannot be read: ")
    assert words in activation["reason"]
    assert "cannot be read" in dequant("inspect", source).stdout \
        and "cannot be read" in Page(page_of(source)).text


# Rows are printed as they are found.

def many(folder, count, last=b""):
    """A model of nodes whose constants are two elements each."""
    nodes = [hostile.node("DequantizeLinear", [f"x{i}", "s"], [f"y{i}"]) for i in range(count)]
    tensors = [hostile.initializer(hostile.tensor(f"x{i}", [2], hostile.INT8, raw=b"\1\2"))
               for i in range(count)]
    source = folder / f"many{count}.onnx"
    source.write_bytes(hostile.model(
        *nodes, *tensors,
        hostile.initializer(hostile.tensor("s", [], hostile.FLOAT, raw=b"\0\0\0?")), last,
        hostile.value(12, b"y0")))
    return source


def test_json_of_many_nodes_is_whole_and_in_order(tmp_path):
    report = inspect(many(tmp_path, 3000))
    assert [n["output"] for n in report["nodes"]] == [f"y{i}" for i in range(3000)]
    assert report["totals"] == {"nodes": 3000, "constant": 3000, "elements": 6000, "bytes": 6004,
                                "float_bytes": 24000}


def test_json_is_laid_out_as_a_document_in_memory_would_be(read_by_many):
    for source in (read_by_many, EXAMPLES / "digits_qdq_int8.onnx"):
        text = dequant("inspect", source, "--json").stdout
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("options", [[], ["--json"], ["--html", "page.html"]])
def test_rows_of_many_nodes_are_not_held(options, tmp_path):
    """Beyond the structure of the model, which any command reads: a JSON document took 5 KiB a
    node."""
    source = many(tmp_path, 100_000)
    # refused before the nodes are looked at
    structure = peak_memory(tmp_path, "convert", source, "-o", source)
    peak = peak_memory(tmp_path, "inspect", source, *options)
    assert peak - structure < 24 << 20, f"{peak - structure >> 20} MiB"
    assert peak < (32 << 20) + 8 * source.stat().st_size, f"{peak >> 20} MiB"


def test_what_can_be_proved_is_proved_before_the_first_byte(tmp_path):
    broken = hostile.initializer(hostile.tensor("x5", [3], hostile.INT8, raw=b"\1"))
    nodes = hostile.node("DequantizeLinear", ["x5", "s"], ["last"])
    source = tmp_path / "in.onnx"
    source.write_bytes(many(tmp_path, 5, nodes + broken).read_bytes())
    for options in ([], ["--json"]):
        assert dequant("inspect", source, *options, code=3).stdout == ""


def test_an_object_cut_short_by_an_error_is_no_json(tmp_path):
    """A value that does not fit its type shows only when the data is read."""
    bad = hostile.initializer(hostile.tensor("x2000", [2], hostile.INT8,
                                             hostile.packed(5, [1, 300])))
    source = many(tmp_path, 2000, hostile.node("DequantizeLinear", ["x2000", "s"], ["last"]) + bad)
    done = dequant("inspect", source, "--json", code=3)
    assert done.stdout.startswith("{") and "x1999" in done.stdout
    with pytest.raises(json.JSONDecodeError):
        json.loads(done.stdout)
    # tables are printed once all rows are known
    assert dequant("inspect", source, code=3).stdout == ""

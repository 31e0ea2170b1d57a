"""What `dequant inspect` says is so: each of these once was not."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper

import hostile_support as hostile
from arithmetic import codes, dequantized, floats
from page_support import Page, charts, page_of
from support import (EXAMPLES, SCALE, TENSORS, X, ZERO, constant, dequant, dq, linear, model,
                     node, q, save,
                     value)

ALL = codes("int8", np.arange(256))
LONG = "/model/" + "layers.0/self_attn/" * 20


def inspect(source):
    return json.loads(dequant("inspect", source, "--json").stdout)


# Histograms.

@pytest.mark.parametrize("scale, output", [
    (floats(1000, "float16"), None),          # 125 of 256 values are infinite
    (floats(1e-9), TensorProto.FLOAT16),      # 5 different values
    (floats(6e-8, "float16"), None),          # subnormal ones
    (floats(0.3, "bfloat16"), None), (floats(1e37), None), (floats(1e-44), None),
    (floats(0.3), None)])
def test_histogram_is_of_values_that_rounded_or_overflowed(scale, output, tmp_path):
    options = {} if output is None else {"output_dtype": output}
    text = page_of(linear(tmp_path, ALL, scale, **options))
    y = dequantized(ALL, scale, output="float16" if output else None).values()
    y = y[np.isfinite(y)]
    [(begin, width, counts)] = charts(text, "Values")
    expected = np.bincount(np.floor((y - begin) / width).astype(int), minlength=len(counts))
    assert counts.tolist() == expected.tolist()
    assert begin <= y.min() and y.max() <= begin + width * len(counts) <= y.max() + 2 * width


@pytest.mark.parametrize("element, first, last",
                         [("int8", "-128", "127"), ("float8e4m3fn", "-448", "448")])
def test_label_of_codes_names_the_last_one(element, first, last, tmp_path):
    text = page_of(linear(tmp_path, codes(element, ALL.codes) if element == "int8" else
                          type(ALL)(element, ALL.codes), floats(0.5)))
    assert f"bins from {first} to {last}, the fullest" in text.split("aria-label='Codes")[1]


# Which constants are listed.

def test_x_with_a_computed_scale_is_no_other_constant(tmp_path):
    proto = model([dq("x s")], [value("s", shape=[])], initializers=TENSORS[:1])
    assert inspect(save(proto, tmp_path / "in.onnx"))["other_constants"] == []


def test_constant_nodes_and_subgraphs_are_listed_and_come_out(tmp_path):
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    branches = {name: helper.make_graph([node("Identity", f"w_{name}", f"o_{name}")],
                                        f"{name} graph", [],
                                        [value(f"o_{name}", "int8")], [X.tensor(f"w_{name}")])
                for name in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=branches["then"], else_branch=branches["else"])
    proto = model([constant("held", X), node("Identity", "held", "y"), choice], [flag],
                  [value("y", "int8"), value("out", "int8")])
    source = save(proto, tmp_path / "in.onnx")
    found = inspect(source)["other_constants"]
    assert sorted((o["graph"], o["name"], o["bytes"]) for o in found) == [
        ("", "held", 6), ("else graph", "w_else", 6), ("then graph", "w_then", 6)]
    for other in found:
        dequant("extract", source, other["name"], "-o", tmp_path / "out.npy", "--force")
        assert np.load(tmp_path / "out.npy").tolist() == X.values().tolist()
    assert "then graph/w_then" in dequant("inspect", source).stdout
    assert "then graph/w_then" in Page(page_of(source)).text


@pytest.mark.parametrize("lie, code", [
    (hostile.tensor("w", [10**9, 10**9], hostile.INT8, raw=b"1234"), 3),
    (hostile.external("w", [4], hostile.INT8, location="nowhere.bin"), 5)])
def test_other_constants_are_proved(lie, code, tmp_path):
    source = tmp_path / "in.onnx"
    source.write_bytes(hostile.model(hostile.initializer(lie)))
    assert "tensor w" in dequant("inspect", source, code=code).stderr


# Names and reasons.

def test_reasons_and_names_are_whole_in_the_page(tmp_path):
    proto = model([dq("x scale", LONG + "one"), dq("x scale", LONG + "two"), dq("a\\b scale", "v")],
                  [value("a\\b", "int8")], [LONG + "one", LONG + "two", "v"], TENSORS[:2])
    text = Page(page_of(save(proto, tmp_path / "in.onnx"))).text
    assert LONG + "one" in text and LONG + "two" in text
    assert "a\\\\b is an input of the graph" in text  # escaped once


def test_reason_with_a_long_name_is_not_cut(tmp_path):
    proto = model([dq(f"{LONG} scale", "v")], [value(LONG, "int8")], ["v"], TENSORS[1:2])
    assert "... is an input of the graph" in Page(page_of(save(proto, tmp_path / "in.onnx"))).text


# Scales.

def test_no_channel_of_an_empty_tensor_is_dead(tmp_path):
    text = page_of(linear(tmp_path, codes("int8", np.zeros((0, 5))), floats(np.ones(5)), axis=1))
    assert "all values 0" not in text and "scales: their values are not told apart" not in text


def test_scales_that_are_no_numbers_have_a_place(tmp_path):
    scales = [1, np.nan, np.inf, -np.inf, 0, -1] + [np.nan] * 7
    text = page_of(linear(tmp_path, codes("int8", np.ones((13, 2))), floats(scales), axis=0))
    assert "Scale NaN at [1], [6], [7], [8], [9] and 3 more; infinite at [2], [3].</p>" in text


def ends(text):
    return [part.split("<")[0] for part in text.split("<em>")[1:] if "at the ends" in
            part.split("<")[0]]


def test_codes_cut_off_at_the_ends_are_remarked(tmp_path):
    rng = np.random.default_rng(7)
    x = np.clip(np.rint(rng.normal(0, 150, (64, 64))), -128, 127)
    share = 100 * ((x == -128) | (x == 127)).mean()
    text = page_of(linear(tmp_path, codes("int8", x), floats(0.01)))
    assert ends(text) == [f"{share:.2f} % at the ends of the type"]


@pytest.mark.parametrize("x, scale, zero", [
    # zeros of uint8, which 0 stands for
    (np.r_[np.zeros(50), np.arange(100)], 1, None),
    (np.r_[np.full(50, 255), np.arange(100)], 1, 255),
    (np.arange(100).clip(0, 9), 1, 5),                            # too few to tell
    (np.tile([255, 9, 8, 7, 0], (99, 1)), np.ones(99), np.full(99, 9))])  # two of each scale
def test_codes_that_belong_at_the_ends_are_not(x, scale, zero, tmp_path):
    zero_point = None if zero is None else codes("uint8", zero)
    assert ends(page_of(linear(tmp_path, codes("uint8", x), floats(scale), zero_point,
                               axis=0))) == []


# Sums.

def test_shared_tensors_are_summed_once(tmp_path):
    proto = model([dq("x scale", "y"), dq("x scale zero", "v")], [], ["y", "v"], TENSORS)
    source = save(proto, tmp_path / "in.onnx")
    report = inspect(source)
    assert [n["bytes"] for n in report["nodes"]] == [10, 11]
    assert report["totals"]["bytes"] == 11 and report["totals"]["float_bytes"] == 48
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--json", "--dry-run")
    assert json.loads(done.stdout)["totals"]["quantized_bytes"] == 11
    cells = next(row for row in Page(page_of(source)).rows if row[0][1] == "int8 → float32")
    assert cells[4][1] == "11 B"


@pytest.mark.parametrize("size", [3, 70])
def test_nodes_that_take_the_same_differ_in_nothing(size, tmp_path):
    """Large tensors are measured once; those that are taken in another way, on their own."""
    x = codes("int8", np.resize(np.arange(100), (size, size)))
    s = floats(np.geomspace(1, 4, size))
    proto = model([dq("x s", "a", axis=0), dq("x s", "b", axis=1), dq("x s", "c", axis=0)], [],
                  list("abc"),
                  [x.tensor("x"), s.tensor("s")])
    a, b, c = inspect(save(proto, tmp_path / "in.onnx"))["nodes"]
    for found, axis in ((a, 0), (b, 1), (c, 0)):
        assert found["axis"] == axis
        assert found["values"]["max"] == float(dequantized(x, s, axis=axis).values().max())
    assert {**c, "output": "a"} == a
    page = Page(page_of(tmp_path / "in.onnx"))
    for name, axis in (("a", 0), ("b", 1), ("c", 0)):
        zeros = (dequantized(x, s, axis=axis).values() == 0).mean()
        assert float(page.tensor(name)["Zeros"][0]) == zeros


# Time: each of these took a minute.

def test_one_tensor_of_many_nodes_is_measured_once(tmp_path):
    nodes = [dq("x scale", f"y{i}") for i in range(20_000)]
    x = codes("int8", np.zeros(500_000))
    source = save(model(nodes, [], ["y0"], [x.tensor("x"), SCALE.tensor("scale")]),
                  tmp_path / "in.onnx")
    assert inspect(source)["totals"]["elements"] == 20_000 * 500_000


@pytest.mark.parametrize("command", ["inspect", "convert", "extract"])
def test_long_chains_are_followed_once(command, tmp_path):
    count = 20_000
    chain = [node("Identity", f"s{i}" if i else "scale", f"s{i + 1}") for i in range(count)]
    nodes = [dq(f"x s{i + 1}", f"y{i}") for i in range(count)]
    source = save(model(chain + nodes, [], ["y0"], TENSORS[:2]), tmp_path / "in.onnx")
    more = {"inspect": [], "convert": ["-o", tmp_path / "out.onnx", "-q", "--mem", "256Mi"],
            "extract": ["y7", "-o", tmp_path / "out.npy"]}
    outcome = hostile.run(command, source, *more[command])  # within ten seconds
    assert outcome.code == 0, outcome


# Activations.

@pytest.mark.parametrize("x, zero, element, expected", [
    ("in", codes("int8", 5), "int8", [-133, 122]), ("in", None, "int16", [-32768, 32767]),
    ("iq", None, None, [0, 255]), ("in", codes("uint4", 3), "uint4", [-3, 12]),
    ("in", None, "float8e5m2", [-57344, 57344]), ("relu", None, None, None)])
def test_activations_are_told_by_their_parameters(x, zero, element, expected, tmp_path):
    nodes = [q("f scale", "iq"), node("Relu", "in", "relu"),
             dq(f"{x} scale" + (" zero" if zero else ""), "y", "open")]
    tensors = [SCALE.tensor("scale")] + ([zero.tensor("zero")] if zero else [])
    proto = model(nodes, [value("f"), value("in", element or "uint8")], ["y"], tensors)
    source = save(proto, tmp_path / "in.onnx")
    [found] = inspect(source)["nodes"]
    scale = float(np.float32(0.3))
    assert found["scale"] == {"min": scale, "max": scale, "nan": 0} and found["scale_count"] == 1
    assert found["zero_point"] == \
        ({"min": zero.values(), "max": zero.values(), "nan": 0} if zero else None)
    if expected is None:
        assert found["type"] is None and found["covered"] is None
        return
    low, high = (np.float32(number) * np.float32(0.3) for number in expected)
    assert found["type"] == (element or "uint8")
    assert found["covered"] == {"min": low, "max": high, "nan": 0}
    assert f"{low:.6g} .. {high:.6g}" in dequant("inspect", source).stdout
    page = Page(page_of(source))
    [row] = [r for r in page.rows if r and r[0][1] == "y"]
    assert [float(cell[0]["data-v"]) for cell in row[6:8]] == [low, high]


def test_activation_of_several_scales_covers_what_any_does(tmp_path):
    scales, zeros = floats([1, -2, 0.5], "float16"), codes("int8", [0, 100, -128])
    proto = model([dq("in s z", axis=1)], [value("in", "int8", [2, 3])], ["y"],
                  [scales.tensor("s"), zeros.tensor("z")])
    [found] = inspect(save(proto, tmp_path / "in.onnx"))["nodes"]
    assert found["covered"] == {"min": -128, "max": 456, "nan": 0}
    assert (found["scale_type"], found["scale_count"]) == ("float16", 3)


def test_parameters_come_from_attributes_and_in_parts(tmp_path):
    rng = np.random.default_rng(8)
    scales, zeros = floats(rng.random(70_001)), codes("int4", rng.integers(-8, 8, 70_001))
    nodes = [node("Constant", "", "held", value_float=0.25), dq("in held", "u"),
             dq("in4 s z", "v", axis=0)]
    proto = model(nodes, [value("in", "uint8"), value("in4", "int4", [70_001])], ["u", "v"],
                  [scales.tensor("s"), zeros.tensor("z")])
    u, v = inspect(save(proto, tmp_path / "in.onnx"))["nodes"]
    assert u["covered"] == {"min": 0, "max": 63.75, "nan": 0} and u["scale_type"] == "float32"
    ends = [dequantized(codes("int4", np.full(70_001, end)), scales, zeros, axis=0).values()
            for end in (-8, 7)]
    assert v["covered"] == {"min": np.min(ends), "max": np.max(ends), "nan": 0}
    assert v["zero_point"] == {"min": -8, "max": 7, "nan": 0} and v["scale_count"] == 70_001


def test_computed_parameters_are_not_told(tmp_path):
    proto = model([dq("in s zero")], [value("in", "int8"), value("s", shape=[])], ["y"],
                  [ZERO.tensor("zero")])
    [found] = inspect(save(proto, tmp_path / "in.onnx"))["nodes"]
    assert "covered" not in found and "scale" not in found


# The rest.

def test_page_has_all_digits_under_the_pointer(tmp_path):
    page = Page(page_of(linear(tmp_path, codes("int8", [[1], [2]]), floats([0.3, 2]), axis=0)))
    titles = {a["title"] for tag, a in page.tags if tag == "td" and "title" in a}
    assert titles == {str(float(np.float32(0.3)))}


def test_json_has_all_operator_sets(tmp_path):
    proto = model([dq(domain="com.microsoft")], initializers=TENSORS, domains=["com.microsoft"])
    assert inspect(save(proto, tmp_path / "in.onnx"))["opsets"] == \
        {"ai.onnx": 21, "com.microsoft": 1}


@pytest.mark.parametrize("options, code, word", [
    (["--html", ""], 5, "no file name"), (["--force"], 2, "--html"),
    (["--force", "--json"], 2, "--html")])
def test_options_that_do_nothing_are_refused(options, code, word):
    done = dequant("inspect", EXAMPLES / "digits_qdq_int4.onnx", *options, code=code)
    assert word in done.stderr and done.stdout == ""


def test_full_disk_under_standard_output_is_named(tmp_path):
    nodes = [dq(outputs=f"y{i}") for i in range(999)]  # more than a buffer holds
    source = save(model(nodes, [], ["y0"], TENSORS), tmp_path / "in.onnx")
    with open("/dev/full", "w", encoding="utf-8") as full:
        outcome = hostile.run("inspect", source, "--json", stdout=full)
    hostile.assert_error(outcome, 5, "cannot write to standard output: No space left on device")

"""`dequant diff` on the command line: which tensors it compares, what it prints, how it ends. Its
numbers are held against dequant.diff() in tests/package/test_diff_command.py."""

import json
import os

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from arithmetic import FLOATS, codes, floats, random_codes
from support import (EXAMPLES, SCALE, TENSORS, X, ZERO, constant, convert, dequant, dq, linear,
                     model, node, peak_memory, save, value)
from test_verify import safetensors


def diff(a, b, *options, code=1):
    return json.loads(dequant("diff", a, b, "--json", *options, code=code).stdout)


def stored(folder, file, **arrays):
    """A model that stores arrays, of types of numpy and ml_dtypes, and reads each."""
    nodes = [node("Identity", name, f"{name}_out") for name in arrays]
    outputs = [helper.make_tensor_value_info(f"{n}_out", helper.np_dtype_to_tensor_dtype(a.dtype),
                                             a.shape) for n, a in arrays.items()]
    tensors = [numpy_helper.from_array(a, n) for n, a in arrays.items()]
    return save(model(nodes, outputs=outputs, initializers=tensors), folder / file)


ONE = np.array([[1, 2], [3, 4]], "f4")


# Which tensors.

def test_a_quantized_model_is_what_convert_makes_of_it(shared, tmp_path):
    """Every tensor of one is in the other, with the same bits."""
    tried = 0
    for path in sorted((shared / "models").glob("*.onnx")) + sorted(EXAMPLES.glob("*.onnx")):
        target = tmp_path / path.name
        dequant("convert", path, "-o", target)
        found = diff(path, target, code=0)
        assert found["exact"] and found["within"]
        assert not (found["skipped"] or found["only_in_a"] or found["only_in_b"])
        tried += len(found["tensors"])
    assert tried > 100


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_narrowed_model_is_no_step_away(dtype, tmp_path):
    """Where a Cast reads the constant, it has the name that others know."""
    source = tmp_path / "in.onnx"
    source.write_bytes((EXAMPLES / "digits_qdq_int8.onnx").read_bytes())
    _, report = convert(source, "--dtype", dtype)
    found = diff(source, tmp_path / "out.onnx")
    assert len(found["tensors"]) == report["totals"]["folded"] == 8
    assert not (found["skipped"] or found["only_in_a"] or found["only_in_b"])
    for t in found["tensors"]:
        assert (t["a_dtype"], t["b_dtype"], t["ulp_dtype"]) == ("float32", dtype, dtype)
        assert (t["max_ulp"], t["ulp"]) == (0, {"0": t["size"]})
        assert 40 < t["sqnr_db"] < 100
    assert diff(source, tmp_path / "out.onnx", "--max-ulp", 0, code=0)["exact"] is False


@pytest.mark.parametrize("quantized", ["digits_qdq_int8.onnx", "digits_qdq_int4.onnx"])
def test_a_quantized_model_is_held_against_its_float_original(quantized, tmp_path):
    """Quantizers give new names, whose ends are known."""
    original = onnx.load(EXAMPLES / "digits_float.onnx")
    wanted = {t.name: numpy_helper.to_array(t) for t in original.graph.initializer
              if t.data_type == onnx.TensorProto.FLOAT}
    for a, b in [(EXAMPLES / "digits_float.onnx", EXAMPLES / quantized),
                 (EXAMPLES / quantized, EXAMPLES / "digits_float.onnx")]:
        found = diff(a, b)
        assert not (found["skipped"] or found["only_in_a"] or found["only_in_b"])
        ours = "name" if "float" in a.name else "name_in_b"
        assert {t[ours]: t["shape"] for t in found["tensors"]} == {
            name: list(array.shape) for name, array in wanted.items()}


def test_scales_are_no_tensors_of_the_model(tmp_path):
    """What only a QuantizeLinear or DequantizeLinear reads belongs to the tensor that it yields."""
    float_weights = stored(tmp_path, "a.onnx", y=np.zeros((2, 3), "f4"))
    found = diff(float_weights, linear(tmp_path, X, SCALE, ZERO))
    assert [t["name"] for t in found["tensors"]] == ["y"]
    assert found["only_in_a"] == found["only_in_b"] == []


def test_tensors_are_known_by_node_and_codes_too(tmp_path):
    quantized = linear(tmp_path, X, SCALE, ZERO)  # output y, node dq, codes x
    for name in ["y", "dq", "x"]:
        other = stored(tmp_path, "b.onnx", **{name: np.zeros((2, 3), "f4")})
        [t] = diff(quantized, other)["tensors"]
        assert (t["name"], t["name_in_b"]) == ("y", name)
        [t] = diff(other, quantized)["tensors"]
        assert (t["name"], t["name_in_b"]) == (name, "y")


def test_two_quantizations_of_a_model_were_not_paired():
    """Each has the original names with another suffix."""
    found = diff(EXAMPLES / "digits_qdq_int4.onnx", EXAMPLES / "digits_qdq_int8.onnx")
    assert found["only_in_a"] == found["only_in_b"] == []
    names = {(t["name"], t["name_in_b"]) for t in found["tensors"]}
    assert ("fc1.weight_DQ_Q4_output", "fc1.weight_DequantizeLinear_Output") in names


def test_names_that_one_file_has_are_listed(tmp_path):
    a = stored(tmp_path, "a.onnx", same=ONE, mine=ONE)
    b = stored(tmp_path, "b.onnx", same=ONE, yours=ONE)
    found = diff(a, b)
    assert (found["only_in_a"], found["only_in_b"], found["exact"]) == (["mine"], ["yours"], False)
    text = dequant("diff", a, b, code=1).stdout
    assert f"only in {a}\nmine\n" in text and f"only in {b}\nyours\n" in text


def test_shapes_that_differ_are_a_difference(tmp_path):
    a, b = stored(tmp_path, "a.onnx", w=ONE), stored(tmp_path, "b.onnx", w=ONE.reshape(4))
    found = diff(a, b, "--max-abs", 1e9)
    assert found["skipped"] == [{"name": "w", "name_in_b": "w",
                                 "reason": "a has the shape [2, 2], and b [4]"}]
    assert found["tensors"] == [] and not found["within"]
    assert "w             a has the shape [2, 2], and b [4]" in dequant("diff", a, b, code=1).stdout


def test_names_of_several_graphs_have_their_graph_before_them(tmp_path):
    """Two bodies may each have a constant of one name."""
    bodies = {b: helper.make_graph([constant("w", floats(ONE)), node("Neg", "w", b)], b, [],
                                   [value(b, shape=[2, 2])]) for b in ("then", "else")}
    choice = node("If", "flag", "y", then_branch=bodies["then"], else_branch=bodies["else"])
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    a = save(model([choice], [flag], [value("y", shape=[2, 2])]), tmp_path / "a.onnx")
    b = stored(tmp_path, "b.onnx", w=ONE)
    found = diff(a, b)
    assert sorted(found["only_in_a"]) == ["else/w", "then/w"] and found["only_in_b"] == ["w"]
    assert sorted(t["name"] for t in diff(a, a, code=0)["tensors"]) == ["else/w", "then/w"]
    assert "2 right" in dequant("verify", a, a).stdout


def test_names_of_graphs_of_one_name_are_numbered(tmp_path):
    """Bodies may have one name, too."""
    bodies = [helper.make_graph([constant("w", floats(ONE * i)), node("Neg", "w", b)], "body", [],
                                [value(b, shape=[2, 2])]) for i, b in enumerate(("then", "else"))]
    choice = node("If", "flag", "y", then_branch=bodies[0], else_branch=bodies[1])
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    a = save(model([choice], [flag], [value("y", shape=[2, 2])]), tmp_path / "a.onnx")
    found = diff(a, a, code=0)
    assert sorted(t["name"] for t in found["tensors"]) == ["body/w", "body/w#2"]


def test_float64_is_told_and_integers_are_not_looked_at(tmp_path):
    arrays = {"doubles": ONE.astype("f8"), "integers": np.arange(4)}
    a = stored(tmp_path, "a.onnx", **arrays)
    found = diff(a, a)
    assert [(s["name"], s["reason"]) for s in found["skipped"]] == [
        ("doubles", "float64 is not one dequant reads")]
    assert found["tensors"] == found["only_in_a"] == []


def test_quantized_constants_that_nothing_dequantizes_get_a_warning(tmp_path):
    a = stored(tmp_path, "a.onnx", w=ONE, bytes=np.arange(4, dtype="u1"))
    done = dequant("diff", a, a)
    assert done.stderr == 2 * (f"dequant: warning: {a}: 1 quantized constant that nothing "
                               "dequantizes is not compared\n")


@pytest.mark.parametrize("second_scale", [0.5, 0.25])
def test_two_nodes_of_a_tied_weight_were_no_pair_of_the_float_weight(tmp_path, second_scale):
    """ONNX Runtime saves a weight that two nodes share so, with names that end in /duplicated."""
    codes_of_w = numpy_helper.from_array(np.array([[2, 4], [6, 8]], "i1"), "w_quantized")
    scales = [numpy_helper.from_array(np.float32(s), n) for n, s in (("s", 0.5),
                                                                     ("t", second_scale))]
    name = "w_DequantizeLinear_Output"
    nodes = [node("DequantizeLinear", "w_quantized s", name),
             node("DequantizeLinear", "w_quantized t", f"{name}/duplicated"),
             node("Add", f"{name} {name}/duplicated", "y")]
    tied = save(model(nodes, outputs=[value("y", shape=[2, 2])],
                      initializers=[codes_of_w, *scales]), tmp_path / "tied.onnx")
    plain = stored(tmp_path, "plain.onnx", w=ONE)
    same = second_scale == 0.5
    for files, names in (((plain, tied), {("w", name), ("w", f"{name}/duplicated")}),
                         ((tied, plain), {(name, "w"), (f"{name}/duplicated", "w")})):
        found = diff(*files, code=0 if same else 1)
        assert {(t["name"], t["name_in_b"]) for t in found["tensors"]} == names
        assert found["exact"] == same and not (found["only_in_a"] or found["only_in_b"])
        assert [t["exact"] for t in found["tensors"]] == [same, True]
    text = dequant("verify", tied, plain, code=0 if same else 1).stdout
    assert "0 missing, 0 unexpected" in text


def test_a_tensor_without_a_name_was_only_in_either_file(tmp_path):
    a = safetensors(tmp_path / "a.safetensors", {"": ("F32", ONE), "w": ("F32", ONE)})
    b = safetensors(tmp_path / "b.safetensors", {"": ("F32", ONE + 1), "w": ("F32", ONE)})
    assert diff(a, a, code=0)["exact"]
    assert [(t["name"], t["exact"]) for t in diff(a, b)["tensors"]] == [("", False), ("w", True)]
    assert "2 right, 0 wrong, 0 missing" in dequant("verify", a, a).stdout


@pytest.mark.parametrize("options", [["--max-abs", "-1"], ["--max-ulp", "nan"],
                                     ["--max-abs", "nan"], ["--min-sqnr", "nan"]])
def test_limits_that_nothing_meets_were_taken(tmp_path, options):
    a = stored(tmp_path, "a.onnx", w=ONE)
    error = dequant("diff", a, a, *options, code=2).stderr
    assert error.startswith(f"dequant: error: {options[0]}: {options[1]} is not a number")


def test_the_table_says_which_tensors_are_beyond_the_limits(tmp_path):
    a = stored(tmp_path, "a.onnx", w=ONE, v=ONE)
    b = stored(tmp_path, "b.onnx", w=ONE + 1, v=ONE + np.float32(.125))
    lines = dequant("diff", a, b, "--max-abs", 0.5, code=1).stdout.splitlines()
    at = lines[0].index("limits")
    assert [(line.split()[0], line[at:].split()[0]) for line in lines[1:3]] == [
        ("w", "beyond"), ("v", "within")]


def test_constants_of_bodies_and_constant_nodes_are_compared(tmp_path):
    files = []
    for name, array in [("a", ONE), ("b", ONE + 1)]:
        nodes = [constant("w", floats(array)), node("Neg", "w", "y")]
        files.append(save(model(nodes, outputs=[value("y", shape=[2, 2])]), tmp_path / name))
    assert [t["max_abs"] for t in diff(*files)["tensors"]] == [1]


# Reports and exit codes.

def test_json_has_exactly_these_keys(tmp_path):
    a, b = stored(tmp_path, "a.onnx", w=ONE), stored(tmp_path, "b.onnx", w=ONE * [1, np.nan])
    found = diff(a, stored(tmp_path, "c.onnx", w=ONE.astype("f2") + 1), "--axis", -1)
    assert list(found) == ["a", "b", "exact", "within", "tensors", "skipped", "only_in_a",
                           "only_in_b"]
    [t] = found["tensors"]
    assert list(t) == [
        "name", "name_in_b", "shape", "a_dtype", "b_dtype", "identical", "nan_mismatches",
        "inf_mismatches", "max_abs", "mean_abs", "rmse", "sqnr_db", "ulp_dtype", "ulp", "max_ulp",
        "worst", "axis", "worst_channels", "size", "mismatches", "exact", "within"]
    assert t["worst"] == {"index": [0, 0], "a": 1, "b": 2}
    assert [list(c) for c in t["worst_channels"]] == 2 * [["index", "max_abs", "sqnr_db",
                                                           "mismatches"]]
    assert (found["a"], t["axis"], t["max_abs"]) == (str(a), 1, 1)
    assert diff(a, stored(tmp_path, "b.onnx", w=ONE * np.float32(np.nan)))["tensors"][0][
        "max_abs"] == "inf"


def test_text_tells_the_worst_first(tmp_path):
    a = stored(tmp_path, "a.onnx", good=ONE, better=ONE, broken=ONE, same=ONE)
    nan = ONE.copy()
    nan[1, 0] = np.nan
    b = stored(tmp_path, "b.onnx", good=ONE + 1, better=ONE + np.float32(.25), broken=nan, same=ONE)
    text = dequant("diff", a, b, "--axis", 1, "--worst", 1, code=1).stdout
    tensors, channels, end = text.split("\n\n")
    rows = [line.split() for line in tensors.splitlines()]
    assert [r[0] for r in rows] == ["tensor", "broken", "good", "better"]
    assert rows[1][4:8] == ["1", "inf", "inf", "-inf"] and "[1, 0]: 3, nan" in tensors
    assert rows[2][4:8] == ["4", "1", "1", "8.75"]
    assert [line.split()[:3] for line in channels.splitlines()[1:]] == [
        ["broken", "1", "0"], ["good", "1", "0"], ["better", "1", "0"]]
    assert end == (f"1 of 4 tensors identical, 0 not compared, 0 only in {a}, 0 only in {b}\n")


@pytest.mark.parametrize("options, code", [
    ([], 1), (["--max-abs", "1"], 0), (["--max-abs", "0.99"], 1), (["--min-sqnr", "8.75"], 0),
    (["--min-sqnr", "8.76"], 1), (["--max-ulp", "8388608"], 0), (["--max-ulp", "8388607"], 1),
    (["--max-abs", "1", "--min-sqnr", "9"], 1)])
def test_limits_decide_the_exit_code(options, code, tmp_path):
    a, b = stored(tmp_path, "a.onnx", w=ONE), stored(tmp_path, "b.onnx", w=ONE + 1)
    found = diff(a, b, *options, code=code)
    assert found["within"] == found["tensors"][0]["within"] == (code == 0)
    assert not found["exact"]
    text = dequant("diff", a, b, *options, code=code).stdout
    assert (f", {1 - code} within the limits, " in text) == bool(options)


def test_mismatches_are_beyond_every_limit_unless_they_are_skipped(tmp_path):
    nan = ONE.copy()
    nan[0, 1] = np.inf
    a, b = stored(tmp_path, "a.onnx", w=ONE), stored(tmp_path, "b.onnx", w=nan)
    diff(a, b, "--max-abs", "1e300", code=1)
    [t] = diff(a, b, "--max-abs", 0, "--skip-mismatches", code=0)["tensors"]
    assert (t["max_abs"], t["inf_mismatches"], t["exact"]) == (0, 1, False)


def test_quiet_prints_nothing(tmp_path):
    a, b = stored(tmp_path, "a.onnx", w=ONE), stored(tmp_path, "b.onnx", w=ONE + 1)
    done = dequant("diff", a, b, "--quiet", code=1)
    assert done.stdout == done.stderr == ""


@pytest.mark.parametrize("make, code, sentence", [
    (lambda path: None, 5, "b.onnx"),
    (lambda path: path.write_bytes(b"\x0a\xff"), 3, "b.onnx"),
    (lambda path: path.write_text("weights,1,2\n" * 30), 4, "looks like text")])
def test_files_that_cannot_be_read_end_as_everywhere(make, code, sentence, tmp_path):
    a = stored(tmp_path, "a.onnx", w=ONE)
    make(tmp_path / "b.onnx")
    for order in [(a, tmp_path / "b.onnx"), (tmp_path / "b.onnx", a)]:
        done = dequant("diff", *order, code=code)
        assert sentence in done.stderr and done.stdout == ""


def test_data_that_is_missing_is_no_difference_but_an_error(tmp_path):
    proto = onnx.load(stored(tmp_path, "a.onnx", w=np.ones((100, 100), "f4")))
    onnx.save(proto, tmp_path / "b.onnx", save_as_external_data=True, location="b.data")
    os.truncate(tmp_path / "b.data", 39_000)
    done = dequant("diff", tmp_path / "a.onnx", tmp_path / "b.onnx", code=3)
    assert "w" in done.stderr and done.stdout == ""


def test_channels_must_fit_the_memory(tmp_path):
    a = stored(tmp_path, "a.onnx", w=np.ones(1 << 20, "f4"))
    done = dequant("diff", a, a, "--axis", 0, "--mem", "8Mi", code=3)
    assert "tensor w: 1048576 channels of axis 0 do not fit a quarter of the memory" in done.stderr
    dequant("diff", a, a, "--axis", 0)


# Streaming.

def large(folder, rows):
    """A blocked int4 weight, and what convert makes of it."""
    rng = np.random.default_rng(1)
    source = linear(folder, random_codes(rng, "int4", [rows, 1000]),
                    floats(rng.random([rows, 8]) + .5), axis=1, block_size=125)
    dequant("convert", source, "-o", folder / "float.onnx", "--dtype", "bfloat16")
    return source, folder / "float.onnx"


def test_threads_and_memory_change_nothing(tmp_path):
    a, b = large(tmp_path, 3001)
    found = {dequant("diff", a, b, "--json", "--axis", 1, *options, code=1).stdout
             for options in [["-T1"], ["-T2"], ["-T2", "--mem", "8Mi"], ["-T1", "--mem", "9Mi"]]}
    assert len(found) == 1


def test_large_tensors_take_little_memory(tmp_path):
    """60 MB of bfloat16 against 15 MB of int4."""
    a, b = large(tmp_path, 30_000)
    assert peak_memory(tmp_path, "diff", a, b, "--mem", "8Mi") < 40 << 20


def test_rows_of_many_tensors_are_not_held(tmp_path):
    """A JSON document took 5 KiB a tensor."""
    arrays = {f"w{i}": np.float32(i) for i in range(50_000)}
    tensors = [helper.make_tensor(n, 1, [], [v]) for n, v in arrays.items()]
    a = save(model([node("Identity", "w0", "y")], outputs=[value("y", shape=[])],
                   initializers=tensors), tmp_path / "a.onnx")
    text = peak_memory(tmp_path, "diff", a, a, "-q")
    assert peak_memory(tmp_path, "diff", a, a, "--json") - text < 8 << 20
    assert len(diff(a, a, code=0)["tensors"]) == 50_000


def test_help_has_examples():
    text = dequant("diff", "--help").stdout
    assert "Examples:" in text and "dequant diff float.onnx quantized.onnx" in text

"""dequant.diff() of models, and what its results print and become."""

import json
import math

import numpy as np
import pytest

import dequant
import model_support

from onnx import helper

from support import SCALE, X, constant, dq, model, node, save

pytestmark = pytest.mark.filterwarnings("error")

NAN, INF = math.nan, math.inf


def test_models_are_compared_by_name_the_worst_first():
    a = {"same": np.ones(3), "far": [1.0, 2.0], "nan": [1.0], "near": [[1.0, 2.0]], "gone": [1.0],
         "int": np.int8([1]),
         "shape": [1.0]}
    b = {"new": 1, "shape": [1.0, 2.0], "int": np.int8([1]), "near": [[1.0, 2.1]], "nan": [NAN],
         "far": [2.0, 1.0],
         "same": np.ones(3, np.float16)}
    found = dequant.diff(a, b, axis=1)
    assert list(found.tensors) == ["nan", "far", "near", "same"]
    assert found.only_in_a == ("gone",) and found.only_in_b == ("new",)
    assert set(found.skipped) == {"int", "shape"}
    assert "int8" in found.skipped["int"] and "[1], and b [2]" in found.skipped["shape"]
    assert [c.index for c in found.tensors["near"].worst_channels] == [1]
    assert found.tensors["far"].axis is None
    assert not found.exact
    for text in ("1 of 4 tensors identical", "not compared: int: ", "only in a: gone",
                 "only in b: new",
                 "nan: max inf"):
        assert text in str(found)
    assert json.loads(json.dumps(found.to_dict(),
                                 allow_nan=False))["tensors"]["nan"]["max_abs"] == "inf"
    assert found.to_dict()["only_in_b"] == ["new"]


def test_models_are_exact_if_nothing_differs_or_lacks():
    a = {"x": [1.0, NAN]}
    assert dequant.diff(a, {"x": [1.0, NAN]}).exact
    assert not dequant.diff(a, {"x": [1.0, NAN], "y": [1.0]}).exact
    assert not dequant.diff({**a, "y": [1.0]}, a).exact
    assert not dequant.diff({"x": np.int8([1])}, {"x": np.int8([1])}).exact
    assert dequant.diff({}, {}).exact


def test_a_model_and_a_tensor_are_not_compared():
    for pair in (({}, [1.0]), ([1.0], {})):
        with pytest.raises(TypeError, match="mapping of names"):
            dequant.diff(*pair)


def test_reports_of_models_stay_short():
    a = {f"t{i}": [1.0] for i in range(30)}
    text = str(dequant.diff(a, {name: [1.0 + i] for i, name in enumerate(a)}))
    assert text.splitlines()[0] == "1 of 30 tensors identical"
    assert text.splitlines()[-1] == "  and 19 more"
    assert "t29: max 29" in text.splitlines()[1]


# What is returned.

def test_prints_as_a_short_report():
    a = np.float32([[1, 2], [4, 8], [0, NAN]])
    b = np.float32([[1, 2.5], [4, 8], [0, NAN]])
    assert str(dequant.diff(a, b, axis=0)) == """\
float32 [3, 2]: 5 of 6 identical
error: max 0.5, mean 0.08333, RMS 0.2041, SQNR 25.31 dB
ULP of float32: 0: 5, 1048577-2097152: 1
worst at [0, 1]: a 2.0, b 2.5
worst channels of axis 0:
  0: max 0.5, SQNR 13.01 dB"""
    assert repr(dequant.diff(a, a)) == "float32 [3, 2]: 6 of 6 identical"
    b[2, 0] = INF
    lines = str(dequant.diff(a, b.astype(np.float64), axis=1)).splitlines()
    assert lines[0] == "float32 and float64 [3, 2]: 4 of 6 identical"
    assert lines[1] == "mismatches: 0 NaN, 1 infinite"
    assert lines[-2] == "  0: max inf, SQNR -inf dB, 1 mismatches"


def test_goes_to_json_and_back():
    found = dequant.diff(np.float32([[1, 2, NAN]]), np.float16([[1.5, INF, 3]]), axis=1)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["worst"] == {"index": [0, 1], "a": 2.0, "b": "inf"}
    assert (plain["sqnr_db"], plain["max_ulp"], plain["mismatches"], plain["size"]) == \
        ("-inf", "inf", 2, 3)
    assert plain["worst_channels"][0] == {"index": 1, "max_abs": "inf", "sqnr_db": "-inf",
                                          "mismatches": 1}
    assert (plain["a_dtype"], plain["b_dtype"], plain["shape"], plain["exact"]) == \
        ("float32", "float16", [1, 3], False)


def test_is_not_changed_by_accident():
    with pytest.raises(AttributeError):
        dequant.diff([1.0], [1.0]).max_abs = 0.0


def test_names_that_a_model_repeats_are_skipped_with_the_reason(tmp_path):
    def of_functions(path, names):
        """A model with an output of that name in each of many functions."""
        functions = []
        for i, name in enumerate(names):
            body = [dq(outputs=name, name="", inputs="cx cs"), constant("cx", X),
                    constant("cs", SCALE)]
            functions.append(helper.make_function("f", f"F{i}", [], [name], body,
                                                  [helper.make_opsetid("", 21)]))
        nodes = [node(f"F{i}", "", f"out{i}", domain="f") for i in range(len(names))]
        outputs = [f"out{i}" for i in range(len(names))]
        return save(model(nodes, outputs=outputs, functions=functions, domains=["f"]),
                    tmp_path / path)

    with dequant.open(of_functions("a.onnx", "wvw")) as a, \
            dequant.open(of_functions("b.onnx", "wvu")) as b:
        for left, right in ((a, b), (b, a), (a, a)):
            found = dequant.diff(left, right)
            assert list(found.tensors) == ["v"] and found.tensors["v"].exact and not found.exact
            assert "w: several tensors have that name" in found.skipped["w"]
            one_sided = ("u",) if left is not right else ()
            assert found.only_in_a == (one_sided if left is b else ())
            assert found.only_in_b == (one_sided if right is b else ())
            assert "not compared: w: " in str(found)
        assert dequant.diff(b, b).exact


def test_look_ups_that_fail_are_skipped():
    class Broken(dict):
        def __getitem__(self, name):
            raise KeyError if name == "x" else KeyError(f"no {name}")

    found = dequant.diff({"x": [1.0], "y": [1.0]}, Broken(x=1, y=2))
    assert found.skipped == {"x": "", "y": "no y"} and found.only_in_a == found.only_in_b == ()


def test_weights_by_their_own_names_beside_a_model_depended_on_the_order():
    model = dequant.open(model_support.ROOT / "examples/digits_qdq_int4.onnx")
    weights = {tensor.x: tensor.to_numpy() for tensor in model.values()}
    for result in (dequant.diff(weights, model), dequant.diff(model, weights)):
        assert (len(result.tensors), result.only_in_a, result.only_in_b, result.exact) == \
            (len(model), (), (), True)
    more = dequant.diff(model, weights | {"other": np.float32([1])})
    assert (len(more.tensors), more.only_in_b) == (len(model), ("other",))

"""dequant.open: a model file as a mapping of tensors, with the bits that everybody else has."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import dequant
from model_support import CLI, assert_same_bits, shared_models

import onnx
from onnx import helper

from arithmetic import INPUTS, assert_same, codes, codes_of, dequantized, floats, random_codes
from support import (SCALE, TENSORS, X, Y, ZERO, constant, dq, linear, model, node, save,
                     session, value)

FLOATS = ("float32", "float16", "bfloat16")


@pytest.fixture
def source(tmp_path):
    """A dequantized x, a float, a node that is not of constants, a scale that nobody takes as x."""
    proto = model([dq(), constant("held", floats(2.5)),
                   node("DequantizeLinear", "in scale", "late", "later")],
                  inputs=[value("in", "int8")], outputs=["y", "late"],
                  initializers=[*TENSORS, floats([1.5]).tensor("b")])
    return save(proto, tmp_path / "in.onnx")


def test_a_mapping_of_outputs_in_order(tmp_path):
    proto = model([dq(outputs="b", name="n1"), dq(outputs="a", name="n2"),
                   dq(outputs="c", name="n3")],
                  outputs=["a", "b", "c"], initializers=TENSORS)
    with dequant.open(save(proto, tmp_path / "m.onnx")) as m:
        assert list(m) == ["b", "a", "c"] and len(m) == 3
        assert [t.name for t in m.values()] == ["b", "a", "c"] and m["n2"].name == "a"
        assert "a" in m and "n3" in m and "nothing" not in m and 3 not in m \
            and m.get("nothing") is None
        assert dict(m)["c"] is m["c"] and m.tensors == tuple(m.values())
        with pytest.raises(KeyError,
                           match="x: several tensors have that name: the outputs b, a, c"):
            m["x"]
        assert m.format == "onnx" and m.path == str(tmp_path / "m.onnx") and m == m and m != {} \
            and {m: 1}[m] == 1
        assert repr(m) == f"<dequant.Model {m.path!r}, 3 tensors>"


def test_names_mean_what_extract_finds(source):
    with dequant.open(os.fspath(source)) as m:
        assert list(m) == ["y"]
        for name in ("y", "dq", "x"):
            assert m[name] is m["y"]


@pytest.mark.parametrize("name, sentence", [
    ("b", "b: a constant that no node dequantizes"),
    ("scale", "scale: a constant that no node dequantizes"),
    ("held", "held: a constant that no node dequantizes"),
    ("late", "late: it stays quantized: in is an input of the graph"),
    ("later", "later: it stays quantized: in is an input of the graph"),
    ("none", "has no constant and no dequantized constant of that name"),
    ("", "of that name"),
    ("a\0b", "of that name"), ("\ud800", "ud800"), (None, "None"), (0, "0")])
def test_what_is_no_tensor_is_no_key(source, name, sentence):
    with dequant.open(source) as m, pytest.raises(KeyError, match=sentence):
        m[name]


def test_names_need_not_be_utf8(tmp_path):
    import hostile_support as raw

    dq_node = raw.sub(1, raw.sub(1, "x"), raw.sub(1, "s"), raw.sub(2, b"\xff\xfe"),
                      raw.sub(4, "DequantizeLinear"))
    (tmp_path / "m.onnx").write_bytes(raw.model(dq_node, raw.initializer(raw.X),
                                                raw.initializer(raw.SCALE)))
    with dequant.open(tmp_path / "m.onnx") as m:
        [name] = m
        assert os.fsencode(name) == b"\xff\xfe" and m[name].to_numpy().shape == (2, 3)
        assert "\\udcff" in repr(m[name])


def test_a_name_in_two_functions_is_told(tmp_path):
    body = [dq(outputs="y", name="", inputs="cx cs"), constant("cx", X), constant("cs", SCALE)]
    functions = [helper.make_function("f", name, [], ["y"], body, [helper.make_opsetid("", 21)])
                 for name in "AB"]
    proto = model([node("A", "", "a", domain="f"), node("B", "", "b", domain="f")],
                  outputs=["a", "b"], functions=functions, domains=["f"])
    with dequant.open(save(proto, tmp_path / "m.onnx")) as m:
        assert list(m) == ["y"] and len(m.tensors) == 2
        with pytest.raises(KeyError, match="several"):
            m["y"]
        for tensor in m.tensors:
            assert_same(codes_of(tensor.to_numpy()), dequantized(X, SCALE))


def test_what_a_tensor_is(tmp_path):
    rng = np.random.default_rng(1)
    x, scale = random_codes(rng, "int4", [3, 70]), floats(rng.normal(size=(3, 3)), "float16")
    zero = random_codes(rng, "int4", [3, 3])
    t = dequant.open(linear(tmp_path, x, scale, zero, axis=-1, block_size=32))["y"]
    assert (t.name, t.node, t.x, t.domain, t.opset, t.shape) == \
        ("y", "dq", "x", "ai.onnx", 25, (3, 70))
    assert (t.dtype, t.stored_dtype, t.granularity, t.axis, t.block_size) == \
        ("float16", "int4", "blocked", 1, 32)
    assert (t.ndim, t.size, t.nbytes) == (2, 210, 105 + 18 + 5)
    assert repr(t) == "<dequant.Tensor 'y' int4[3, 70] -> float16, blocked by 32 on axis 1>"
    assert isinstance(t.codes, dequant.Packed) and (t.codes.dtype, t.codes.shape) == \
        ("int4", (3, 70))
    assert t.codes.data.tobytes() == x.packed()
    assert t.scale.dtype == np.float16 and t.scale.tobytes() == scale.packed() \
        and t.scale.shape == (3, 3)
    assert t.zero_point.dtype == ml_dtypes.int4 \
        and (t.zero_point.astype(int) == zero.values()).all()
    again = dequant.onnx.dequantize_linear(t.codes, t.scale, t.zero_point, axis=t.axis,
                                           block_size=t.block_size)
    assert_same_bits(again, t.to_numpy())
    with pytest.raises(AttributeError, match="not changed"):
        t.axis = 0
    with pytest.raises(AttributeError, match="not changed"):
        del t.axis


@pytest.mark.parametrize("attributes, text", [({}, "per tensor"), ({"axis": 1}, "per axis 1")])
def test_granularity_in_words(tmp_path, attributes, text):
    scale = floats(np.ones(3) if attributes else 1.0)
    t = dequant.open(linear(tmp_path, X, scale, **attributes))["y"]
    assert (t.granularity, t.axis, t.block_size) == (text.split(" 1")[0].replace(" ", "_"),
                                                     attributes.get("axis"), 0)
    assert repr(t).endswith(f"float32, {text}>") and t.zero_point is None


def test_microsofts_dialect_has_its_name(tmp_path):
    t = dequant.open(linear(tmp_path, X, SCALE, ZERO, domain="com.microsoft"))["y"]
    assert (t.domain, t.opset) == ("com.microsoft", 1)
    assert_same(codes_of(t.to_numpy()), Y)


@pytest.mark.parametrize("scale_type", FLOATS)
@pytest.mark.parametrize("element", INPUTS)
def test_every_type_comes_as_numpy_computes_it(element, scale_type, tmp_path):
    rng = np.random.default_rng(1)
    x, scale = random_codes(rng, element, [5, 7]), floats(rng.normal(size=7), scale_type)
    with dequant.open(linear(tmp_path, x, scale)) as m:
        t = m["y"]
        assert_same(codes_of(t.to_numpy()), dequantized(x, scale))
        for output in FLOATS:  # one rounding, whatever the tensor's own type
            expected = dequantized(x, scale, output=output)
            assert_same(codes_of(t.to_numpy(output)), expected)
            assert_same(codes_of(np.asarray(t, ml_dtypes.bfloat16 if output == "bfloat16"
                                            else output)), expected)
        assert t.codes.data.tobytes() == x.packed() and t.scale.tobytes() == scale.packed()


@pytest.mark.parametrize("element", INPUTS[:9])
def test_zero_points_of_every_integer(element, tmp_path):
    rng = np.random.default_rng(2)
    x, scale, zero = random_codes(rng, element, [5, 7]), floats(rng.normal(size=7)), \
        random_codes(rng, element, [7])
    if element == "int32":
        zero = codes("int32", np.zeros(7))
    t = dequant.open(linear(tmp_path, x, scale, zero))["y"]
    assert_same(codes_of(t.to_numpy()), dequantized(x, scale, zero))
    assert (np.asarray(t.zero_point).astype(np.int64) == zero.values()).all()


@shared_models
def test_shared_models_as_extract_and_onnx_runtime_have_them(path, tmp_path):
    with dequant.open(path) as m:
        found = [t.to_numpy() for t in m.tensors]
        names = list(m)
    assert len(names) == len(found)
    done = subprocess.run([CLI, "extract", path, "--all", "-o", tmp_path / "all"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode == (0 if found else 4)  # 4: there is nothing to extract
    if not found:
        return
    extracted = [np.load(p) for p in sorted((tmp_path / "all").iterdir(),
                                            key=lambda p: int(p.name.split("-")[0]))]
    assert len(extracted) == len(found)
    for ours, theirs in zip(found, extracted):
        assert_same_bits(ours, theirs)
    for ours, theirs in zip(found, computed(path, names, tmp_path)):
        assert_same_bits(ours, theirs)


def computed(path, names, folder):
    """What ONNX Runtime computes for these outputs, which need nothing but constants."""
    if not names:
        return []
    proto = onnx.load(path)
    nodes = [n for n in proto.graph.node if n.op_type in ("Constant", "Identity")
             or n.output[0] in names]
    types = dict.fromkeys(names, onnx.TensorProto.FLOAT)
    del proto.graph.node[:], proto.graph.input[:], proto.graph.output[:], proto.graph.value_info[:]
    proto.graph.node.extend(nodes)
    proto.graph.output.extend(helper.make_tensor_value_info(n, t, None) for n, t in types.items())
    return session(save(proto, folder / "constants.onnx")).run(names, {})


def test_numbers_go_where_they_are_wanted(tmp_path):
    t = dequant.open(linear(tmp_path, X, SCALE, ZERO))["y"]
    out = np.full((2, 3), -1, np.float32)
    assert t.to_numpy(out=out, threads=1) is out
    assert_same(codes_of(out), Y)
    half = np.zeros((2, 3), np.float16)
    t.to_numpy(np.float16, out=half)
    assert_same(codes_of(half), dequantized(X, SCALE, ZERO, output="float16"))
    for wrong in (np.zeros((3, 2), "f4"), np.zeros((2, 3), "f8"), np.zeros((2, 6), "f4")[:, ::2],
                  np.zeros(6, "f4")):
        with pytest.raises((TypeError, ValueError), match="^out: "):
            t.to_numpy(out=wrong)
    for wrong in ("int8", "float64", 3, "nonsense", "float8e4m3fn"):
        with pytest.raises(TypeError, match="^dtype: "):
            t.to_numpy(wrong)
    with pytest.raises(ValueError, match="^threads: "):
        t.to_numpy(threads=-1)
    with pytest.raises(ValueError, match="^like: "):
        t.to_numpy(like="jax")


def test_numpy_takes_a_tensor_for_an_array(tmp_path):
    t = dequant.open(linear(tmp_path, X, SCALE, ZERO))["y"]
    expected = t.to_numpy()
    assert_same_bits(np.asarray(t), expected)
    assert_same_bits(np.array(t, copy=True), expected)
    assert_same_bits(np.asarray(t, np.float64), expected.astype(np.float64))
    assert_same_bits(np.asarray(t, ">f4"), expected.astype(">f4"))
    assert_same_bits(np.add(t, 1), expected + 1)
    with pytest.raises(ValueError, match="copy"):
        t.__array__(copy=False)


def test_torch_gets_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    t = dequant.open(linear(tmp_path, X, SCALE, ZERO))["y"]
    assert_same_bits(t.to_numpy(like="torch").numpy(), t.to_numpy())
    assert t.to_numpy("bfloat16", like="torch").dtype == torch.bfloat16


def test_a_large_tensor_comes_whole(tmp_path):
    rng = np.random.default_rng(3)
    x, s = random_codes(rng, "int4", [3, 3_000_001]), floats(rng.normal(size=3), "bfloat16")
    t = dequant.open(linear(tmp_path, x, s, axis=0))["y"]
    for threads in (None, 1):
        assert_same(codes_of(t.to_numpy(threads=threads)), dequantized(x, s, axis=0))
    assert_same(codes_of(t.to_numpy("float32")), dequantized(x, s, axis=0, output="float32"))


def test_many_threads_read_one_model(tmp_path):
    rng = np.random.default_rng(4)
    x, s = random_codes(rng, "int8", [700, 1001]), floats(rng.normal(size=1001))
    proto = model([dq("x s", f"y{i}", f"n{i}") for i in range(8)], outputs=["y0"],
                  initializers=[helper.make_tensor("x", onnx.TensorProto.INT8, [700, 1001],
                                                   x.array().reshape(-1)),
                                s.tensor("s")])
    wrong = []
    with dequant.open(save(proto, tmp_path / "m.onnx")) as m:
        expected = dequant.onnx.dequantize_linear(x.array(), s.values().astype("f4"))

        def read(i):
            for _ in range(4):
                if m[f"n{i}"].to_numpy(threads=i % 3).tobytes() != expected.tobytes() \
                        or m[f"y{i}"].scale.size != 1001:
                    wrong.append(i)
        threads = [threading.Thread(target=read, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_other_threads_run_meanwhile(tmp_path):
    size = 40_000_000
    (tmp_path / "x").write_bytes(b"")
    os.truncate(tmp_path / "x", size)
    x = onnx.TensorProto(name="x", dims=[size], data_type=onnx.TensorProto.INT8,
                         data_location=onnx.TensorProto.EXTERNAL)
    x.external_data.add(key="location", value="x")
    t = dequant.open(save(model([dq("x s")], initializers=[x, floats(1.0).tensor("s")]),
                          tmp_path / "m.onnx"))["y"]
    out = np.empty(size, np.float32)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.monotonic())
    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    while time.monotonic() - begin < 1:
        first = time.monotonic()
        t.to_numpy(out=out, threads=1)
        last = time.monotonic()
        if any(first < at < last for at in ticks):
            break
    stop.set()
    thread.join()
    assert any(first < at < last for at in ticks)


def test_neither_models_nor_tensors_are_pickled(source):
    with dequant.open(source) as m:
        for thing in (m, m["y"]):
            for take in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot be pickled"):
                    take(thing)


def test_without_ml_dtypes_what_numpy_lacks_is_packed(tmp_path):
    rng = np.random.default_rng(5)
    path = linear(tmp_path, random_codes(rng, "int4", [2, 3]), floats(1.5, "bfloat16"),
                  codes("int4", 3))
    child = f"""
import sys
sys.modules["ml_dtypes"] = None
import dequant, numpy
t = dequant.open({str(path)!r})["y"]
assert t.scale.dtype == "bfloat16"
assert t.scale.data.tobytes() == {floats(1.5, "bfloat16").packed()!r}
assert t.zero_point.dtype == "int4" and t.to_numpy().dtype == numpy.uint16
assert (dequant.onnx.dequantize_linear(t.codes, t.scale, t.zero_point) == t.to_numpy()).all()
"""
    subprocess.run([sys.executable, "-c", child], check=True)


def test_scales_and_codes_that_are_computed(tmp_path):
    """A scale that is dequantized itself, and the codes of a quantized constant: their sizes are
    not those of what is stored."""
    x, scales = codes("int8", np.arange(48).reshape(6, 8)), \
        codes("float8e4m3fn", np.arange(50, 62).reshape(6, 2))
    inner = dequantized(scales, floats(0.5))
    nodes = [dq("sq s", "scale", "inner"), dq("x scale", "y", "outer", axis=1, block_size=4),
             node("QuantizeLinear", "w s", "wq", "q"), dq("wq s", "z", "pair")]
    proto = model(nodes, outputs=[value("y", shape=[6, 8]), value("z")], initializers=[
        x.tensor("x"), scales.tensor("sq"), floats(0.5).tensor("s"),
        floats([[0.1, 0.9, 3], [-1, 500, 2.25]]).tensor("w")])
    with dequant.open(save(proto, tmp_path / "in.onnx")) as m:
        assert list(m) == ["scale", "y", "z"]
        assert_same(codes_of(m["y"].to_numpy()), dequantized(x, inner, axis=1, block_size=4))
        assert_same(codes_of(m["y"].scale), inner)
        assert m["z"].x == "wq" and m["z"].to_numpy().tolist() == [[0, 1, 3], [0, 127.5, 2]]
        assert m["z"].codes.data.tolist() == [0, 2, 6, 0, 255, 4]

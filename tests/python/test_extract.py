"""`dequant extract` writes tensors of a model as .npy files: dequantized, or their stored codes."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from arithmetic import INPUTS, assert_same, codes, codes_of, dequantized, floats, random_codes
from support import (EXAMPLES, SCALE, TENSORS, X, Y, ZERO, constant, dequant, dq, linear, model,
                     node, save, value)


def extract(source, *arguments, to="out.npy"):
    dequant("extract", source, *arguments, "-o", source.parent / to)
    return np.load(source.parent / to)


@pytest.fixture
def source(tmp_path):
    """A dequantized x, a tensor nobody dequantizes, a float, a constant node."""
    others = [codes("int4", [[-8, 7, 1]]).tensor("lonely"), floats([1.5, 2]).tensor("bias")]
    proto = model([dq(), constant("held", floats(2.5))], initializers=[*TENSORS, *others])
    return save(proto, tmp_path / "in.onnx")


@pytest.mark.parametrize("name", ["y", "dq", "x"])
def test_output_node_and_x_name_the_result(source, name):
    assert_same(codes_of(extract(source, name)), Y)


@pytest.mark.parametrize("name", ["y", "dq", "x"])
def test_raw_gives_the_codes(source, name):
    raw = extract(source, name, "--raw")
    assert raw.dtype == np.int8 and raw.tolist() == X.values().tolist()
    table = dequant("extract", source, name, "--raw", "-o", source.parent / "again.npy").stdout
    assert table.splitlines()[1].split()[0] == "x"  # the name of the codes, not of their floats


@pytest.mark.parametrize("name, expected", [
    ("lonely", np.array([[-8, 7, 1]], "i1")), ("bias", np.array([1.5, 2], "f4")),
    ("held", np.array(2.5, "f4")), ("zero", np.array(5, "i1")), ("scale", np.array(0.3, "f4"))])
@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_other_constants_come_as_they_are(source, name, expected, options):
    found = extract(source, name, *options)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("element", INPUTS)
def test_every_type_comes_out_dequantized_and_raw(element, tmp_path):
    rng = np.random.default_rng(1)
    x, scale = random_codes(rng, element, [5, 7]), floats(rng.normal(size=7))
    source = linear(tmp_path, x, scale)
    assert_same(codes_of(extract(source, "y")), dequantized(x, scale))
    raw = extract(source, "y", "--raw", to="raw.npy")
    assert raw.dtype == x.array().dtype and raw.tolist() == x.array().tolist()


def test_float16_comes_as_float16(tmp_path):
    source = linear(tmp_path, X, floats(0.3, "float16"), ZERO)
    assert_same(codes_of(extract(source, "y")), dequantized(X, floats(0.3, "float16"), ZERO))


def test_bfloat16_is_widened_unless_raw(tmp_path):
    scale = floats(0.3, "bfloat16")
    source = linear(tmp_path, X, scale, ZERO)
    assert_same(codes_of(extract(source, "y")), floats(dequantized(X, scale, ZERO).values()))
    assert extract(source, "scale", to="wide.npy") == np.float32(scale.values())
    assert extract(source, "scale", "--raw", to="raw.npy") == np.uint16(scale.codes)


@pytest.mark.parametrize("element, scale",
                         [("int4", "float32"), ("uint2", "bfloat16"), ("int16", "float16")])
def test_tensor_larger_than_the_memory_comes_out_whole(element, scale, tmp_path):
    rng = np.random.default_rng(2)
    x, s = random_codes(rng, element, [3, 1_500_001]), floats(rng.normal(size=3), scale)
    source = linear(tmp_path, x, s, axis=0)
    y = dequantized(x, s, axis=0)
    expected = floats(y.values()) if scale == "bfloat16" else y
    assert_same(codes_of(extract(source, "y", "--mem", "1")), expected)
    raw = extract(source, "y", "--raw", to="raw.npy")
    assert (raw == x.array()).all()


@pytest.mark.parametrize("shape", [[], [0], [2, 0, 3], [1]])
def test_scalars_and_empty_tensors_come_out(shape, tmp_path):
    x = random_codes(np.random.default_rng(3), "int4", shape)
    source = linear(tmp_path, x, SCALE)
    assert_same(codes_of(extract(source, "y")), dequantized(x, SCALE))
    assert extract(source, "y", "--raw", to="raw.npy").shape == tuple(shape)


# Several tensors.

@pytest.fixture
def several(tmp_path):
    """Names that are no file names, one x twice, and a node that is not constant."""
    nodes = [dq(outputs="a/b:c", name="first"), dq(outputs="../d", name="second"),
             dq("w scale", "ÿ", "third"), dq("in scale", "y", "fourth")]
    proto = model(nodes, [value("in", "int8")], ["y"], [*TENSORS, X.tensor("w")])
    return save(proto, tmp_path / "in.onnx")


def test_all_writes_every_result_under_a_harmless_name(several, tmp_path):
    dequant("extract", several, "--all", "-o", tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "0000-a_b_c.npy", "0001-.._d.npy", "0002-__.npy"]
    for path in (tmp_path / "out").iterdir():
        y = dequantized(X, SCALE) if path.name.startswith("0002") else Y
        assert_same(codes_of(np.load(path)), y)


def test_all_raw_writes_every_x_once(several, tmp_path):
    dequant("extract", several, "--all", "--raw", "-o", tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["0000-x.npy", "0001-w.npy"]


def test_name_of_several_results_is_refused_but_raw_is_not(several, tmp_path):
    message = dequant("extract", several, "x", "-o", tmp_path / "out.npy", code=2).stderr
    assert "a/b:c" in message and "../d" in message
    assert extract(several, "x", "--raw").tolist() == X.values().tolist()


def test_tensors_of_bodies_and_functions_are_found(tmp_path):
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    both = {b: helper.make_graph([dq(outputs=b)], b, [], [value(b)]) for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    local = helper.make_function("local", "Call", [], ["v"], [
        constant("c", X), constant("s", SCALE), dq("c s", "v")], [helper.make_opsetid("", 21)])
    proto = model([choice, node("Call", "", "w", domain="local")], [flag], ["out", "w"], TENSORS,
                  functions=[local], domains=["local"])
    source = save(proto, tmp_path / "in.onnx")
    assert_same(codes_of(extract(source, "else")), Y)
    assert_same(codes_of(extract(source, "v", to="v.npy")), dequantized(X, SCALE))


def test_overridable_initializer_comes_with_the_value_in_the_file(tmp_path):
    proto = model([dq()], [value("x", "int8")], initializers=TENSORS)
    assert_same(codes_of(extract(save(proto, tmp_path / "in.onnx"), "y")), Y)


def test_examples_come_out_as_numpy_computes_them(tmp_path):
    source = EXAMPLES / "digits_qdq_int8.onnx"
    tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(source).graph.initializer}
    dequant("extract", source, "conv1.weight_quantized", "-o", tmp_path / "out.npy")
    scale = tensors["conv1.weight_scale"].reshape(-1, 1, 1, 1)
    expected = tensors["conv1.weight_quantized"].astype("f4") * scale
    assert np.load(tmp_path / "out.npy").tobytes() == expected.tobytes()


# Errors.

@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_all_of_nothing_says_so_and_what_there_is_instead(options, tmp_path):
    nodes = [node("MatMulFpQ4", "in b s", "y", "mat", "com.microsoft", K=3, N=3, bits=4,
                  block_size=16),
             dq("in8 scale", "v", "open")]
    tensors = [SCALE.tensor("scale"), codes("uint8", [[[1] * 8]] * 3).tensor("b"),
               floats([1, 1, 1]).tensor("s")]
    proto = model(nodes, ["in", value("in8", "int8")], ["y", "v"], tensors,
                  domains=["com.microsoft"])
    done = dequant("extract", save(proto, tmp_path / "in.onnx"), "--all", "-o", tmp_path / "out",
                   *options, code=4)
    assert "in.onnx: no dequantized constant, so there is nothing to extract" \
        in done.stderr
    assert "its quantized operators are 1 DequantizeLinear, 1 MatMulFpQ4" in done.stderr
    assert done.stdout == "" and [p.name for p in tmp_path.iterdir()] == ["in.onnx"]


def test_all_of_a_float_model_says_that_it_has_no_quantized_operator(tmp_path):
    source = save(model([node("Relu", "in", "y")], ["in"]), tmp_path / "in.onnx")
    done = dequant("extract", source, "--all", "-o", tmp_path / "out", code=4)
    assert "the model has no quantized operator" in done.stderr


@pytest.mark.parametrize("arguments, code", [
    (["nowhere"], 2), ([], 2), (["y", "--all"], 2), (["y", "-T", "x"], 2)])
def test_wrong_arguments_are_errors(source, arguments, code, tmp_path):
    dequant("extract", source, *arguments, "-o", tmp_path / "out.npy", code=code)
    assert [p.name for p in tmp_path.iterdir()] == ["in.onnx"]


def test_file_that_exists_is_kept_without_force(source, tmp_path):
    (tmp_path / "out.npy").write_text("precious")
    assert "exists" in dequant("extract", source, "y", "-o", tmp_path / "out.npy", code=5).stderr
    assert (tmp_path / "out.npy").read_text() == "precious"
    assert_same(codes_of(extract(source, "y", "--force")), Y)


def test_types_that_dequant_does_not_read_are_refused(tmp_path):
    proto = model([dq()], initializers=[*TENSORS, numpy_helper.from_array(np.array([1, 2]), "ids")])
    source = save(proto, tmp_path / "in.onnx")
    assert "ids" in dequant("extract", source, "ids", "-o", tmp_path / "out.npy", code=4).stderr


def test_constants_of_one_name_in_several_graphs_are_refused(tmp_path):
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    both = {b: helper.make_graph([node("Identity", "held", b)], b, [], [value(b, "int8")],
                                 [X.tensor("held")])
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    source = save(model([choice], [flag], [value("out", "int8")]), tmp_path / "in.onnx")
    message = dequant("extract", source, "held", "-o", tmp_path / "out.npy", code=2).stderr
    assert "constants of several graphs have that name" in message


# --dtype.

@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("natural", ["float32", "float16", "bfloat16"])
def test_dtype_has_the_bits_of_a_node_of_that_output_type(natural, dtype, tmp_path):
    x, scale = random_codes(np.random.default_rng(1), "int8", [30, 20]), floats(0.3, natural)
    source = linear(tmp_path, x, scale)
    expected = dequantized(x, scale, output=dtype).values().astype(
        "f2" if dtype == "float16" else "f4")  # numpy has no bfloat16
    dequant("extract", source, "y", "-o", tmp_path / "y.npy", "--dtype", dtype)
    dequant("extract", source, "--all", "-o", tmp_path / "all", "--dtype", dtype)
    for file in (tmp_path / "y.npy", tmp_path / "all" / "0000-y.npy"):
        found = np.load(file)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


def test_dtype_is_of_what_is_dequantized(tmp_path):
    source = linear(tmp_path, X, SCALE)
    target = tmp_path / "y.npy"
    error = dequant("extract", source, "scale", "-o", target, "--dtype", "float16", code=2).stderr
    assert "scale: it is stored as float32; --dtype is of tensors that are dequantized" in error
    assert "--raw" in dequant("extract", source, "x", "--raw", "-o", target, "--dtype", "float16",
                              code=2).stderr
    assert not target.exists()

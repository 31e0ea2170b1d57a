"""`dequant run` evaluates models of DequantizeLinear, Constant and Identity nodes, from and to .npy
and .pb files."""

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import wire
from arithmetic import (INPUTS, assert_same, codes, codes_of, dequantized, element_of, floats,
                        onnx_code, opset_of, random_codes)
from support import SCALE, TENSORS, X, Y, ZERO, convert, dequant, dq, model, node, save, value

def write(folder, kind, **tensors):
    """Input files, and the options that name them."""
    options = []
    for name, what in tensors.items():
        path = folder / f"{name}.{kind}"
        if kind == "npy":
            np.save(path, what.array())
        else:
            path.write_bytes(what.tensor("").SerializeToString())
        options += ["--input", f"{name}={path}"]
    return options


def linear_of_inputs(folder, x, scale, zero=None, **attributes):
    """A model whose x, scale and zero are inputs, and the formula's answer."""
    given = {"x": x, "scale": scale} | ({"zero": zero} if zero else {})
    infos = [value(name, what.element, what.codes.shape) for name, what in given.items()]
    output = element_of(attributes.get("output_dtype") or onnx_code(scale.element))
    made = model([dq(" ".join(given), **attributes)], infos, [value("y", output, x.codes.shape)],
                 opset=opset_of(x.element), ir_version=14)
    attributes.pop("output_dtype", None)
    return save(made, folder / "in.onnx"), given, dequantized(x, scale, zero, output=output,
                                                              **attributes)


def result(folder, kind, name="0000-y"):
    path = folder / f"{name}.{kind}"
    if kind == "npy":
        return codes_of(np.load(path))
    tensor = onnx.load_tensor(path)
    return codes_of(numpy_helper.to_array(tensor))


@pytest.mark.parametrize("kind", ["npy", "pb"])
@pytest.mark.parametrize("element", INPUTS)
def test_inputs_of_every_type_are_dequantized(element, kind, tmp_path):
    rng = np.random.default_rng(1)
    x, scale = random_codes(rng, element, [5, 3]), floats(rng.normal(size=3))
    is_float = element.startswith("float")
    zero = codes(element, np.zeros(3, int)) if is_float else random_codes(rng, element, [3])
    source, given, expected = linear_of_inputs(tmp_path, x, scale, zero)
    dequant("run", source, *write(tmp_path, kind, **given), "-o", tmp_path / "out", "--format",
            kind)
    assert_same(result(tmp_path / "out", kind), expected)


@pytest.mark.parametrize("kind", ["npy", "pb"])
@pytest.mark.parametrize("element", ["float16", "bfloat16", "float8e8m0"])
def test_scales_of_every_type_are_read(element, kind, tmp_path):
    scale = random_codes(np.random.default_rng(2), element, [2])
    source, given, expected = linear_of_inputs(tmp_path, X, scale, axis=0,
                                               output_dtype=TensorProto.FLOAT)
    dequant("run", source, *write(tmp_path, kind, **given), "-o", tmp_path / "out")
    assert_same(result(tmp_path / "out", "npy"), expected)


@pytest.mark.parametrize("kind", ["npy", "pb"])
def test_float16_output_keeps_its_type(kind, tmp_path):
    source, given, expected = linear_of_inputs(tmp_path, X, floats(0.3, "float16"), ZERO)
    dequant("run", source, *write(tmp_path, "npy", **given), "-o", tmp_path / "out", "--format",
            kind)
    assert_same(result(tmp_path / "out", kind), expected)


def test_bfloat16_output_is_widened_for_numpy(tmp_path):
    source, given, expected = linear_of_inputs(tmp_path, X, floats(0.3, "bfloat16"), ZERO)
    options = write(tmp_path, "npy", **given)
    dequant("run", source, *options, "-o", tmp_path / "npy")
    dequant("run", source, *options, "-o", tmp_path / "pb", "--format", "pb")
    assert_same(result(tmp_path / "pb", "pb"), expected)
    assert_same(result(tmp_path / "npy", "npy"), floats(expected.values()))


def test_output_file_is_a_tensor_with_its_name(tmp_path):
    source, given, _ = linear_of_inputs(tmp_path, X, SCALE, ZERO)
    dequant("run", source, *write(tmp_path, "npy", **given), "-o", tmp_path / "out", "--format",
            "pb")
    tensor = onnx.load_tensor(tmp_path / "out" / "0000-y.pb")
    assert (tensor.name, tensor.data_type, list(tensor.dims)) == ("y", TensorProto.FLOAT, [2, 3])


def test_a_tensor_file_with_malformed_metadata_was_read(tmp_path):
    source, given, _ = linear_of_inputs(tmp_path, X, SCALE, ZERO)
    options = write(tmp_path, "pb", **given)
    path = tmp_path / "x.pb"
    path.write_bytes(path.read_bytes() + wire.field(16, b"\x0f"))  # a wire type that does not exist
    assert "malformed protobuf" in dequant("run", source, *options, "-o", tmp_path / "out",
                                           code=3).stderr


@pytest.mark.parametrize("attribute", [{"value_float": 0.3}, {"value": SCALE.tensor("any")}])
def test_constants_and_identities_are_evaluated(attribute, tmp_path):
    nodes = [node("Constant", "", "scale", **attribute), node("Identity", "x", "i"),
             node("Identity", "i", "j"),
             dq("j scale zero"), node("Identity", "y", "z")]
    source = save(model(nodes, [value("x", "int8")], ["z", value("i", "int8")], TENSORS[2:]),
                  tmp_path / "in.onnx")
    dequant("run", source, *write(tmp_path, "npy", x=X), "-o", tmp_path / "out")
    assert_same(result(tmp_path / "out", "npy", "0000-z"), Y)
    assert np.load(tmp_path / "out" / "0001-i.npy").tolist() == X.values().tolist()


def test_scales_of_a_constant_node_may_be_floats(tmp_path):
    nodes = [node("Constant", "", "scale", value_floats=[0.3, 2]), dq("x scale", axis=0)]
    source = save(model(nodes, [value("x", "int8")]), tmp_path / "in.onnx")
    dequant("run", source, *write(tmp_path, "npy", x=X), "-o", tmp_path / "out")
    assert_same(result(tmp_path / "out", "npy"), dequantized(X, floats([0.3, 2]), axis=0))


def test_initializer_that_is_an_input_may_be_given_or_not(tmp_path):
    proto = model([dq()], [value("x", "int8"), value("scale", shape=[])], initializers=TENSORS)
    source = save(proto, tmp_path / "in.onnx")
    dequant("run", source, *write(tmp_path, "npy", x=X), "-o", tmp_path / "without")
    assert_same(result(tmp_path / "without", "npy"), Y)
    dequant("run", source, *write(tmp_path, "npy", x=X, scale=floats(7)), "-o", tmp_path / "with")
    assert_same(result(tmp_path / "with", "npy"), dequantized(X, floats(7), ZERO))


def test_converted_model_of_constants_can_be_run(tmp_path):
    source = save(model([dq()], initializers=TENSORS), tmp_path / "in.onnx")
    convert(source)
    for name in ("in", "out"):
        dequant("run", tmp_path / f"{name}.onnx", "-o", tmp_path / name)
        assert_same(result(tmp_path / name, "npy"), Y)


@pytest.mark.parametrize("shape, order", [([4, 5, 6], "F"), ([0, 3], "C"), ([], "C")])
def test_arrays_of_any_order_and_size_are_read(shape, order, tmp_path):
    x = random_codes(np.random.default_rng(3), "int16", shape)
    source, given, expected = linear_of_inputs(tmp_path, x, SCALE)
    options = write(tmp_path, "npy", **given)
    np.save(tmp_path / "x.npy", np.asarray(x.array(), dtype=">i2", order=order))
    dequant("run", source, *options, "-o", tmp_path / "out")
    assert_same(result(tmp_path / "out", "npy"), expected)


# Errors.

@pytest.fixture
def source(tmp_path):
    linear_of_inputs(tmp_path, X, SCALE)
    write(tmp_path, "npy", x=X, scale=SCALE, vector=floats([1, 2]), wrong=Y,
          short=codes("int8", [[1, 2], [3, 4]]))
    return tmp_path / "in.onnx"


@pytest.mark.parametrize("inputs, code, message", [
    (["x=x.npy"], 2, "input scale is missing"),
    (["x=x.npy", "scale=scale.npy", "x=x.npy"], 2, "input x is given twice"),
    (["x=x.npy", "scale=scale.npy", "w=x.npy"], 2, "the model has no such input"),
    (["x", "scale=scale.npy"], 2, "not of the form NAME=FILE"),
    (["x=wrong.npy", "scale=scale.npy"], 2, "cannot hold int8"),
    (["x=none.npy", "scale=scale.npy"], 5, "none.npy"),
    (["x=x.npy", "scale=vector.npy"], 2, "input scale has the shape [2], the model wants []"),
    (["x=short.npy", "scale=scale.npy"], 2, "input x has the shape [2, 2], the model wants [2, 3]"),
])
def test_wrong_inputs_are_errors(source, inputs, code, message, tmp_path):
    options = [part for text in inputs for part in ("--input", text)]
    assert message in dequant("run", "in.onnx", *options, "-o", "out", code=code,
                              cwd=tmp_path).stderr
    assert not (tmp_path / "out").exists()


def with_shape(folder, shape):
    """A model whose x has this shape, and the options for an x of [2, 3]."""
    proto = model([dq("x scale")], [value("x", "int8", shape), value("scale", shape=None)],
                  [value("y", shape=None)])
    save(proto, folder / "in.onnx")
    return ["run", folder / "in.onnx", *write(folder, "npy", x=X, scale=SCALE), "-o",
            folder / "out"]


@pytest.mark.parametrize("shape", [None, ["n", 3], ["n", "n"], [2, None], [2, 3]])
def test_dimension_without_a_size_allows_any(shape, tmp_path):
    dequant(*with_shape(tmp_path, shape))
    assert_same(result(tmp_path / "out", "npy"), dequantized(X, SCALE))


@pytest.mark.parametrize("shape, told", [
    ([2, 4], "[2, 4]"), (["n", 4], "[?, 4]"), ([3], "[3]"), (["a", "b", "c"], "[?, ?, ?]"),
    ([], "[]"), ([0, 3], "[0, 3]")])
def test_input_of_another_shape_than_declared_was_taken(shape, told, tmp_path):
    message = dequant(*with_shape(tmp_path, shape), code=2).stderr
    assert f"input x has the shape [2, 3], the model wants {told}" in message


def test_scale_of_a_wrong_shape_is_an_error_of_the_node(tmp_path):
    arguments = with_shape(tmp_path, [2, 3])
    np.save(tmp_path / "scale.npy", np.ones([2, 2, 2], "f4"))
    assert "x_scale" in dequant(*arguments, code=3).stderr


def test_an_output_of_another_type_than_declared_was_written(tmp_path):
    source = save(model([dq()], [], [value("y", "float16", [2, 3])], initializers=TENSORS),
                  tmp_path / "in.onnx")
    message = dequant("run", source, "-o", tmp_path / "out", code=3).stderr
    assert "output y is float32, the model declares float16" in message
    assert not (tmp_path / "out").exists()


def test_an_expected_tensor_without_a_type_is_malformed_and_not_skipped(tmp_path):
    data = tmp_path / "case" / "test_data_set_0"
    data.mkdir(parents=True)
    save(model([dq()], initializers=TENSORS), tmp_path / "case" / "model.onnx")
    (data / "output_0.pb").write_bytes(b"")  # cut off before its first byte
    message = dequant("check", tmp_path / "case", code=3).stderr
    assert "output_0.pb" in message and "the tensor has no data_type" in message


def test_other_operators_are_not_evaluated(tmp_path):
    source = save(model([dq(), node("Neg", "y", "z", "minus")], outputs=["z"],
                        initializers=TENSORS),
                  tmp_path / "in.onnx")
    message = dequant("run", source, "-o", tmp_path / "out", code=4).stderr
    assert "minus" in message and "Neg" in message


def test_an_operator_of_three_outputs_was_called_malformed(tmp_path):
    many = node("DynamicQuantizeLinear", "y", "codes s z", "many")
    source = save(model([dq(), many], outputs=["codes"], initializers=TENSORS),
                  tmp_path / "in.onnx")
    error = dequant("run", source, "-o", tmp_path / "out", code=4).stderr
    assert "operator DynamicQuantizeLinear" in error


def test_outputs_that_exist_are_kept_without_force(source, tmp_path):
    arguments = ["run", source, "--input", f"x={tmp_path / 'x.npy'}", "--input",
                 f"scale={tmp_path / 'scale.npy'}",
                 "-o", tmp_path]
    (tmp_path / "0000-y.npy").write_text("precious")
    assert "exists" in dequant(*arguments, code=5).stderr
    assert (tmp_path / "0000-y.npy").read_text() == "precious"
    dequant(*arguments, "--force")
    assert_same(result(tmp_path, "npy"), dequantized(X, SCALE))


# The node tests of ONNX, which are such models.

def node_tests(folder):
    return sorted(p.parent for p in folder.rglob("model.onnx"))


def test_node_tests_of_onnx_give_the_expected_outputs(shared, tmp_path):
    folders = node_tests(shared / "conformance")
    assert len(folders) > 14
    for i, folder in enumerate(folders):
        inputs = onnx.load(folder / "model.onnx").graph.input
        data = folder / "test_data_set_0"
        options = [part for k, info in enumerate(inputs)
                   for part in ("--input", f"{info.name}={data / f'input_{k}.pb'}")]
        out = tmp_path / str(i)
        dequant("run", folder / "model.onnx", *options, "-o", out, "--format", "pb")
        [path] = out.iterdir()
        expected = onnx.load_tensor(data / "output_0.pb")
        assert_same(codes_of(numpy_helper.to_array(onnx.load_tensor(path))),
                    codes_of(numpy_helper.to_array(expected)))


@pytest.mark.parametrize("target", [
    "avx512_fp16", "avx512_bf16", "avx512", "avx2", "sse4", "neon", "reference"])
def test_check_passes_all_conformance_cases(target, shared, monkeypatch):
    monkeypatch.setenv("DEQUANT_FORCE_TARGET", "none")
    refused = dequant("check", shared / "conformance", code=2).stderr
    assert refused.startswith('dequant: error: DEQUANT_FORCE_TARGET: target: "none" is not one of ')
    monkeypatch.setenv("DEQUANT_FORCE_TARGET", target)
    if target not in re.findall(r"\w+", refused.partition("one of")[2]):
        assert f'"{target}" is not one of' in dequant("check", shared / "conformance",
                                                      code=2).stderr
        return
    lines = dequant("check", shared / "conformance").stdout.splitlines()
    assert len(lines) == 1 and lines[0].endswith(" passed, 0 failed, 0 skipped")

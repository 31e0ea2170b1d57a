"""`dequant convert --dtype`: the constants have the type that is asked for, with the bits of a
DequantizeLinear of that output type, and a Cast gives their readers the type they had."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from arithmetic import (FLOATS, INPUTS, assert_same, codes_of, dequantized, floats, onnx_code,
                        random_codes)
from support import (EXAMPLES, SCALE, TENSORS, X, Y, ZERO, assert_same_outputs, convert, dequant,
                     dq, initializer, linear, model, names, node, op_types, save, session,
                     value)

FLAG = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
OUTPUTS = ["float32", "float16", "bfloat16"]


def cast_of(proto, output):
    """The node that yields a name, which is a Cast of a constant; returns its type and input."""
    [cast] = [n for n in proto.graph.node if output in n.output]
    assert (cast.op_type, cast.domain, len(cast.input)) == ("Cast", "", 1)
    [to] = cast.attribute
    assert (to.name, to.type) == ("to", onnx.AttributeProto.INT)
    return to.i, cast.input[0]


def narrowed(array, element):
    with np.errstate(over="ignore"):
        return array.astype(FLOATS[element])


# Bits.

@pytest.mark.parametrize("dtype", OUTPUTS)
@pytest.mark.parametrize("natural", OUTPUTS)
@pytest.mark.parametrize("element", INPUTS)
def test_constants_are_rounded_once_from_float32(element, natural, dtype, tmp_path):
    rng = np.random.default_rng(1)
    x = random_codes(rng, element, [37, 11])
    numbers = rng.normal(size=11) * 10.0 ** rng.integers(-9, 5, 11)  # too large and small ones too
    scale = floats(np.append(numbers[:-2], [np.inf, np.nan]), natural)
    converted, report = convert(linear(tmp_path, x, scale, axis=1), "--dtype", dtype)
    [folded] = report["folded"]
    assert (folded["output"], folded["output_type"]) == ("y", dtype)
    assert folded["float_bytes"] == 37 * 11 * (4 if dtype == "float32" else 2)
    assert_same(initializer(converted, folded["constant"]),
                dequantized(x, scale, axis=1, output=dtype))
    if dtype == natural:
        assert (folded["constant"], op_types(converted)) == ("y", [])
    else:
        assert folded["constant"] == f"y_{dtype}"
        assert cast_of(converted, "y") == (onnx_code(natural), f"y_{dtype}")


@pytest.mark.parametrize("dtype", OUTPUTS)
def test_the_type_that_a_node_has_changes_nothing(dtype, tmp_path):
    source = linear(tmp_path, X, floats(0.3, dtype))
    convert(source, to="default.onnx")
    convert(source, "--dtype", dtype)
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "default.onnx").read_bytes()


# In ONNX Runtime: what numpy and ml_dtypes narrow gives the same outputs.

def narrowed_by_numpy(source, target, dtype):
    """Converts without --dtype and lets others narrow the constants, and cast them back."""
    converted, report = convert(source, to="float.onnx")
    folded = {f["constant"] for f in report["folded"]}
    graphs = [converted.graph]
    for graph in graphs:
        for t in graph.initializer:
            if t.name not in folded:
                continue
            array = numpy_helper.to_array(t, base_dir=str(source.parent))
            back = narrowed(array.astype("f4"), dtype).astype("f4").astype(array.dtype)
            t.CopyFrom(numpy_helper.from_array(back, t.name))
        for n in graph.node:
            graphs.extend(a.g for a in n.attribute if a.type == onnx.AttributeProto.GRAPH)
    onnx.save(converted, target)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("options", [[], ["--external-data"]], ids=["inline", "external data"])
def test_shared_models_compute_with_narrowed_weights(shared, options, dtype, tmp_path):
    tried = 0
    for path in sorted((shared / "models").glob("*.onnx")) + sorted(EXAMPLES.glob("*qdq*.onnx")):
        folder = tmp_path / path.stem
        folder.mkdir()
        for file in path.parent.glob(path.stem + "*"):
            (folder / file.name).symlink_to(file)
        source = folder / path.name
        opset = max([i.version for i in onnx.load(source, load_external_data=False).opset_import
                     if i.domain in ("", "ai.onnx")])
        if dtype == "bfloat16" and opset < 13:
            target = folder / "out.onnx"
            error = dequant("convert", source, "-o", target, "--dtype", dtype, code=4).stderr
            assert f"opset 13; the model imports opset {opset}" in error
            assert not target.exists()
            continue
        _, report = convert(source, "--dtype", dtype, *options)
        if not report["folded"]:
            continue
        narrowed_by_numpy(source, folder / "narrowed.onnx", dtype)
        assert_same_outputs(folder / "narrowed.onnx", folder / "out.onnx", runs=2)
        tried += 1
    assert tried >= 5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_optimizers_of_onnx_runtime_keep_the_model(dtype, tmp_path):
    """Also where they compute the Cast once: the results are those of the narrowed weights."""
    source = tmp_path / "in.onnx"
    source.write_bytes((EXAMPLES / "digits_qdq_int8.onnx").read_bytes())
    convert(source, "--dtype", dtype, "--strip-qdq")
    images = np.load(EXAMPLES / "digits_test_images.npy")
    results = []
    for level in (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
                  onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        runtime = onnxruntime.InferenceSession(tmp_path / "out.onnx", options)
        results += runtime.run(None, {"image": images})
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)
    labels = np.load(EXAMPLES / "digits_test_labels.npy")
    assert (results[1].argmax(axis=1) == labels).mean() > 0.95


# Where the constant is read.

def matrix(rng, scale=0.05):
    x = random_codes(rng, "int8", [64, 48])
    return x, floats(scale), [x.tensor("x"), floats(scale).tensor("scale")]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_files_take_half_the_bytes(dtype, tmp_path):
    x, scale, tensors = matrix(np.random.default_rng(1))
    source = save(model([dq("x scale", "w"), node("MatMul", "in w", "y")],
                        [value("in", shape=[2, 64])], [value("y", shape=[2, 48])], tensors),
                  tmp_path / "in.onnx")
    sizes = {}
    for t in ("float32", dtype):
        convert(source, "--dtype", t, to=f"{t}.onnx")
        sizes[t] = (tmp_path / f"{t}.onnx").stat().st_size
    assert sizes["float32"] > 64 * 48 * 4
    assert sizes[dtype] - 64 * 48 * 2 < 600  # names, types and the Cast


def test_graph_outputs_annotations_and_several_readers_keep_their_type(tmp_path):
    """The value is an output of the graph, is listed among its values, and two nodes read it."""
    nodes = [dq(outputs="w"), node("Add", "w w", "sum"), node("Neg", "w", "minus")]
    proto = model(nodes, outputs=["w", "sum", "minus"], initializers=TENSORS,
                  value_info=[value("w")])
    source = save(proto, tmp_path / "in.onnx")
    converted, _ = convert(source, "--dtype", "float16")
    assert op_types(converted) == ["Cast", "Add", "Neg"]
    assert names(converted) == ["w_float16"]
    assert converted.graph.node[0].name == "dq"
    narrowed_by_numpy(source, tmp_path / "narrowed.onnx", "float16")
    assert_same_outputs(tmp_path / "narrowed.onnx", tmp_path / "out.onnx", runs=1)


def test_one_quantized_tensor_that_two_nodes_read_becomes_two_constants(tmp_path):
    other = floats(0.7).tensor("other")
    nodes = [dq(outputs="a", name="dq a"), dq("x other", "b", "dq b"), node("Add", "a b", "y")]
    source = save(model(nodes, initializers=[*TENSORS, other]), tmp_path / "in.onnx")
    converted, _ = convert(source, "--dtype", "bfloat16")
    assert sorted(names(converted)) == ["a_bfloat16", "b_bfloat16"]
    assert_same(initializer(converted, "a_bfloat16"),
                dequantized(X, SCALE, ZERO, output="bfloat16"))


def test_a_name_that_the_model_has_is_not_taken(tmp_path):
    nodes = [dq(outputs="w"), node("Add", "w w_float16", "y")]
    source = save(model(nodes, ["w_float16"], initializers=TENSORS), tmp_path / "in.onnx")
    converted, report = convert(source, "--dtype", "float16")
    assert report["folded"][0]["constant"] == "w_float16_"
    assert names(converted) == ["w_float16_"]
    assert_same_outputs_of_narrowed(source, "float16")


def assert_same_outputs_of_narrowed(source, dtype):
    narrowed_by_numpy(source, source.parent / "narrowed.onnx", dtype)
    assert_same_outputs(source.parent / "narrowed.onnx", source.parent / "out.onnx", runs=3)


def body(nodes, outputs, initializers=()):
    return helper.make_graph(nodes, "body", [], [value(o) for o in outputs], initializers)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_constants_of_bodies(dtype, tmp_path):
    """One constant of the main graph that a body reads, and one that a body has itself."""
    bodies = {b: body([dq(outputs=f"own_{b}", name=f"dq_{b}"), node("Mul", f"own_{b} outer", b)],
                      [b]) for b in ("then", "else")}
    choice = node("If", "flag", "y", then_branch=bodies["then"], else_branch=bodies["else"])
    source = save(model([dq("x scale", "outer", "dq"), choice], [FLAG], ["y"], TENSORS),
                  tmp_path / "in.onnx")
    converted, report = convert(source, "--dtype", dtype)
    assert report["totals"]["folded"] == 3
    assert op_types(converted) == ["Cast", "If"]
    for attribute in converted.graph.node[1].attribute:
        assert [n.op_type for n in attribute.g.node] == ["Cast", "Mul"]
        assert [t.data_type for t in attribute.g.initializer] == [onnx_code(dtype)]
    assert_same_outputs_of_narrowed(source, dtype)


@pytest.mark.parametrize("opset, dtype", [(21, "float16"), (21, "bfloat16"), (10, "float16")])
def test_functions_get_a_constant_and_a_cast(opset, dtype, tmp_path):
    made = [helper.make_node("Constant", [], [n], value=t)
            for n, t in zip(["x", "scale", "zero"], TENSORS)]
    function = helper.make_function("test.domain", "Weights", [], ["w"], [*made, dq(outputs="w")],
                                    [helper.make_opsetid("", opset)], [])
    proto = model([node("Weights", "", "w", domain="test.domain"), node("Neg", "w", "y")],
                  opset=opset, functions=[function], domains=["test.domain"])
    source = save(proto, tmp_path / "in.onnx")
    converted, report = convert(source, "--dtype", dtype)
    [changed] = converted.functions
    assert [n.op_type for n in changed.node] == ["Constant", "Cast"]
    [tensor] = [a.t for a in changed.node[0].attribute]
    assert_same(codes_of(numpy_helper.to_array(tensor)), dequantized(X, SCALE, ZERO, output=dtype))
    [y] = session(tmp_path / "out.onnx").run(None, {})
    expected = dequantized(X, SCALE, ZERO, output=dtype).values().astype("f4")
    assert y.tobytes() == (-expected).tobytes()


def test_models_before_ir_version_4_get_a_constant_and_a_cast(tmp_path):
    proto = model([dq()], ["x", "scale", "zero"], initializers=TENSORS, opset=13, ir_version=3)
    for i, t in zip(proto.graph.input, TENSORS, strict=True):
        i.CopyFrom(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    source = save(proto, tmp_path / "in.onnx")
    converted, _ = convert(source, "--dtype", "bfloat16", "--assume-const")
    assert op_types(converted) == ["Constant", "Cast"]
    assert cast_of(converted, "y") == (onnx_code("float32"), "y_bfloat16")


def test_strip_qdq_leaves_the_casts(tmp_path):
    source = tmp_path / "in.onnx"
    source.write_bytes((EXAMPLES / "digits_qdq_int8.onnx").read_bytes())
    converted, report = convert(source, "--dtype", "float16", "--strip-qdq")
    assert op_types(converted).count("Cast") == report["totals"]["folded"] == 8
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(op_types(converted))
    plain, _ = convert(source, "--strip-qdq", to="plain.onnx")
    kept = [n for n in converted.graph.node if n.op_type != "Cast"]
    assert kept == list(plain.graph.node)


def test_values_that_a_clip_decision_needs_are_still_those_of_the_node(tmp_path):
    """Sums of bounded activations and folded constants: what is known of the constant is what the
    node yields, whatever type its constant has."""
    nodes = [node("Sigmoid", "in", "s"), dq("x scale", "w", "dq w"), node("Mul", "s w", "m"),
             node("QuantizeLinear", "m big", "q"), node("DequantizeLinear", "q big", "y", "late")]
    tensors = [*TENSORS[:2], floats(40.0).tensor("big")]
    source = save(model(nodes, ["in"], initializers=tensors), tmp_path / "in.onnx")
    plain, expected = convert(source, "--strip-qdq", to="plain.onnx")
    _, report = convert(source, "--strip-qdq", "--dtype", "float16")
    assert report["stripped"] == expected["stripped"]


def test_microsoft_operators_leave_no_import_behind(tmp_path):
    source = linear(tmp_path, X, floats(0.3, "float16"), domain="com.microsoft", opset=13)
    converted, _ = convert(source, "--dtype", "bfloat16")
    assert [i.domain for i in converted.opset_import] == [""]
    assert cast_of(converted, "y") == (onnx_code("float16"), "y_bfloat16")


# Where no Cast can be.

@pytest.mark.parametrize("opset, domain, dtype, since", [
    (10, "", "bfloat16", 13), (12, "", "bfloat16", 13), (5, "com.microsoft", "float16", 6)])
def test_refused_where_the_operator_set_has_no_such_cast(opset, domain, dtype, since, tmp_path):
    source = linear(tmp_path, X, SCALE, opset=opset, domain=domain)
    error = dequant("convert", source, "-o", tmp_path / "out.onnx", "--dtype", dtype, code=4).stderr
    assert error == (f"dequant: error: {source}: node dq: dtype {dtype} needs a Cast to float32, "
                     f"which ai.onnx has since opset {since}; the model imports opset {opset}\n")
    assert not (tmp_path / "out.onnx").exists()


def test_refused_where_the_model_does_not_import_onnx(tmp_path):
    source = linear(tmp_path, X, SCALE, domain="com.microsoft")
    proto = onnx.load(source)
    del proto.opset_import[:]
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    save(proto, source)
    convert_error = dequant("convert", source, "-o", tmp_path / "out.onnx", "--dtype", "float16",
                            "--dry-run", code=4).stderr
    assert "since opset 6; the model does not import ai.onnx\n" in convert_error


def test_nodes_that_are_not_selected_need_no_cast(tmp_path):
    source = linear(tmp_path, X, SCALE, opset=10)
    converted, _ = convert(source, "--dtype", "bfloat16", "--exclude", "*")
    assert op_types(converted) == ["DequantizeLinear"]


def test_only_float_types_are_taken(tmp_path):
    source = linear(tmp_path, X, SCALE)
    target = tmp_path / "out.onnx"
    error = dequant("convert", source, "-o", target, "--dtype", "int8", code=2).stderr
    assert "--dtype" in error and "float32" in error

"""What each operator of quantized arithmetic computes by its definition: ONNX Runtime runs the
operator on random codes, and the model of `dequant convert --strip-qdq` on the floats that these
codes stand for. Both agree to half a step of the output's scale."""

import dataclasses
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from support import convert, dequant, model, node, op_types, reasons, save, session

RANGES = {"uint8": (0, 255), "int8": (-128, 127)}
MICROSOFT = "com.microsoft"


@dataclasses.dataclass
class Row:
    """A node of one operator. Inputs that end in _s are scales, in _z zero points; `shapes` has the
    codes, of which those in `constants` are initializers. A bias, `c`, is int32."""
    inputs: str
    shapes: dict
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = MICROSOFT
    constants: str = ""
    scales: dict = dataclasses.field(default_factory=dict)  # of the output; or how many, of others
    op_type: str = ""
    opset: int = 21
    steps: float = 0.501  # by how many steps of the output kernels of ONNX Runtime are inexact


ONE, TWO, IMAGE = "x x_s x_z y_s y_z", "a a_s a_z b b_s b_z y_s y_z", {"x": [2, 3, 7, 8]}
PLAIN = {"a": [4, 3, 5], "b": [3, 5]}
POOL = dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 2])
GEMM, CONV = "a a_s a_z b b_s b_z c y_s y_z", "x x_s x_z w w_s w_z y_s y_z c"
GEMM_SHAPES = {"a": [5, 24], "b": [24, 6], "c": [6]}
CONV_SHAPES = {"x": [2, 3, 7, 8], "w": [4, 3, 3, 3], "c": [4]}
WIDE = {"y_s": 0.6}

ROWS = {
    "QLinearMatMul": Row(TWO, {"a": [5, 24], "b": [24, 6]}, domain="", scales=WIDE),
    "QLinearMatMul by columns": Row(TWO, {"a": [5, 24], "b": [24, 6]}, domain="", constants="b",
                                    scales={"b": 6, **WIDE}),
    "QLinearConv": Row(CONV, CONV_SHAPES, dict(pads=[1, 1, 0, 0]), "", "w c", {"w": 4, **WIDE}),
    "QLinearConv of com.microsoft": Row(CONV, CONV_SHAPES, dict(channels_last=0), MICROSOFT, "w c",
                                        WIDE),
    "QGemm": Row(GEMM, GEMM_SHAPES, {}, MICROSOFT, "b c", WIDE),
    "QGemm without bias": Row(TWO.replace(" y_s", " - y_s"), {"a": [5, 24], "b": [24, 6]},
                              scales=WIDE, op_type="QGemm"),
    "QGemm by columns": Row(GEMM, GEMM_SHAPES, dict(alpha=0.5), constants="b c",
                            scales={"b": 6, **WIDE}),
    "QGemm transposed": Row(GEMM, {"a": [24, 5], "b": [6, 24], "c": [1, 6]},
                            dict(transA=1, transB=1, alpha=1.5), constants="b c",
                            scales={"b": 6, **WIDE}),
    "QGemm with a float output": Row("a a_s a_z b b_s b_z c", GEMM_SHAPES, dict(alpha=0.25),
                                     constants="b c", scales={"b": 6}),
    "QGemm with a bias of rows": Row(GEMM, {"a": [5, 24], "b": [24, 6], "c": [5, 1]},
                                     constants="b c", scales=WIDE),
    "QLinearAdd": Row(TWO, PLAIN),
    "QLinearAdd of a constant": Row(TWO, PLAIN, constants="b"),
    "QLinearMul": Row(TWO, PLAIN),
    "QLinearConcat": Row("y_s y_z a a_s a_z b b_s b_z d d_s d_z",
                         {"a": [2, 3, 4], "b": [2, 1, 4], "d": [2, 5, 4]}, dict(axis=1),
                         constants="d"),
    "QLinearConcat of one": Row("y_s y_z a a_s a_z", {"a": [2, 3, 4]}, dict(axis=-1)),
    "QLinearAveragePool": Row(ONE, IMAGE, POOL),
    "QLinearAveragePool counting pads": Row(ONE, IMAGE, dict(count_include_pad=1,
                                                             channels_last=0, **POOL)),
    "QLinearAveragePool of ceil": Row(ONE, IMAGE, dict(ceil_mode=1, **POOL)),
    "QLinearAveragePool of SAME": Row(ONE, IMAGE, dict(auto_pad="SAME_UPPER", kernel_shape=[3, 3],
                                                       strides=[2, 2])),
    "QLinearGlobalAveragePool": Row(ONE, IMAGE, dict(channels_last=0)),
    "QLinearSigmoid": Row(ONE, IMAGE, scales={"y_s": 1 / 200}),
    "QLinearSigmoid without the zero point of x": Row("x x_s - y_s y_z", IMAGE,
                                                      scales={"y_s": 1 / 100}),
    "QLinearLeakyRelu": Row(ONE, IMAGE),
    "QLinearLeakyRelu with alpha": Row(ONE, IMAGE, dict(alpha=0.3)),
    "QLinearSoftmax": Row(ONE, {"x": [4, 3, 5]}, dict(opset=13), scales={"y_s": 1 / 256}),
    "QLinearSoftmax of an axis": Row(ONE, {"x": [4, 3, 5]}, dict(opset=21, axis=1),
                                     scales={"y_s": 1 / 256}),
    "QLinearSoftmax of opset 12": Row(ONE, {"x": [4, 3, 5]}, dict(opset=12, axis=1),
                                      scales={"y_s": 1 / 256}, opset=12),
    "QLinearSoftmax of opset 12 in 21": Row(ONE, {"x": [4, 3, 5]}, dict(opset=12),
                                            scales={"y_s": 1 / 256}),
    "QLinearSoftmax of opset 13 in 12": Row(ONE, {"x": [4, 3, 5]}, dict(opset=13),
                                            scales={"y_s": 1 / 256}, opset=12),
    "QLinearWhere": Row("flag a a_s a_z b b_s b_z y_s y_z", PLAIN),
}
BECOMES = {"QGemm": "Gemm"}


@dataclasses.dataclass
class Made:
    """A saved model of a row, with the numbers of its parameters."""
    path: object
    row: Row
    name: str
    numbers: dict

    @property
    def operator(self):
        return self.row.op_type or self.name.split()[0]

    def floats(self, name, codes):
        """The numbers of codes that have one scale."""
        scale, zero = self.numbers[f"{name}_s"], self.numbers.get(f"{name}_z", 0)
        return ((codes.astype("f8") - zero) * scale).astype("f4")


def make(name, row, kind, path, rng):
    low, high = RANGES[kind]
    dtype, numbers, tensors, inputs = np.dtype(kind), {}, [], []
    per_axis = {k: v for k, v in row.scales.items() if k != "y_s"}
    for token in dict.fromkeys(row.inputs.split()):
        if token == "-":
            continue
        owner = token[:-2]
        if token == "flag":
            inputs.append(helper.make_tensor_value_info(token, onnx.TensorProto.BOOL, [4, 1, 5]))
        elif token.endswith("_s"):
            size = [per_axis[owner]] if owner in per_axis else []
            numbers[token] = np.float32(row.scales["y_s"]) if token in row.scales else \
                rng.uniform(0.02, 0.05, size).astype("f4")
        elif token.endswith("_z"):
            size = [per_axis[owner]] if owner in per_axis else []
            numbers[token] = rng.integers(low + 118, high - 117, size).astype(dtype)
            if owner in per_axis and (kind == "int8" or "Conv" in name):
                numbers[token][...] = numbers[token].flat[0]  # more ONNX Runtime does not have
        elif token == "c":
            numbers[token] = rng.integers(-5000, 5000, row.shapes["c"]).astype("i4")
        elif token in row.constants.split():
            numbers[token] = rng.integers(low, high + 1, row.shapes[token]).astype(dtype)
        else:
            inputs.append(helper.make_tensor_value_info(
                token, helper.np_dtype_to_tensor_dtype(dtype), row.shapes[token]))
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in numbers.items()]
    made = node(row.op_type or name.split()[0], row.inputs, "y", "layer", row.domain,
                **row.attributes)
    quantized = "y_s" in row.inputs
    out = helper.make_tensor_value_info(
        "y", helper.np_dtype_to_tensor_dtype(np.dtype(kind if quantized else "f4")),
        [f"d{i}" for i in range(max(map(len, row.shapes.values())))])
    proto = model([made], inputs, [out], tensors, opset=row.opset,
                  domains=[row.domain] if row.domain else [])
    return Made(save(proto, path), row, name, numbers)


def feeds(made, kind, rng):
    """Codes for a model with them, and the floats for one without."""
    low, high = RANGES[kind]
    given = {n: rng.integers(low, high + 1, shape).astype(kind)
             for n, shape in made.row.shapes.items() if n not in made.numbers}
    plain = {n: made.floats(n, codes) for n, codes in given.items()}
    if "flag" in made.row.inputs:
        given["flag"] = plain["flag"] = rng.random([4, 1, 5]) < 0.5
    return given, plain


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("name", ROWS)
def test_float_model_computes_what_the_operator_is_defined_to(name, kind, tmp_path):
    row = ROWS[name]
    rng = np.random.default_rng(5)
    made = make(name, row, kind, tmp_path / "in.onnx", rng)
    plain, report = convert(made.path, "--strip-qdq", "--clip", "never", "--require-float")
    becomes = BECOMES.get(made.operator, made.operator.removeprefix("QLinear"))
    assert [t for t in op_types(plain) if t not in ("Identity", "Constant")] == [becomes]
    assert report["left"] == []
    # Neither scale has an effect in the float model, other than in this list.
    for changed in report["inputs_changed"] + report["outputs_changed"]:
        n = changed["name"]
        assert (changed["scale"], changed["zero_point"]) == \
            (made.numbers[f"{n}_s"], made.numbers.get(f"{n}_z", 0))
    assert {c["name"] for c in report["inputs_changed"]} == \
        set(row.shapes) - set(made.numbers)
    assert len(report["outputs_changed"]) == ("y_s" in made.numbers)
    before, after = session(made.path), session(tmp_path / "out.onnx")
    seen = 0
    for _ in range(8):
        given, floats = feeds(made, kind, rng)
        [expected], [found] = before.run(None, given), after.run(None, floats)
        assert expected.shape == found.shape and found.dtype == np.float32
        if "y_s" not in made.numbers:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
            continue
        ends = [made.floats("y", np.array(end)) for end in RANGES[str(expected.dtype)]]
        seen += ((found > ends[0]) & (found < ends[1])).mean() / 8
        error = np.abs(np.clip(found, *ends) - made.floats("y", expected))
        assert error.max() <= row.steps * made.numbers["y_s"]
    assert seen > 0.2 or "y_s" not in made.numbers, "all numbers are cut off"


def test_mean_computes_what_the_schema_says(tmp_path):
    """ONNX Runtime has QLinearReduceMean's schema, and no kernel."""
    for opset in (13, 18, 21):
        for axes, keepdims in (([1, 2], 1), ([-1], 0)):
            row = Row(ONE, {"x": [2, 3, 4]}, dict(axes=axes, keepdims=keepdims), opset=opset)
            rng = np.random.default_rng(5)
            made = make("QLinearReduceMean", row, "uint8", tmp_path / "in.onnx", rng)
            if not keepdims:
                proto = onnx.load(made.path)
                del proto.graph.output[0].type.tensor_type.shape.dim[2]
                save(proto, made.path)
            plain, report = convert(made.path, "--strip-qdq", "--clip", "never",
                                    "--require-float", "--force")
            assert "ReduceMean" in op_types(plain)
            scales = [c["scale"] for c in report["inputs_changed"] + report["outputs_changed"]]
            assert scales == [made.numbers["x_s"], made.numbers["y_s"]]
            _, floats = feeds(made, "uint8", rng)
            [found] = session(tmp_path / "out.onnx").run(None, floats)
            expected = floats["x"].mean(tuple(axes), keepdims=bool(keepdims))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


REFUSED = {
    "layout of AveragePool": (Row(ONE, IMAGE, dict(channels_last=1, kernel_shape=[2, 2]),
                                  op_type="QLinearAveragePool"),
                              "channels_last: the float operator has its channels at axis 1"),
    "pads of AveragePool": (Row(ONE, IMAGE, dict(ceil_mode=1, count_include_pad=1, **POOL),
                                op_type="QLinearAveragePool"),
                            "ceil_mode with count_include_pad: the float operator divides windows "
                            "beyond the pads by another number"),
    "layout of GlobalAveragePool": (Row(ONE, IMAGE, dict(channels_last=1),
                                        op_type="QLinearGlobalAveragePool"),
                                    "channels_last: the float operator has its channels at axis 1"),
    "layout of Conv": (Row(CONV, CONV_SHAPES, dict(channels_last=1), constants="w c",
                           op_type="QLinearConv"),
                       "channels_last: the float operator has its channels at axis 1"),
    "axes of Softmax": (Row(ONE, {"x": [4, 3, 5]}, dict(opset=12, axis=1),
                            op_type="QLinearSoftmax"),
                        "its axis 1 is meant as in opset 12, where Softmax of opset 21, which the "
                        "model imports, computes otherwise"),
    "axes of a new Softmax": (Row(ONE, {"x": [4, 3, 5]}, dict(opset=13, axis=0),
                                  op_type="QLinearSoftmax", opset=12),
                              "its axis 0 is meant as in opset 13, where Softmax of opset 12, "
                              "which the model imports, computes otherwise"),
    "last axis of an old Softmax": (Row(ONE, {"x": [4, 3, 5]}, dict(opset=10),
                                        op_type="QLinearSoftmax", opset=10),
                                    "Softmax has no axis -1 before opset 11; the model imports 10"),
    "Softmax without its opset": (Row(ONE, {"x": [4, 3, 5]}, op_type="QLinearSoftmax"),
                                  "it has no attribute opset"),
    "factor that is no float": (Row(GEMM, GEMM_SHAPES, dict(alpha=2), constants="b c",
                                    op_type="QGemm"), "alpha is not a float"),
    "old Gemm without a bias": (Row(TWO.replace(" y_s", " - y_s"), {"a": [5, 24], "b": [24, 6]},
                                    op_type="QGemm", opset=10),
                                "Gemm needs its input C before opset 11; the model imports 10"),
    "bias that is computed": (Row(GEMM, GEMM_SHAPES, op_type="QGemm", constants="b",
                                  scales={"c": 0}), "c is an input of the graph"),
    "bias of other columns": (Row(GEMM, {**GEMM_SHAPES, "c": [5, 1]}, op_type="QGemm",
                                  constants="b c", scales={"b": 6}),
                              "c: 6 scales for the shape [5, 1]"),
    "several scales of an activation": (Row(TWO, PLAIN, op_type="QLinearAdd", scales={"a": 5}),
                                        "a_s: scales of shape [5], where an activation has one"),
    "several scales of a constant": (Row(TWO, PLAIN, op_type="QLinearAdd", constants="b",
                                         scales={"b": 5}),
                                     "b_s: several scales where one is allowed"),
    "output without a zero point": (Row(TWO[:-4], PLAIN, op_type="QLinearMul"),
                                    "its output has no zero point, which would have the type of "
                                    "the output"),
    "input without a scale": (Row("y_s y_z a a_s a_z b", {"a": [2, 3, 4], "b": [2, 3, 4]},
                                  dict(axis=1), op_type="QLinearConcat"), "input 6 is missing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_float_operator_does_not_do_stays(name, tmp_path):
    row, reason = REFUSED[name]
    made = make(name, row, "uint8", tmp_path / "in.onnx", np.random.default_rng(5))
    if name == "bias that is computed":
        proto = onnx.load(made.path)
        [c] = [t for t in proto.graph.initializer if t.name == "c"]
        proto.graph.initializer.remove(c)
        proto.graph.input.append(helper.make_tensor_value_info("c", onnx.TensorProto.INT32, [6]))
        save(proto, made.path)
    report = json.loads(dequant("convert", made.path, "-o", tmp_path / "out.onnx", "--strip-qdq",
                                "--json").stdout)
    assert reasons(report) == {"layer": reason}
    assert op_types(onnx.load(tmp_path / "out.onnx")) == [made.operator]

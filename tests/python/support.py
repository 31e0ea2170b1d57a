"""What the tests share: the command line under test, models made by hand, ONNX Runtime, and the
arithmetic of DequantizeLinear written down once more in numpy, independently of dequant."""

import dataclasses
import json
import os
import pathlib
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

FLOATS = {  # types that numpy or ml_dtypes can view
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu, "float32": np.dtype("<f4"), "float16": np.dtype("<f2"),
    "bfloat16": ml_dtypes.bfloat16}
BITS = {"uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "int32": 32, "uint4": 4, "int4": 4,
        "uint2": 2, "int2": 2, "float4e2m1": 4, "float8e4m3fn": 8, "float8e4m3fnuz": 8,
        "float8e5m2": 8, "float8e5m2fnuz": 8, "float8e8m0": 8, "float32": 32, "float16": 16,
        "bfloat16": 16}
FLOAT4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])


def onnx_code(element):
    """The number in TensorProto.DataType: FLOAT8E4M3FN is spelled there as here, float32 is not."""
    names = {"float32": "FLOAT"}
    return getattr(TensorProto, names.get(element, element.upper()))


@dataclasses.dataclass
class Codes:
    """A tensor as the codes of its elements, unsigned, one array entry each."""
    element: str
    codes: np.ndarray

    def values(self):
        """The numbers the codes stand for, exactly, as float64."""
        codes = self.codes.astype(np.int64)
        if self.element == "float4e2m1":
            return np.where(codes & 8, -1.0, 1.0) * FLOAT4[codes & 7]
        if self.element in FLOATS:
            unsigned = np.dtype(f"<u{BITS[self.element] // 8}")
            return self.codes.astype(unsigned).view(FLOATS[self.element]).astype(np.float64)
        width = BITS[self.element]
        if self.element.startswith("int"):
            codes = np.where(codes >= 1 << (width - 1), codes - (1 << width), codes)
        return codes.astype(np.float64)

    def packed(self):
        """The bytes of raw_data: little-endian, small elements from the low bits of each byte on."""
        width = BITS[self.element]
        codes = self.codes.reshape(-1).astype(np.uint64)
        if width >= 8:
            return codes.astype(f"<u{width // 8}").tobytes()
        held = 8 // width
        codes = np.append(codes, np.zeros(-codes.size % held, np.uint64)).reshape(-1, held)
        shifts = np.arange(held, dtype=np.uint64) * np.uint64(width)
        return (codes << shifts).sum(axis=1).astype(np.uint8).tobytes()

    def tensor(self, name):
        return helper.make_tensor(name, onnx_code(self.element), self.codes.shape, self.packed(), raw=True)


def codes(element, array):
    return Codes(element, np.asarray(array, np.int64) & ((1 << BITS[element]) - 1))


def floats(array, element="float32"):
    """The codes of some numbers in a float type."""
    array = np.asarray(array, FLOATS[element])
    return Codes(element, array.view(f"<u{BITS[element] // 8}").astype(np.int64))


def random_codes(rng, element, shape):
    """Any codes, but no float8e8m0 so large or small that all products would be alike."""
    low, high = (117, 137) if element == "float8e8m0" else (0, 1 << BITS[element])
    return Codes(element, rng.integers(low, high, shape))


def dequantized(x, scale, zero_point=None, axis=1, block_size=0, output=None):
    """y = narrow(fl32(fl32(x - zero_point) * fl32(scale))): one rounding of the difference, which is
    exact for all types but int32, one of the product, one to the output. Returns Codes."""
    def expand(values):
        if values.size == 1 and block_size == 0:
            return values.reshape(())
        if block_size == 0:
            shape = [1] * x.codes.ndim
            shape[axis] = -1
            return values.reshape(shape)
        most = [slice(None)] * x.codes.ndim
        most[axis] = slice(x.codes.shape[axis])
        return np.repeat(values, block_size, axis)[tuple(most)]

    with np.errstate(all="ignore"):
        difference = x.values()
        if zero_point is not None:
            difference = difference - expand(zero_point.values())
        y = difference.astype(np.float32) * expand(scale.values()).astype(np.float32)
        return floats(y.astype(FLOATS[output or scale.element]), output or scale.element)


def assert_same(actual, expected):
    """The same type, shape and bits; any NaN is like any other."""
    assert (actual.element, actual.codes.shape) == (expected.element, expected.codes.shape)
    different = (actual.codes != expected.codes) & ~(np.isnan(actual.values()) & np.isnan(expected.values()))
    assert not different.any(), f"{different.sum()} of {different.size} differ, first at {np.argwhere(different)[0]}"


# Models.

def node(op_type, inputs, outputs, name="", domain="", **attributes):
    """A node; inputs and outputs are names separated by spaces, "-" is an input left out."""
    inputs = ["" if i == "-" else i for i in inputs.split()]
    return helper.make_node(op_type, inputs, outputs.split(), name=name, domain=domain, **attributes)


def value(name, element="float32", shape=None):
    return helper.make_tensor_value_info(name, onnx_code(element), shape)


def model(nodes, inputs=(), outputs=("y",), initializers=(), opset=21, ir_version=10, functions=(),
          domains=(), **more):
    """A ModelProto; inputs and outputs are names or ValueInfoProtos, initializers TensorProtos."""
    def infos(values):
        return [value(v) if isinstance(v, str) else v for v in values]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), initializers, **more)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=functions,
                             producer_name="tests")


def linear(folder, x, scale, zero_point=None, opset=25, domain="", **attributes):
    """A saved model with one DequantizeLinear of initializers, whose output is the graph's."""
    names = "x scale" + (" zero" if zero_point is not None else "")
    tensors = [x.tensor("x"), scale.tensor("scale")]
    if zero_point is not None:
        tensors.append(zero_point.tensor("zero"))
    out = attributes.get("output_dtype")
    element = next((e for e in BITS if out and onnx_code(e) == out), scale.element)
    made = model([node("DequantizeLinear", names, "y", "dq", domain, **attributes)],
                 outputs=[value("y", element, x.codes.shape)], initializers=tensors, opset=opset,
                 ir_version=13 if opset >= 25 else 12 if opset == 24 else 11 if opset == 23 else 10,
                 domains=[domain] if domain else [])
    return save(made, folder / "in.onnx")


def save(proto, path):
    path.write_bytes(proto.SerializeToString())
    return path


def initializer(proto, name):
    """An initializer of a loaded model as Codes, read by onnx."""
    found = [t for t in proto.graph.initializer if t.name == name]
    assert len(found) == 1, f"{len(found)} initializers {name}"
    return codes_of(onnx.numpy_helper.to_array(found[0]))


def codes_of(array):
    """A numpy array of a float type as Codes."""
    element = {np.dtype(t): e for e, t in FLOATS.items()}[array.dtype]
    return Codes(element, array.view(f"<u{array.itemsize}").astype(np.int64))


def op_types(proto):
    return [n.op_type for n in proto.graph.node]


# Programs.

def dequant(*arguments, code=0, cwd=None):
    """Runs the command line and checks its exit code."""
    done = subprocess.run([os.environ["DEQUANT_CLI"], *map(str, arguments)], text=True, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stderr}{done.stdout}"
    return done


def convert(source, *options, to="out.onnx"):
    """Converts a saved model into `to` beside it; returns the new model and the report. Every output
    must please onnx.checker."""
    target = source.parent / to
    report = json.loads(dequant("convert", source, "-o", target, "--json", *options).stdout)
    onnx.checker.check_model(str(target), full_check=True)
    return onnx.load(target), report


def reasons(report):
    return {left["node"]: left["reason"] for left in report["left"]}


def session(path):
    """A session that computes a model as it is written. Besides graph optimizations, prepacking is off:
    ONNX Runtime multiplies by constant (prepacked) matrices in another order of additions than by
    computed ones, so the same weights would give other last bits once they are initializers."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def random_feeds(runtime, rng, batch=1):
    """One random value for each input of a session; open dimensions are `batch`."""
    feeds = {}
    for i in runtime.get_inputs():
        shape = [d if isinstance(d, int) else batch for d in i.shape]
        if i.type == "tensor(float)":
            feeds[i.name] = rng.normal(size=shape).astype(np.float32)
        else:
            kind = {"tensor(uint8)": np.uint8, "tensor(int8)": np.int8}[i.type]
            limits = np.iinfo(kind)
            feeds[i.name] = rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
    return feeds


def assert_same_outputs(original, converted, runs=100):
    """ONNX Runtime computes the same bits from both models, for random inputs."""
    before, after = session(original), session(converted)
    rng = np.random.default_rng(1)
    for _ in range(runs):
        feeds = random_feeds(before, rng)
        for a, b in zip(before.run(None, feeds), after.run(None, feeds), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert a.tobytes() == b.tobytes()

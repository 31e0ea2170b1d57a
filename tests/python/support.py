"""What the tests share: models made by hand, the command line under test, and ONNX Runtime."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from arithmetic import codes, codes_of, dequantized, element_of, floats, onnx_code, opset_of

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

def node(op_type, inputs, outputs, name="", domain="", **attributes):
    """A node; inputs and outputs are names separated by spaces, "-" is an input left out."""
    inputs = ["" if i == "-" else i for i in inputs.split()]
    return helper.make_node(op_type, inputs, outputs.split(), name=name, domain=domain,
                            **attributes)


def value(name, element="float32", shape=(2, 3)):
    """A ValueInfoProto; hand-made models are about tensors of 2 x 3 unless they say otherwise."""
    return helper.make_tensor_value_info(name, onnx_code(element), shape)


def model(nodes, inputs=(), outputs=("y",), initializers=(), opset=21, ir_version=10, functions=(),
          domains=(), **more):
    """A ModelProto; inputs and outputs are names or ValueInfoProtos, initializers TensorProtos."""
    def infos(values):
        return [value(v) if isinstance(v, str) else v for v in values]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), initializers, **more)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version,
                             functions=functions,
                             producer_name="tests")


def linear(folder, x, scale, zero_point=None, opset=None, domain="", **attributes):
    """A saved model with one DequantizeLinear of initializers, whose output is the graph's."""
    opset = opset or opset_of(x.element)
    names = "x scale" + (" zero" if zero_point is not None else "")
    tensors = [x.tensor("x"), scale.tensor("scale")]
    if zero_point is not None:
        tensors.append(zero_point.tensor("zero"))
    element = element_of(attributes.get("output_dtype") or onnx_code(scale.element))
    made = model([node("DequantizeLinear", names, "y", "dq", domain, **attributes)],
                 outputs=[value("y", element, x.codes.shape)], initializers=tensors, opset=opset,
                 ir_version=14 if opset >= 28 else 13 if opset >= 25 else
                 12 if opset == 24 else 11 if opset == 23 else 10,
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


def names(proto):
    return [t.name for t in proto.graph.initializer]


def op_types(proto):
    return [n.op_type for n in proto.graph.node]


# Programs.

def dequant(*arguments, code=0, cwd=None):
    """Runs the command line and checks its exit code."""
    done = subprocess.run([os.environ["DEQUANT_CLI"], *map(str, arguments)], text=True, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stderr}{done.stdout}"
    return done


LAUNCHER = """
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ,
                        file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (1, 2)])
print(os.wait4(child, 0)[2].ru_maxrss)
"""


def peak_memory(folder, *arguments, program=None, **more):
    """The largest resident memory of a command, in bytes. A child begins with that of its parent,
    which is small here."""
    command = [sys.executable, "-S", "-c", LAUNCHER, program or os.environ["DEQUANT_CLI"],
               *map(str, arguments)]
    return int(subprocess.run(command, cwd=folder, check=True, capture_output=True,
                              text=True, **more).stdout) * 1024


def convert(source, *options, to="out.onnx", verified=True):
    """Converts a saved model into `to` beside it; returns the new model and the report. Every
    output must please onnx.checker, and `dequant verify` unless `verified` is False."""
    target = source.parent / to
    report = json.loads(dequant("convert", source, "-o", target, "--json", *options).stdout)
    onnx.checker.check_model(str(target), full_check=True)
    if verified:
        dequant("verify", source, target)
    return onnx.load(target), report


def reasons(report):
    return {left["node"]: left["reason"] for left in report["left"]}


def session(path):
    """A session that computes a model as it is written. Besides graph optimizations, prepacking is
    off: ONNX Runtime multiplies by constant (prepacked) matrices in another order of additions than
    by computed ones, so the same weights would give other last bits once they are initializers."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def digits_accuracy(path):
    """Per cent of the test images that a digits model recognizes."""
    images = np.load(EXAMPLES / "digits_test_images.npy")
    labels = np.load(EXAMPLES / "digits_test_labels.npy")
    [logits] = session(path).run(None, {"image": images})
    return (logits.argmax(axis=1) == labels).mean() * 100


def random_feeds(runtime, rng, batch=1):
    """One random value for each input of a session; open dimensions are `batch`."""
    feeds = {}
    for i in runtime.get_inputs():
        shape = [d if isinstance(d, int) else batch for d in i.shape]
        if i.type in ("tensor(float)", "tensor(float16)"):
            feeds[i.name] = rng.normal(size=shape).astype("f2" if "16" in i.type else "f4")
        elif i.type == "tensor(bool)":
            feeds[i.name] = np.asarray(rng.random(shape) < 0.5)
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


# The one dequantization that tests about everything but arithmetic use.

X, SCALE, ZERO = codes("int8", [[-128, -1, 0], [1, 2, 127]]), floats(0.3), codes("int8", 5)
Y = dequantized(X, SCALE, ZERO)
TENSORS = [X.tensor("x"), SCALE.tensor("scale"), ZERO.tensor("zero")]


def dq(inputs="x scale zero", outputs="y", name="dq", domain="", **attributes):
    return node("DequantizeLinear", inputs, outputs, name, domain, **attributes)


def q(inputs, outputs, name="q", domain="", **attributes):
    return node("QuantizeLinear", inputs, outputs, name, domain, **attributes)


def constant(name, what):
    return node("Constant", "", name, value=what.tensor(name))

"""Models by TensorFlow's own converter, and the floats of its own DEQUANTIZE, for
test_tflite_converter.py: a process of its own, as TensorFlow prints much. Its argument is a folder,
which gets a MODE.tflite and a MODE.npz for each mode of quantization, with the floats of each
constant of the model that DEQUANTIZE takes, and the values of the others."""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from tflite_support import Tensor, limits, model, operator, parsed, schema  # noqa: E402

DEQUANTIZED = {"INT2", "INT4", "UINT8", "INT8", "INT16", "FLOAT16"}
NAMES = {number: name for name, number in vars(schema.TensorType).items()
         if isinstance(number, int)}


def dequantize(tensor, data):
    """The floats of a constant of a model: the output of a DEQUANTIZE of the reference kernels."""
    def change(m):
        first = m.subgraphs[0].tensors[0]
        first.shape, first.quantization = tensor.shape, tensor.quantization
        m.subgraphs[0].tensors[1].shape = tensor.shape
        m.subgraphs[0].outputs = [1]
        operator(m, "DEQUANTIZE", [0], [1])
    made = model([Tensor("x", NAMES[tensor.type], data=bytes(data)), Tensor("y", "FLOAT32")],
                 change=change)
    interpreter = tf.lite.Interpreter(
        model_content=made,
        experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    interpreter.invoke()
    return interpreter.get_tensor(1)


def values(data):
    """Of each constant of the model that is not sparse."""
    m = parsed(data)
    interpreter = tf.lite.Interpreter(model_content=data)
    out = {}
    for i, tensor in enumerate(m.subgraphs[0].tensors):
        buffer = m.buffers[tensor.buffer]
        data_of = buffer.data
        if data_of is None and buffer.offset > 1:
            data_of = np.frombuffer(data, np.uint8)[buffer.offset:buffer.offset + buffer.size]
        if data_of is None or tensor.sparsity is not None:
            continue
        name, kind = tensor.name.decode(), NAMES[tensor.type]
        out[f"{kind} {name}"] = interpreter.get_tensor(i)
        if kind in DEQUANTIZED:
            out[f"floats {name}"] = dequantize(tensor, data_of)
        elif tensor.quantization is not None and tensor.quantization.scale is not None:
            q = tensor.quantization
            assert not np.any(q.zeroPoint) and tensor.shape.size == 1  # a bias
            codes = interpreter.get_tensor(i)
            out[f"floats {name}"] = codes.astype(np.float32) * q.scale
    return out


class Layers(tf.Module):
    """Convolutions and a matrix; `sparse` matrices are mostly zeros."""

    def __init__(self, sparse=False):
        rng = np.random.default_rng(0)
        dense = rng.standard_normal((512, 16)).astype(np.float32)
        if sparse:
            dense[rng.random(dense.shape) < 0.9] = 0
        self.conv = tf.Variable(rng.standard_normal((3, 3, 4, 8)).astype(np.float32))
        self.depthwise = tf.Variable(rng.standard_normal((3, 3, 8, 1)).astype(np.float32))
        self.bias = tf.Variable(rng.standard_normal(8).astype(np.float32))
        self.dense = tf.Variable(dense)
        self.dense_bias = tf.Variable(rng.standard_normal(16).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([1, 8, 8, 4], tf.float32, name="x")])
    def __call__(self, x):
        y = tf.nn.relu(tf.nn.conv2d(x, self.conv, 1, "SAME") + self.bias)
        y = tf.nn.depthwise_conv2d(y, self.depthwise, [1, 1, 1, 1], "SAME") + self.bias
        return tf.matmul(tf.reshape(y, [1, 512]), self.dense) + self.dense_bias


class Trained(tf.Module):
    """A matrix of 4 bits, as training with quantization gives it."""

    def __init__(self):
        rng = np.random.default_rng(1)
        self.weight = tf.Variable(rng.standard_normal((64, 15)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([1, 64], tf.float32, name="x")])
    def __call__(self, x):
        quantized = tf.quantization.fake_quant_with_min_max_vars
        weight = quantized(self.weight, -2.0, 2.0, num_bits=4, narrow_range=True)
        return quantized(tf.matmul(quantized(x, -3.0, 3.0), weight), -30.0, 30.0)


def inputs():
    rng = np.random.default_rng(2)
    for _ in range(4):
        yield [rng.standard_normal((1, 8, 8, 4)).astype(np.float32)]


OPS, TARGET = tf.lite.OpsSet, "target_spec."
DEFAULT = {"optimizations": [tf.lite.Optimize.DEFAULT]}
INTEGER = DEFAULT | {"representative_dataset": inputs}
INT8 = INTEGER | {TARGET + "supported_ops": [OPS.TFLITE_BUILTINS_INT8]}
MODES = {
    "float": (Layers(), {}),
    "dynamic_range": (Layers(), DEFAULT),
    "float16": (Layers(), DEFAULT | {TARGET + "supported_types": [tf.float16]}),
    "integer_with_float_inputs": (Layers(), INTEGER),
    "int8": (Layers(), INT8 | {"inference_input_type": tf.int8, "inference_output_type": tf.int8}),
    "uint8_inputs": (Layers(), INT8 | {"inference_input_type": tf.uint8,
                                       "inference_output_type": tf.uint8}),
    "int16x8": (Layers(), INTEGER | {TARGET + "supported_ops": [
        OPS.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8]}),
    "per_tensor": (Layers(), INTEGER | {"_experimental_disable_per_channel": True}),
    "old_quantizer": (Layers(), INTEGER | {"experimental_new_quantizer": False}),
    "trained_int4": (Trained(), DEFAULT | {"_experimental_low_bit_qat": True}),
    "buffer_offsets": (Layers(), DEFAULT | {"_experimental_use_buffer_offset": True}),
    "sparse": (Layers(sparse=True), {"optimizations": [tf.lite.Optimize.EXPERIMENTAL_SPARSITY]}),
}


def convert(module, options):
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [module.__call__.get_concrete_function()], module)
    for name, value in options.items():
        where = converter.target_spec if name.startswith(TARGET) else converter
        setattr(where, name.removeprefix(TARGET), value)
    return converter.convert()


def odd():
    """A model of every code of every type that DEQUANTIZE takes, by scales of every kind."""
    scales = np.array([0.1, 3e-3, 1.7e38, 1e-38, 3e-45, 0, -0.5, np.nan, np.inf, 7], np.float32)
    rng = np.random.default_rng(3)
    tensors = []
    for kind in ("INT8", "UINT8", "INT4", "INT2"):
        lowest, highest = limits(kind)
        codes = np.broadcast_to(np.arange(lowest, highest + 1),
                                (len(scales), highest + 1 - lowest))
        zero = rng.integers(lowest, highest, len(scales), endpoint=True)
        tensors += [Tensor(f"{kind} rows", kind, codes, scales, zero, 0),
                    Tensor(f"{kind} columns", kind, codes.T, scales, zero, 1),
                    Tensor(f"{kind} row", kind, codes[0], scales[:1], zero[:1])]
    tensors += [Tensor(f"INT16 {scale}", "INT16", np.arange(-2**15, 2**15), [scale], [0])
                for scale in scales]
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    return model(tensors + [Tensor("halves", "FLOAT16", halves)])


def main():
    folder = pathlib.Path(sys.argv[1])
    made = {mode: convert(module, options) for mode, (module, options) in MODES.items()}
    for mode, data in (made | {"odd": odd()}).items():
        (folder / f"{mode}.tflite").write_bytes(data)
        np.savez(folder / f"{mode}.npz", **values(data))


if __name__ == "__main__":
    main()

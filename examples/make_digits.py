#!/usr/bin/env python3
"""Make the example models: a small digit classifier and two quantized forms of it.

    python examples/make_digits.py [OUTPUT_DIRECTORY]

The network is trained here, in numpy, on scikit-learn's 8x8 handwritten digits, and
then quantized by ONNX Runtime's own quantizers, so the quantized files are what a
user of those tools gets. The packages are pinned in scripts/requirements.txt.

Written (by default into the directory of this script):

    digits_float.onnx       the trained float model
    digits_qdq_int8.onnx    quantize_static, QDQ format: int8 per channel, int32 biases
    digits_qdq_int4.onnx    MatMulNBitsQuantizer, QDQ format: MatMul weights in 4-bit blocks
    digits_test_images.npy  the held-out test images, float32 [n, 1, 8, 8]
    digits_test_labels.npy  their digits, int64 [n]

Every random choice has a fixed seed and the training runs on one thread, so two runs on
one machine write the same bytes. Another kind of CPU may not: numpy's BLAS may add up the
products of a matrix multiplication in another order there, and training makes of such last
bits slightly other weights, so the .onnx files differ. The .npy files do not.
"""

import logging
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

SEED = 0
TEST_IMAGES = 360
CALIBRATION_IMAGES = 200
EPOCHS = 60
BATCH = 32
LEARNING_RATE = 0.05


def load_split():
    """Return (train images, test images, train labels, test labels), pixels in 0..1."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, np.newaxis]
    return train_test_split(images, digits.target.astype(np.int64), test_size=TEST_IMAGES,
                            random_state=SEED, stratify=digits.target)


def initial_parameters(rng):
    """Return the parameters before training, in the shapes and with the names of the ONNX file."""
    layers = [  # name, shape of the weight, inputs per output, outputs
        ("conv1", (8, 1, 3, 3), 1 * 9, 8),
        ("conv2", (16, 8, 3, 3), 8 * 9, 16),
        ("fc1", (256, 64), 256, 64),  # [inputs, outputs], as MatMul takes it
        ("fc2", (64, 10), 64, 10),
    ]
    parameters = {}
    for name, shape, fan_in, outputs in layers:
        parameters[f"{name}.weight"] = rng.normal(0, (2 / fan_in) ** 0.5, shape).astype(np.float32)
        parameters[f"{name}.bias"] = np.zeros(outputs, np.float32)
    return parameters


def im2col(x):
    """Unfold NCHW into one row of 3x3 neighbourhoods (zero-padded by 1) per output pixel."""
    n, channels, height, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * height * width, channels * 9)


def conv(x, weight):
    """3x3 convolution with padding 1. Return the NCHW result and the unfolded input."""
    n, _, height, width = x.shape
    columns = im2col(x)
    y = columns @ weight.reshape(len(weight), -1).T
    return y.reshape(n, height, width, -1).transpose(0, 3, 1, 2), columns


def gradients(p, x, labels):
    """Return the gradient of the mean cross-entropy of a batch with respect to each parameter."""
    n = len(x)

    # Forward, the same computation as the graph built by float_model().
    y1, columns1 = conv(x, p["conv1.weight"])
    a1 = np.maximum(y1 + p["conv1.bias"].reshape(1, -1, 1, 1), 0)
    pooled = a1.reshape(n, 8, 4, 2, 4, 2).max(axis=(3, 5))
    y2, columns2 = conv(pooled, p["conv2.weight"])
    a2 = np.maximum(y2 + p["conv2.bias"].reshape(1, -1, 1, 1), 0)
    flat = a2.reshape(n, -1)
    a3 = np.maximum(flat @ p["fc1.weight"] + p["fc1.bias"], 0)
    logits = a3 @ p["fc2.weight"] + p["fc2.bias"]

    # Backward.
    g = {}
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    d = e / e.sum(axis=1, keepdims=True)
    d[np.arange(n), labels] -= 1
    d /= n
    g["fc2.weight"], g["fc2.bias"] = a3.T @ d, d.sum(axis=0)
    d = (d @ p["fc2.weight"].T) * (a3 > 0)
    g["fc1.weight"], g["fc1.bias"] = flat.T @ d, d.sum(axis=0)
    d = (d @ p["fc1.weight"].T).reshape(a2.shape) * (a2 > 0)
    rows = d.transpose(0, 2, 3, 1).reshape(-1, 16)
    g["conv2.weight"] = (rows.T @ columns2).reshape(p["conv2.weight"].shape)
    g["conv2.bias"] = rows.sum(axis=0)
    # The gradient through a convolution is a convolution with the kernels turned around.
    d, _ = conv(d, p["conv2.weight"].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    # MaxPool hands the gradient to the pixel that was the maximum of its 2x2 cell.
    d = d.repeat(2, axis=2).repeat(2, axis=3)
    d = d * (a1 == pooled.repeat(2, axis=2).repeat(2, axis=3)) * (a1 > 0)
    rows = d.transpose(0, 2, 3, 1).reshape(-1, 8)
    g["conv1.weight"] = (rows.T @ columns1).reshape(p["conv1.weight"].shape)
    g["conv1.bias"] = rows.sum(axis=0)
    return g


def train(images, labels):
    """Train by gradient descent with momentum, the rate falling to zero; return the parameters.

    Each time an image is used it is shifted by up to one pixel, so that the network does not
    learn the images by heart.
    """
    rng = np.random.default_rng(SEED)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    shifted = np.lib.stride_tricks.sliding_window_view(padded, (8, 8), axis=(2, 3))
    parameters = initial_parameters(rng)
    velocity = {name: np.zeros_like(value) for name, value in parameters.items()}
    for epoch in range(EPOCHS):
        rate = np.float32(LEARNING_RATE * (1 - epoch / EPOCHS))
        order = rng.permutation(len(images))
        for start in range(0, len(images), BATCH):
            batch = order[start:start + BATCH]
            down, right = rng.integers(0, 3, (2, len(batch)))
            x = shifted[batch, :, down, right]
            for name, g in gradients(parameters, x, labels[batch]).items():
                velocity[name] = np.float32(0.9) * velocity[name] + g
                parameters[name] -= rate * velocity[name]
    return parameters


def float_model(p):
    """Build the float ONNX model. Its dense layers are MatMul + Add, not Gemm, because the
    block quantizer takes MatMul only."""
    conv3x3 = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        ("Conv", "conv1", ["image", "conv1.weight", "conv1.bias"], conv3x3),
        ("Relu", "relu1", ["conv1_out"], {}),
        ("MaxPool", "pool1", ["relu1_out"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Conv", "conv2", ["pool1_out", "conv2.weight", "conv2.bias"], conv3x3),
        ("Relu", "relu2", ["conv2_out"], {}),
        ("Flatten", "flatten", ["relu2_out"], {"axis": 1}),
        ("MatMul", "fc1", ["flatten_out", "fc1.weight"], {}),
        ("Add", "fc1_bias", ["fc1_out", "fc1.bias"], {}),
        ("Relu", "relu3", ["fc1_bias_out"], {}),
        ("MatMul", "fc2", ["relu3_out", "fc2.weight"], {}),
        ("Add", "fc2_bias", ["fc2_out", "fc2.bias"], {}),
    ]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["logits" if name == "fc2_bias" else name + "_out"],
                          name=name, **attributes) for op, name, inputs, attributes in nodes],
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(value, name) for name, value in p.items()])
    # Opset 21 is the first with DequantizeLinear in blocks and of 4-bit integers.
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10,
                             producer_name="make_digits.py")


class TrainingImages(CalibrationDataReader):
    """Gives quantize_static training images, one batch a call, to see the activations' ranges."""

    def __init__(self, images):
        self.batches = iter(np.split(images, len(images) // 20))

    def get_next(self):
        batch = next(self.batches, None)
        return None if batch is None else {"image": batch}


def accuracy(path, images, labels):
    """Return the share of right answers of the model as written, without graph optimizations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return (session.run(None, {"image": images})[0].argmax(axis=1) == labels).mean()


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    directory.mkdir(parents=True, exist_ok=True)
    # The block quantizer logs every node it looks at, and quantize_static advises a
    # pre-processing (shape inference and graph optimization) that this small graph can do without.
    logging.getLogger().setLevel(logging.ERROR)

    train_images, test_images, train_labels, test_labels = load_split()
    np.save(directory / "digits_test_images.npy", test_images)
    np.save(directory / "digits_test_labels.npy", test_labels)

    paths = [directory / f"digits_{kind}.onnx" for kind in ("float", "qdq_int8", "qdq_int4")]
    float_path, int8_path, int4_path = paths
    with threadpool_limits(limits=1):
        parameters = train(train_images, train_labels)
    onnx.save(float_model(parameters), float_path)
    quantize_static(float_path, int8_path, TrainingImages(train_images[:CALIBRATION_IMAGES]),
                    quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    block_quantizer = MatMulNBitsQuantizer(onnx.load(float_path), bits=4, block_size=32,
                                           is_symmetric=False, quant_format=QuantFormat.QDQ)
    block_quantizer.process()
    onnx.save(block_quantizer.model.model, int4_path)

    print(f"{'model':<22}{'bytes':>7}  accuracy on {len(test_images)} test images")
    for path in paths:
        onnx.checker.check_model(path, full_check=True)
        share = accuracy(path, test_images, test_labels)
        print(f"{path.name:<22}{path.stat().st_size:>7}  {share:.2%}")


if __name__ == "__main__":
    main()

"""Keras models that TensorFlow's converter quantizes and tf2onnx turns into ONNX, for
test_tf2onnx.py: a process of its own, as TensorFlow prints much. Its argument is a folder, which
gets a MODEL.MODE.onnx and a MODEL.MODE.npz for each model and mode: inputs, the outputs of the
Keras model for them, and those of TFLite's interpreter, both as floats."""

import os
import pathlib
import runpy
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

L, RNG = tf.keras.layers, np.random.default_rng(5)
OPS = tf.lite.OpsSet
OPSET = "17"


def blocks():
    """Convolutions, both poolings, a residual sum, Concat, Transpose, Reshape, dense layers."""
    x = L.Input((16, 16, 3), batch_size=1)
    y = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    z = L.ReLU(6.0)(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same")(y)))
    y = L.Add()([y, z])
    y = L.Concatenate()([L.MaxPooling2D(2)(y), L.AveragePooling2D(2)(y)])
    y = L.Reshape((16, 64))(L.Permute((3, 1, 2))(y))
    y = L.Flatten()(L.Dense(12, activation="tanh")(y))
    return tf.keras.Model(x, L.Dense(10, activation="softmax")(y))


def padded():
    """Pads, cuts and enlarges what is quantized, and multiplies it by a gate."""
    x = L.Input((12, 12, 4), batch_size=1)
    y = L.Conv2D(16, 3, strides=2, activation="relu")(L.ZeroPadding2D(1)(x))
    gate = L.Dense(16, activation="sigmoid")(L.GlobalAveragePooling2D()(y))
    y = L.Multiply()([y, L.Reshape((1, 1, 16))(gate)])
    y = L.Lambda(lambda image: tf.image.resize(image, (12, 12), "nearest"))(y)
    y = L.Cropping2D(((1, 0), (0, 1)))(y)
    y = L.Conv2D(8, 3, activation=L.LeakyReLU(0.1))(y)
    return tf.keras.Model(x, L.GlobalMaxPooling2D()(y))


def words():
    """Rows of a quantized embedding."""
    x = L.Input((9,), batch_size=1, dtype="int32")
    y = L.Conv1D(8, 3, activation="relu")(L.Embedding(100, 16)(x))
    return tf.keras.Model(x, L.Dense(4)(L.GlobalAveragePooling1D()(y)))


MODELS = (blocks, padded, words)


def types(io, ops):
    return {"target_spec.supported_ops": [ops], "inference_input_type": io,
            "inference_output_type": io}


MODES = {
    "dynamic_range": None,
    "float_inputs": {},
    "int8": types(tf.int8, OPS.TFLITE_BUILTINS_INT8),
    "uint8": types(tf.uint8, OPS.TFLITE_BUILTINS_INT8),
    "int16x8": types(tf.int16, OPS.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8),
}


def feeds(model):
    """As calibration sees them."""
    [x] = model.inputs
    if x.dtype == "int32":
        return RNG.integers(0, 100, (100, *x.shape), np.int32)
    return RNG.standard_normal((100, *x.shape)).astype(np.float32)


def tflite(model, options, calibration):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if options is not None:
        converter.representative_dataset = lambda: ([x] for x in calibration)
    for name, value in (options or {}).items():
        where = converter.target_spec if name.startswith("target_spec.") else converter
        if name == "inference_input_type" and model.inputs[0].dtype == "int32":
            continue  # indices stay integers
        setattr(where, name.removeprefix("target_spec."), value)
    return converter.convert()


def interpreted(data, inputs):
    """What TFLite's interpreter computes, as floats."""
    interpreter = tf.lite.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    [x], [y] = interpreter.get_input_details(), interpreter.get_output_details()

    def run(values):
        scale, zero = x["quantization"]
        if scale:
            info = np.iinfo(x["dtype"])
            values = np.clip(np.round(values / np.float32(scale)) + zero, info.min, info.max)
        interpreter.set_tensor(x["index"], values.astype(x["dtype"]))
        interpreter.invoke()
        out, (scale, zero) = interpreter.get_tensor(y["index"]), y["quantization"]
        return (out.astype(np.float32) - zero) * np.float32(scale) if scale else out
    return np.concatenate([run(values) for values in inputs])


def to_onnx(source, target):
    """As `python -m tf2onnx.convert` does."""
    sys.argv = ["tf2onnx.convert", "--tflite", str(source), "--output", str(target), "--opset",
                OPSET]
    runpy.run_module("tf2onnx.convert", run_name="__main__", alter_sys=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    for build in MODELS:
        tf.keras.utils.set_random_seed(1)
        model = build()
        calibration, inputs = feeds(model), feeds(model)
        exact = np.concatenate([model(x).numpy() for x in inputs])
        for mode, options in MODES.items():
            if build is words and mode == "int16x8":
                continue  # TensorFlow's converter wants bounds of the indices
            path = folder / f"{build.__name__}.{mode}.onnx"
            data = tflite(model, options, calibration)
            path.with_suffix(".tflite").write_bytes(data)
            to_onnx(path.with_suffix(".tflite"), path)
            np.savez(path.with_suffix(".npz"), inputs=inputs, exact=exact,
                     interpreted=interpreted(data, inputs))


if __name__ == "__main__":
    main()

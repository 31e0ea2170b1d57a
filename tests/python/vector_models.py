"""What each dialect's operator must yield for a case file's case, written down in numpy from the
specifications, on the indices of tensors and independently of dequant."""

import ml_dtypes
import numpy as np

FLOATS = {
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu, "float4e2m1": ml_dtypes.float4_e2m1fn,
    "float6e2m3": ml_dtypes.float6_e2m3fn, "float6e3m2": ml_dtypes.float6_e3m2fn,
    "bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}
F = np.float32


def bits_of(element):
    """"uint16" has 16, "float8e5m2" 8, "bfloat16" 16."""
    digits = "".join(c if c.isdigit() else " " for c in element).split()
    return int(digits[0])


def codes(tensor):
    """The codes of a tensor by its indices: of storage with strides the element at the sum of index
    times stride."""
    stored = np.asarray(tensor["bits"], np.int64)
    shape = tensor["shape"]
    if "strides" not in tensor:
        return stored.reshape(shape)
    offsets = np.zeros(shape, np.int64)
    for d, stride in enumerate(tensor["strides"]):
        index = np.arange(shape[d]).reshape([-1 if i == d else 1 for i in range(len(shape))])
        offsets = offsets + index * stride
    return stored[offsets]


def decode(element, raw):
    """Integers as int64, floats as the type that numpy or ml_dtypes have for them."""
    width = bits_of(element)
    if element in FLOATS:
        return raw.astype(f"<u{max(width // 8, 1)}").view(FLOATS[element])
    signed = element.startswith(("int", "qint"))
    return np.where(signed & (raw >= 1 << (width - 1)), raw - (1 << width), raw)


def values(tensor):
    return decode(tensor["type"], codes(tensor))


def encode(element, array):
    """The codes of floats."""
    array = np.asarray(array).astype(FLOATS[element])
    return array.view(f"<u{array.itemsize}").astype(np.int64)


def dequantized(x, scale, zero_point, output):
    """(x - zero_point) * scale, the difference exact and then rounded once to float32."""
    if x.dtype == np.int64:
        x = x - zero_point
    return encode(output, x.astype(F) * scale.astype(F))


def linear(case):
    """ONNX and com.microsoft: the shape of the scale says which elements share it."""
    inputs, attributes = case["inputs"], case.get("attributes", {})
    x = values(inputs["x"])
    axis = attributes.get("axis", 1)

    def expanded(tensor):
        param = values(tensor)
        if "block_size" in attributes:
            param = np.repeat(param, attributes["block_size"], axis)
            return np.take(param, np.arange(x.shape[axis]), axis)
        if param.ndim == 0 or param.shape == (1,):
            return param.reshape(())
        shape = [1] * x.ndim
        shape[axis] = -1
        return param.reshape(shape)

    output = attributes.get("output_dtype", inputs["scale"]["type"])
    zero = expanded(inputs["zero_point"]) if "zero_point" in inputs else np.int64(0)
    return dequantized(x, expanded(inputs["scale"]), zero, output)


def shared(param, shape):
    """A tensor of blocks, each as long as the quotient of the sizes, on every axis."""
    for d, size in enumerate(shape):
        param = np.repeat(param, size // param.shape[d], d)
    return param


def webnn(case):
    x, scale, zero = (values(case["inputs"][n]) for n in ("x", "scale", "zero_point"))
    return dequantized(x, shared(scale, x.shape), shared(zero, x.shape),
                       case["inputs"]["scale"]["type"])


def directml(case):
    """Without a zero point DEQUANTIZE subtracts the midpoint of an unsigned type."""
    inputs = case["inputs"]
    x, scale = values(inputs["x"]), values(inputs["scale"])
    zero = np.zeros(x.shape, np.int64)
    if "zero_point" in inputs:
        zero = shared(values(inputs["zero_point"]), x.shape)
    elif case["operator"] == "DEQUANTIZE" and inputs["x"]["type"].startswith("uint"):
        zero = zero + (1 << (bits_of(inputs["x"]["type"]) - 1))
    return dequantized(x, shared(scale, x.shape), zero, inputs["scale"]["type"])


def tensorflow(case):
    inputs, attributes = case["inputs"], case["attributes"]
    q = values(inputs["x"])
    low, high = (values(inputs[n]).reshape(-1) for n in ("min_range", "max_range"))
    if attributes.get("axis", -1) < 0:
        low, high = low[0], high[0]
    else:
        shape = [-1 if d == attributes["axis"] else 1 for d in range(q.ndim)]
        low, high = low.reshape(shape), high.reshape(shape)
    rule = documented if attributes.get("semantics") == "documented" else kernel
    y = rule(attributes, inputs["x"]["type"], q, low, high)
    return encode(attributes.get("dtype", "float32"), y)


def half_away(array):
    """round() of C: halves away from zero."""
    wide = array.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + .5), wide).astype(F)


def kernel(attributes, element, q, low, high):
    """TensorFlow's CPU kernel: every step rounds to float32."""
    width = bits_of(element)
    lowest = 0 if element.startswith("qu") else -(1 << (width - 1))
    highest = lowest + (1 << width) - 1
    q = q.astype(F)
    if attributes["mode"] == "MIN_COMBINED":
        step = (high - low) / (F(highest) - F(lowest))
        return (q + F(-lowest)) * step + low
    if attributes["mode"] == "MIN_FIRST":
        step = ((high - low).astype(np.float64) / ((1 << width) - 1)).astype(F)
        snapped = low if low == high else half_away(low / step) * step
        return (snapped - F(lowest) * step) + q * step
    of_max = high / F(highest)
    if lowest == 0:
        return q * of_max
    of_min = low / F(lowest + bool(attributes.get("narrow_range")))
    return q * np.where(of_min < of_max, of_max, of_min)  # std::max: the first unless it is less


def documented(attributes, element, q, low, high):
    """The page of r1.4, in double."""
    count = float(1 << bits_of(element))
    lowest = 0. if element.startswith("qu") else -count / 2
    low, high = np.float64(low), np.float64(high)
    if attributes["mode"] == "MIN_COMBINED":
        q = q + 128. if element == "qint8" else q.astype(np.float64)
        return (low + q * (high - low) / (count - 1)).astype(F)
    if attributes["mode"] == "MIN_FIRST":
        step = (high - low) * (count / (count - 1)) / count
        return (low + (q - lowest) * step).astype(F)
    steps = count - 1 if lowest == 0 else count - 2
    return (q * (2 * np.maximum(np.abs(low), np.abs(high)) / steps)).astype(F)


MODELS = {"onnx": linear, "microsoft": linear, "webnn": webnn, "directml": directml,
          "tensorflow": tensorflow}


def expected(case):
    """The codes of y."""
    with np.errstate(all="ignore"):
        return MODELS[case["dialect"]](case)


def differences(case, y):
    """How many codes of y differ from those of the case; any NaN is like any other."""
    element = case["expect"]["y"]["type"]
    wanted = np.asarray(case["expect"]["y"]["bits"], np.int64).reshape(case["expect"]["y"]["shape"])
    assert wanted.shape == y.shape
    both_nan = np.isnan(decode(element, wanted)) & np.isnan(decode(element, y))
    return int(((wanted != y) & ~both_nan).sum())

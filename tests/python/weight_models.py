"""Models of operators that dequantize a constant weight, with the floats of the operators'
definitions, by numpy."""

import gguf
import numpy as np
import onnx
from onnx import helper, numpy_helper

from arithmetic import codes as codes_of
from operators_support import FLOATS, packed
from support import model, node, value


class Weight:
    """A random weight by the names of the schema, and its floats [K, N]."""

    def __init__(self, K=40, N=6, bits=4, block_size=16, zero_points=None, g_idx=False, bias=False,
                 element="float32", flat=False, seed=1):
        rng = np.random.default_rng(seed)
        kind = FLOATS[element]
        blocks = -(-K // block_size)
        codes = rng.integers(0, 1 << bits, [N, blocks * block_size])
        scales = (rng.normal(size=[N, blocks]) * 0.1).astype(kind)
        self.attributes = dict(K=K, N=N, bits=bits, block_size=block_size)
        self.K, self.N, self.element = K, N, element
        blob = packed(codes, bits).reshape(N, blocks, -1)
        self.tensors = {"b": blob.reshape(N, -1) if flat else blob, "scales": scales}
        zero = np.full([N, blocks], 1 << (bits - 1), "f4")
        if zero_points == "packed":
            zero = rng.integers(0, 1 << bits, [N, blocks])
            self.tensors["zeros"] = packed(zero, bits)
        elif zero_points == "float":
            # Far from codes, so that float16 does not hold each difference.
            zero = rng.uniform(0, (1 << bits) - 1, [N, blocks]).astype(kind)
            self.tensors["zeros"] = zero
        group = np.arange(K) // block_size
        if g_idx:
            group = rng.permutation(group).astype("i4")
            self.tensors["g_idx"] = group if g_idx != "padded" else np.pad(
                group, [0, blocks * block_size - K])
        if flat:
            for name in ("scales", "zeros"):
                if name in self.tensors:
                    self.tensors[name] = self.tensors[name].reshape(-1)
        if bias:
            self.tensors["bias"] = rng.normal(size=N).astype(kind)
        difference = codes[:, :K].astype("f4") - zero[:, group].astype("f4")
        self.dense = (difference * scales[:, group].astype("f4")).astype(kind).T

    def model(self, name="m", **more):
        order = ["a", "b", "scales", "zeros", "g_idx", "bias"]
        inputs = ["a", *(n if n in self.tensors else "-" for n in order[1:])]
        while inputs[-1] == "-":
            inputs.pop()
        made = node("MatMulNBits", " ".join(inputs), "y", name, "com.microsoft", **self.attributes)
        tensors = [numpy_helper.from_array(t, n) for n, t in self.tensors.items()]
        return model([made], [value("a", self.element, ["n", self.K])],
                     [value("y", self.element, ["n", self.N])], tensors,
                     domains=["com.microsoft"], **more)


OPTIONS = {
    "default zero point": dict(),
    "packed zero points": dict(zero_points="packed"),
    "float zero points": dict(zero_points="float"),
    "2 bits": dict(bits=2), "2 bits, packed": dict(bits=2, zero_points="packed", K=129),
    "2 bits, float": dict(bits=2, zero_points="float"),
    "8 bits": dict(bits=8), "8 bits, packed": dict(bits=8, zero_points="packed"),
    "8 bits, float": dict(bits=8, zero_points="float"),
    "K of whole blocks": dict(K=64, block_size=32, zero_points="packed"),
    "one block": dict(K=5, block_size=32, zero_points="packed"),
    "an odd number of blocks": dict(K=48, zero_points="packed"),
    "one output": dict(N=1), "one input": dict(K=1),
    "bias": dict(bias=True, zero_points="packed"),
    "groups": dict(g_idx=True), "groups, packed": dict(g_idx=True, zero_points="packed"),
    "groups, float": dict(g_idx=True, zero_points="float"),
    "padded groups": dict(g_idx="padded", zero_points="packed", bits=8),
    "float16": dict(element="float16", zero_points="packed"),
    "float16, float zero points": dict(element="float16", zero_points="float", bias=True),
    "bfloat16": dict(element="bfloat16", zero_points="float", bias=True),
    "flat tensors": dict(flat=True, zero_points="packed"),
}


def table(shape=(5, 40), element="uint8", bits=4, block_size=16, quantize_axis=1, gather_axis=0,
          zero_points=False, scale_type="float32"):
    """A model of one node, and its floats."""
    rng = np.random.default_rng(1)
    axis = quantize_axis % len(shape)
    blocks = [(-(-n // block_size) if i == axis else n) for i, n in enumerate(shape)]
    width = bits if element == "uint8" else 4
    low = -8 if element == "int4" else 0
    codes = rng.integers(low, low + (1 << width), shape)
    scales = (rng.normal(size=blocks) * 0.1).astype(FLOATS[scale_type])
    zero = np.full(blocks, (1 << (bits - 1)) if element == "uint8" else 0)
    inputs, tensors = ["data", "indices", "scales"], [numpy_helper.from_array(scales, "scales")]

    def stored(values, name):
        if element == "uint8":
            return numpy_helper.from_array(packed(values, bits), name)
        return codes_of(element, values & 15).tensor(name)
    tensors.append(stored(codes, "data"))
    if zero_points:
        zero = rng.integers(low, low + (1 << width), blocks)
        tensors.append(stored(zero, "zeros"))
        inputs.append("zeros")

    def spread(values):
        return np.repeat(values, block_size, axis=axis).take(range(shape[axis]), axis=axis)
    dense = ((codes - spread(zero)).astype("f4") * spread(scales.astype("f4"))).astype(
        FLOATS[scale_type])
    made = node("GatherBlockQuantized", " ".join(inputs), "y", "g", "com.microsoft", bits=bits,
                block_size=block_size, quantize_axis=quantize_axis, gather_axis=gather_axis)
    indices = helper.make_tensor_value_info("indices", onnx.TensorProto.INT64, ["k"])
    result = ["k" if i == gather_axis % len(shape) else n for i, n in enumerate(shape)]
    return model([made], [indices], [value("y", scale_type, result)], tensors,
                 domains=["com.microsoft"]), dense


TABLES = {
    "4 bits": dict(), "4 bits, zero points": dict(zero_points=True),
    "2 bits": dict(bits=2), "2 bits, zero points": dict(bits=2, zero_points=True, shape=(5, 80)),
    "8 bits": dict(bits=8), "8 bits, zero points": dict(bits=8, zero_points=True),
    "three dimensions": dict(shape=(3, 4, 32), quantize_axis=2, zero_points=True),
    "from the back": dict(quantize_axis=-1),
    "int4": dict(element="int4"), "int4, zero points": dict(element="int4", zero_points=True),
    "uint4": dict(element="uint4"), "uint4, zero points": dict(element="uint4", zero_points=True),
    "first axis": dict(element="uint4", shape=(40, 6), quantize_axis=0, gather_axis=1,
                       zero_points=True),
    "the axis of the blocks": dict(element="int4", gather_axis=1, zero_points=True),
    "float16": dict(zero_points=True, scale_type="float16"),
}


#: The tables of bitsandbytes, as the schema has them by quant_type.
BNB4 = [np.float32([0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, -0.0,
                    -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25]),
        np.float32([-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
                    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
                    0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
                    0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
                    0.7229568362236023, 1])]


def bnb4(n=6, k=32, block_size=16, quant_type=1, transposed=1):
    """A model of one MatMulBnb4, and its floats [N, K], or [K, N] where rows have whole blocks."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 16, n * k, "u1")
    blocks = -(-n * k // block_size)
    absmax = rng.normal(size=blocks).astype("f4")
    even = np.pad(codes, [0, n * k % 2])
    tensors = [numpy_helper.from_array(even[::2] << 4 | even[1::2], "b"),
               numpy_helper.from_array(absmax, "absmax")]
    made = node("MatMulBnb4", "x b absmax", "y", "m", "com.microsoft", K=k, N=n,
                block_size=block_size, quant_type=quant_type, transB=transposed)
    width, height = (n, k) if transposed else (k, n)
    proto = model([made], [value("x", shape=["m", height])], [value("y", shape=["m", width])],
                  tensors, domains=["com.microsoft"])
    dense = (BNB4[quant_type][codes] * np.repeat(absmax, block_size)[:n * k]).reshape(n, k)
    return proto, dense.T if transposed and k % block_size == 0 else dense


def blocks_of(kind, rows, columns, seed=3):
    """Random rows of blocks of a type of GGUF, all of whose values are finite in float16 too, and
    these."""
    rng = np.random.default_rng(seed)
    quantized = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[quantized]
    stored = np.zeros([rows, columns // elements, size], "u1")
    dense = np.full([rows, columns // elements, elements], np.nan, "f4")
    while (again := ~(np.abs(dense) < 65500).all(axis=-1)).any():
        stored[again] = rng.integers(0, 256, [again.sum(), size], "u1")
        with np.errstate(all="ignore"):
            dense[again] = gguf.dequantize(stored[again], quantized)
    return stored.reshape(rows, -1), dense.reshape(rows, columns)


def packed_table(kind="Q4_0", rows=5, columns=256, output="float32", **changed):
    """A model of one GatherPacked, and its floats."""
    stored, dense = blocks_of(kind, rows, columns)
    attributes = dict(packed_type=gguf.GGMLQuantizationType[kind].value, K=columns,
                      output_dtype=helper.np_dtype_to_tensor_dtype(np.dtype(FLOATS[output])))
    if output == "bfloat16":
        del attributes["output_dtype"]  # the default
    made = node("GatherPacked", "data indices", "y", "g", "com.microsoft", **attributes | changed)
    indices = helper.make_tensor_value_info("indices", onnx.TensorProto.INT64, ["k"])
    return model([made], [indices], [value("y", output, ["k", columns])],
                 [numpy_helper.from_array(stored, "data")],
                 domains=["com.microsoft"]), dense.astype(FLOATS[output])


def packed_product(kind="Q4_K", n=6, k=256, element="float16", more="", **changed):
    """A model of one MatMulPacked, and its floats [N, K]."""
    stored, dense = blocks_of(kind, n, k)
    attributes = dict(packed_type=gguf.GGMLQuantizationType[kind].value, K=k, N=n)
    made = node("MatMulPacked", f"a b {more}", "y", "m", "com.microsoft", **attributes | changed)
    return model([made], [value("a", element, ["m", k])], [value("y", element, ["m", n])],
                 [numpy_helper.from_array(stored, "b")], domains=["com.microsoft"]), dense


#: The types of GatherPacked that ONNX Runtime's CPU has, but for Q2_0, which gguf lacks.
PACKED = ["Q4_0", "Q5_0", "Q8_0", "Q5_K", "Q6_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ4_NL", "IQ2_S",
          "IQ4_XS"]

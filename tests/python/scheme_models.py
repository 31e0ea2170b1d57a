"""What each scheme of checkpoints must yield for a case, written down in numpy from the producers'
layouts and formulas, independently of dequant. `q` are codes as numbers, `s` scales."""

import numpy as np
from gguf import GGMLQuantizationType, quants

from vector_models import FLOATS, bits_of, codes, decode, encode, values

F = np.float32
INT8_FACTOR = F(0.007874015718698502)
NVFP4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6], F)


# Codes in words: arrays of words along the last axis become arrays of codes.

def stream(words, width, bits, count):
    """One stream of bits, the lowest of the first word first."""
    single = words[..., None] >> np.arange(width) & 1
    single = single.reshape(*words.shape[:-1], -1)[..., :count * bits]
    return single.reshape(*words.shape[:-1], count, bits) @ (1 << np.arange(bits))


def padded(words, bits, count):
    """As many codes as fit in each word of 32 bits."""
    fields = words[..., None] >> np.arange(32 // bits) * bits & (1 << bits) - 1
    return fields.reshape(*words.shape[:-1], -1)[..., :count]


def planes(words, bits, count):
    """Of each 32 codes a stream for each bit of their width: 4, 2 and 1 bits."""
    blocks = words.reshape(*words.shape[:-1], -1, bits)
    total, at, lower = 0, 0, 0
    for plane in (4, 2, 1):
        if bits & plane:
            total = total + (stream(blocks[..., at:at + plane], 32, plane, 32) << lower)
            at, lower = at + plane, lower + plane
    return total.reshape(*words.shape[:-1], -1)[..., :count]


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def interleaved(words):
    """Eight codes of 4 bits in a word."""
    out = np.empty((*words.shape, 8), np.int64)
    out[..., AWQ_ORDER] = words[..., None] >> np.arange(8) * 4 & 15
    return out.reshape(*words.shape[:-1], -1)


def slabs(words, bits, rows, high_first):
    """The first slab of rows is in the lowest bits of its words, or in the highest."""
    count = 10 if bits == 3 else 8 // bits
    shifts = np.arange(count) * bits
    shifts = shifts[::-1] if high_first else shifts
    return np.concatenate([words >> shift & (1 << bits) - 1 for shift in shifts])[:rows]


def nibbles(data):
    """Two codes in a byte, the low one first."""
    return np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)


# Parameters for each element.

def groups(param, index):
    """Columns of parameters, by the group of each column of the weight."""
    return param[:, index]


def spread(param, shape, block=None):
    """One parameter, one for each row, or one for each block."""
    if param.size == 1:
        return param.reshape(())
    if param.ndim == 1 and len(shape) > 1:
        return param.reshape(-1, *[1] * (len(shape) - 1))
    for d, size in enumerate(shape):
        length = block[d] if block else 1
        if param.shape[d] > 1:
            param = np.take(param, np.arange(size) // length, d)
    return param


def to(kind, x):
    """Rounded to a type."""
    return np.asarray(x, F).astype(FLOATS[kind]).astype(F)


class Tensors:
    """The tensors of a case as float32 or int64, and its settings."""

    def __init__(self, case):
        self.inputs, self.settings = case["inputs"], case.get("attributes", {})
        self.output = self.settings["dtype"]

    def has(self, name):
        return name in self.inputs

    def type(self, name):
        return self.inputs[name]["type"]

    def __call__(self, name):
        raw = values(self.inputs[name])
        return raw if raw.dtype == np.int64 else raw.astype(F)

    def raw(self, name):
        return codes(self.inputs[name])

    def get(self, name, otherwise=None):
        return self.settings.get(name, otherwise)

    def e8m0(self, name, last=np.nan):
        y = decode("float8e8m0", self.raw(name)).astype(F)
        return np.where(self.raw(name) == 255, F(last), y)

    def elements(self, name, element):
        """A tensor of an element, or the bytes of its rows."""
        if self.type(name) not in ("uint8", "int8"):
            return self(name)
        data = self.raw(name)
        count = data.shape[-1] * 8 // bits_of(element)
        return decode(element, stream(data, 8, bits_of(element), count)).astype(F)


def matrix(t, q, zeros, scales, index):
    """(q - zero) * scale of [in, out] matrices, as [out, in]."""
    return ((q - zeros[index]).astype(F) * scales[index]).T


def column_groups(t, columns, index="g_idx"):
    if t.has(index):
        return t(index)
    size = t.get("group_size", -1)
    return np.arange(columns) // (columns if size == -1 else size)


def awq(t):
    if t.get("version") == "gemv":
        q, zeros = (stream(t.raw(name), 32, 4, t.raw(name).shape[1] * 8)
                    for name in ("qweight", "qzeros"))
        return matrix(t, q.T, zeros.T, t("scales").T, column_groups(t, q.shape[1]))
    q, zeros = interleaved(t.raw("qweight")), interleaved(t.raw("qzeros"))
    return matrix(t, q, zeros, t("scales"), column_groups(t, len(q)))


def stored_zeros(t, words, bits, unpack, count):
    """GPTQ's first format has them minus 1."""
    if t.get("format") != "gptq":
        return unpack(words, bits, count)
    if t.get("carry") == "word":
        ones = sum(1 << at for at in range(0, 32, bits))
        return unpack(words + ones & 0xFFFFFFFF, bits, count)
    return (unpack(words, bits, count) + 1) % (1 << bits)


def gptq(t):
    bits, words = t.get("bits"), t.raw("qweight")
    count = t.get("in_features") or (len(t("g_idx")) if t.has("g_idx") else len(words) * 32 // bits)

    def unpack(words, bits, count):
        if t.get("format") == "gptq_p":
            return planes(words, bits, count)
        return stream(words, 32, bits, count)
    zeros = stored_zeros(t, t.raw("qzeros"), bits, unpack, t("scales").shape[1])
    return matrix(t, unpack(words.T, bits, count).T, zeros, t("scales"), column_groups(t, count))


def bitsandbytes(t):
    data = t.raw("weight").astype(f"<u{bits_of(t.type('weight')) // 8}").view("u1").reshape(-1)
    shape = t.get("shape")
    q = np.stack([data >> 4, data & 15], -1).reshape(-1)[:int(np.prod(shape))]
    return (t("quant_map")[q] * t("absmax")[np.arange(len(q)) // t.get("blocksize")]).reshape(shape)


def bitsandbytes_absmax(t):
    q = t("absmax")
    nested = t("nested_absmax")[np.arange(len(q)) // t.get("nested_blocksize")]
    return t("nested_quant_map")[q] * nested + t("nested_offset").reshape(())


def bitsandbytes_int8(t):
    return t("weight").astype(F) * spread(t("SCB"), (2, 2)) * INT8_FACTOR


def zeros_of_words(t, unpack, bits, rows):
    """Of compressed-tensors: packed down the columns; int8 ones lack the middle that codes have."""
    middle = 1 << (bits - 1)
    if not t.has("weight_zero_point"):
        return np.full((rows, 1), middle)
    if t.type("weight_zero_point") == "int8":
        return t("weight_zero_point") + middle
    return unpack(t.raw("weight_zero_point").T, bits, rows).T


def compressed_tensors(t):
    form, kind = t.get("format"), t.type("weight_scale")
    if form.startswith("nvfp4"):
        s = t("weight_scale") / t("weight_global_scale").reshape(())
        return to("bfloat16", t.elements("weight", "float4e2m1") * s.repeat(16, -1))
    if form.startswith("mx"):
        element = {"mxfp4": "float4e2m1", "mxfp6": "float6e2m3", "mxfp8": "float8e4m3fn"}[form[:5]]
        s = t.e8m0("weight_scale", last=np.inf).repeat(32, -1)
        return to("bfloat16", t.elements("weight", element) * s)
    q, s, zero = t("weight"), t("weight_scale"), None
    if form == "pack-quantized":
        bits, (rows, columns) = t.get("num_bits"), t.get("weight_shape")
        words_are_padded = t.get("words") == "padded"

        def unpack(words, bits, count):
            return (padded(words, bits, count) if words_are_padded
                    else stream(words, 32, bits, count))
        zero = zeros_of_words(t, unpack, bits, rows)
        q = unpack(t.raw("weight"), bits, columns)
    elif t.has("weight_zero_point"):
        zero = t("weight_zero_point")
    if t.get("strategy") == "group":
        index = column_groups(t, q.shape[1], "weight_g_idx")
        s = groups(s, index)
        zero = groups(zero, index) if zero is not None and zero.shape[1] > 1 else zero
    else:
        block = t.get("block_structure")
        s, zero = (p if p is None else spread(p, q.shape, block) for p in (s, zero))
    difference = q if zero is None else q - zero
    return to(kind, difference.astype(F) * s)


def fp8(t):
    s = t.e8m0("weight_scale") if t.type("weight_scale") == "uint8" else t("weight_scale")
    return t("weight") * spread(s, t("weight").shape, t.get("block"))


def gptoss(t):
    q = decode("float4e2m1", nibbles(t.raw("blocks"))).astype(F)
    y = q * t.e8m0("scales")[..., None]
    y = y.reshape(*y.shape[:-2], -1)
    return y.swapaxes(-1, -2) if t.get("transposed") else y


def hqq(t):
    bits, kind = t.get("bits"), t.type("scale")
    rows = len(t("scale")) if t.get("axis") == 1 else t.get("group_size")
    q = slabs(t.raw("W_q"), bits, rows, high_first=True).astype(F)
    y = to(kind, to(kind, q - t("zero")) * t("scale"))
    return y.reshape(t.get("shape"))


def mlx(t):
    mode, bits, words = t.get("mode"), t.get("bits"), t.raw("weight")
    q = stream(words, 32, bits, words.shape[-1] * 32 // bits)
    if mode == "affine":
        kind = "float32" if t.output == "float32" else t.type("scales")
        s, bias = (t(name).repeat(t.get("group_size"), -1) for name in ("scales", "biases"))
        return to(kind, to(kind, q.astype(F) * s) + bias)
    element = "float8e4m3fn" if mode == "mxfp8" else "float4e2m1"
    s = (decode("float8e4m3fn", t.raw("scales")).astype(F) if mode == "nvfp4"
         else t.e8m0("scales", last=np.inf))
    return decode(element, q).astype(F) * s.repeat(t.get("group_size"), -1)


def modelopt(t):
    algorithm = t.get("quant_algo")
    if algorithm == "NVFP4":
        s = t("weight_scale") * t("weight_scale_2").reshape(())
        if t.get("transposed"):
            q = t.raw("weight")[..., None, :] >> np.array([[0], [4]]) & 15
            return NVFP4[q.reshape(*s.shape[:-2], -1, s.shape[-1])] * s.repeat(16, -2)
        return NVFP4[nibbles(t.raw("weight"))] * s.repeat(16, -1)
    if algorithm.startswith("MX"):
        element = "float4e2m1" if algorithm == "MXFP4" else "float8e4m3fn"
        return t.elements("weight", element) * t.e8m0("weight_scale").repeat(32, -1)
    s = t("weight_scale")
    if algorithm == "W4A16_AWQ":
        q = t.raw("weight")[..., None, :] >> np.array([[0], [4]]) & 15
        q = (q ^ 8).astype(F) - 8
        return q.reshape(*s.shape[:-1], -1) * s.repeat(q.shape[-1] // s.shape[-1], -1)
    if algorithm == "FP8_PB_WO":
        s = s.reshape(s.shape[0], -1)
    return t("weight").astype(F) * to(t.output, spread(s, t("weight").shape, [128, 128]))


def mx(t):
    q = t.elements("weight", t.get("element"))
    return q * t.e8m0("scale").repeat(32, -1)[..., :q.shape[-1]]


def signs(bits):
    return np.where(np.unpackbits(bits, axis=-1, bitorder="little"), 1, -1)


#: Block types that gguf-py does not compute, by their numbers in GGUF files: the type of d, with
#: which a block begins, and the codes.
OTHER_BLOCKS = {
    9: ("<f2", lambda b: b[:, 4:].view(np.int8)),
    15: ("<f4", lambda b: b[:, 4:260].view(np.int8)),
    41: ("<f2", lambda b: signs(b[:, 2:])),
    42: ("<f2", lambda b: stream(b[:, 2:], 8, 2, 64) - 1)}
#: The number of each type, and the elements and bytes of a block. gguf-py's Q8_1 has two float32.
BLOCKS = {e.name: (int(e), *size) for e, size in quants.GGML_QUANT_SIZES.items()} | {
    "Q8_1": (9, 32, 36), "Q2_0": (42, 64, 18)}


def block_floats(number, blocks):
    """The elements of blocks, each in a row of bytes: by gguf-py, where it has the type."""
    if number not in OTHER_BLOCKS:
        return quants.dequantize(blocks, GGMLQuantizationType(number))
    kind, numbers = OTHER_BLOCKS[number]
    d = blocks[:, :np.dtype(kind).itemsize].copy().view(kind).astype(F)
    return d * numbers(blocks).astype(F)


def gguf(t):
    kind, data = t.get("type"), t.raw("data").astype(np.uint8)
    number, elements, size = next(row for name, row in BLOCKS.items() if kind in (name, row[0]))
    y = block_floats(number, data.reshape(-1, size))
    y = y.reshape(t.get("shape", (*data.shape[:-1], data.shape[-1] // size * elements)))
    return y * spread(t("scale"), y.shape) if t.has("scale") else y


def quanto(t):
    bits, kind, s = t.get("bits"), t.type("scale"), t("scale")
    if bits == 8:
        return to(kind, t("data").astype(F) * spread(s, t("data").shape))
    q = slabs(t.raw("data"), bits, len(s), high_first=False)
    y = to(kind, to(kind, q.astype(F) * s) - t("shift"))
    return y.reshape(t.get("shape", y.shape))


def bitnet(t):
    q, s = slabs(t.raw("weight"), 2, None, high_first=False) - 1, t("weight_scale").reshape(())
    return q.astype(F) * (s if t.get("linear_class") == "autobitlinear" else F(1) / s)


def quark(t):
    q, s = t("weight"), t("weight_scale")
    zero = t("weight_zero_point") if t.has("weight_zero_point") else np.int64(0)
    if t.get("weight_dtype") == "int8":
        return (q - spread(zero, q.shape)).astype(F) * spread(s, q.shape)

    def unpack(name):
        fields = interleaved(t.raw(name))
        return (fields ^ 8) - 8 if t.get("weight_dtype") == "int4" else fields
    q = unpack("weight")
    zero = unpack("weight_zero_point") if t.has("weight_zero_point") else np.zeros(s.shape, int)
    return matrix(t, q, zero, s, column_groups(t, len(q)))


def torchao(t):
    q, block = t("qdata"), t.get("block_size")
    if t.has("zero_point"):
        q = q - spread(t("zero_point"), q.shape, block)
    return q.astype(F) * spread(t("scale"), q.shape, block)


SCHEMES = {f.__name__: f for f in (
    awq, bitnet, bitsandbytes, bitsandbytes_absmax, bitsandbytes_int8, compressed_tensors, fp8,
    gguf, gptoss, gptq, hqq, mlx, modelopt, mx, quanto, quark, torchao)}


def expected(case):
    """The codes of y."""
    t = Tensors(case)
    with np.errstate(all="ignore"):
        return encode(t.output, SCHEMES[case["dialect"]](t))

"""The cells that are compared on a device: tensors, the call of dequant, and the plain expression
of the same in torch. The expressions compute in float32 and round once, as dequant does."""

import collections

import dequant
import torch

COLUMNS = 4096
#: Elements are a multiple of this: rows of 128, the height of a block of FP8.
STEP = 128 * COLUMNS
BLOCK, GROUP = 32, 128

FLOATS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
#: The values of codes of nf4 and of fp4, as bitsandbytes computes them: code 8 of fp4 is -0.
NF4 = [-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
       0.7229568362236023, 1]
FP4 = [value / 12 for value in (0, 0.0625, 8, 12, 4, 6, 2, 3,
                                -0.0, -0.0625, -8, -12, -4, -6, -2, -3)]
#: The values of codes of MXFP4.
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]
#: Of the bits of a word of AWQ, where each of eight codes begins.
AWQ_SHIFTS = [0, 16, 4, 20, 8, 24, 12, 28]

#: A cell. `make(random, rows)` gives its tensors by name, of which some are for the expression
#: alone. `dequant(out, **tensors)` and `expression(**tensors)` give the floats, [rows, COLUMNS] of
#: the type `output`. Peers other than torch find the quantization of the cell by `kind` and
#: `options`.
Cell = collections.namedtuple("Cell", "name output make dequant expression kind options",
                              defaults=("", None))


class Random:
    """Random tensors on a device, the same ones each time."""

    def __init__(self, device):
        self.device = torch.device(device)
        self.generator = torch.Generator(self.device).manual_seed(1)

    def integers(self, low, high, shape, dtype):
        return torch.randint(low, high, shape, generator=self.generator, device=self.device,
                             dtype=dtype)

    def bytes(self, *shape):
        return self.integers(0, 256, shape, torch.uint8)

    def words(self, *shape):
        return self.integers(-2**31, 2**31, shape, torch.int32)

    def floats(self, shape, low=0.01, high=0.05):
        spread = torch.rand(shape, generator=self.generator, device=self.device)
        return spread * (high - low) + low

    def table(self, values):
        return torch.tensor(values, dtype=torch.float32, device=self.device)


def nibbles(packed, high_first=False):
    """Codes of four bits, two of a byte, along a last dimension that is twice as long."""
    parts = [packed & 15, packed >> 4]
    return torch.stack(parts[::-1] if high_first else parts, -1).flatten(-2)


def fields(words, shifts):
    """Codes of four bits, eight of a word, along a new last dimension."""
    return (words.unsqueeze(-1) >> shifts) & 15


def shifts_of(words):
    return torch.arange(0, 32, 4, dtype=torch.int32, device=words.device)


def uint8(axis, output):
    kind, shapes = FLOATS[output], {"tensor": (), "axis 0": (-1,), "axis 1": (COLUMNS,)}
    number = 0 if axis == "axis 0" else 1

    def make(random, rows):
        shape = tuple(rows if size < 0 else size for size in shapes[axis])
        return {"x": random.bytes(rows, COLUMNS), "scale": random.floats(shape).to(kind),
                "zero_point": random.integers(100, 156, shape, torch.uint8)}

    def ours(out, x, scale, zero_point):
        dequant.onnx.dequantize_linear(x, scale, zero_point, axis=number, out=out,
                                       output_dtype=output)

    def expression(x, scale, zero_point):
        if axis == "axis 0":
            scale, zero_point = scale.unsqueeze(1), zero_point.unsqueeze(1)
        return ((x.float() - zero_point.float()) * scale.float()).to(kind)
    options = {"type": "uint8", "axis": None if axis == "tensor" else number}
    return Cell(f"uint8 -> {output}, per {axis}", output, make, ours, expression, "onnx", options)


def int4(output):
    kind, blocks = FLOATS[output], COLUMNS // BLOCK

    def make(random, rows):
        return {"x": random.bytes(rows, COLUMNS // 2),
                "scale": random.floats((rows, blocks)).to(kind),
                "zero_point": random.bytes(rows, blocks // 2)}

    def ours(out, x, scale, zero_point):
        rows = x.shape[0]
        dequant.onnx.dequantize_linear(
            dequant.Packed(x, "int4", (rows, COLUMNS)), scale,
            dequant.Packed(zero_point, "int4", (rows, blocks)), axis=1, block_size=BLOCK, out=out,
            output_dtype=output)

    def signed(packed):
        return ((nibbles(packed) ^ 8).to(torch.int8) - 8).float()

    def expression(x, scale, zero_point):
        codes = signed(x).view(-1, blocks, BLOCK) - signed(zero_point).unsqueeze(-1)
        return (codes * scale.float().unsqueeze(-1)).to(kind).view(-1, COLUMNS)
    return Cell(f"int4 -> {output}, blocks of 32", output, make, ours, expression, "onnx",
                {"type": "int4", "axis": 1, "block_size": BLOCK})


def fp8_expression(weight, scale):
    """FP8 in blocks of 128 x 128 -> bfloat16."""
    rows, columns = weight.shape
    blocks = weight.float().view(rows // 128, 128, columns // 128, 128)
    return (blocks * scale[:, None, :, None]).to(torch.bfloat16).view(rows, columns)


def fp8():
    def make(random, rows):
        codes = random.integers(0, 120, (rows, COLUMNS), torch.uint8)
        return {"weight": codes.view(torch.float8_e4m3fn),
                "scale": random.floats((rows // 128, COLUMNS // 128))}

    def ours(out, weight, scale):
        dequant.fp8.dequantize(weight, scale, block=(128, 128), dtype="bfloat16", out=out)
    return Cell("FP8, blocks of 128 x 128 -> bfloat16", "bfloat16", make, ours, fp8_expression)


def bitsandbytes_4bit(name, values):
    def make(random, rows):
        return {"weight": random.bytes(rows * COLUMNS // 2, 1),
                "absmax": random.floats((rows * COLUMNS // 64,)), "quant_map": random.table(values)}

    def ours(out, weight, absmax, quant_map):
        dequant.bitsandbytes.dequantize(weight, absmax, quant_map, shape=tuple(out.shape),
                                        dtype="bfloat16", out=out)

    def expression(weight, absmax, quant_map):
        codes = nibbles(weight.view(-1, 32), high_first=True)
        dense = quant_map[codes.int()] * absmax.unsqueeze(-1)
        return dense.to(torch.bfloat16).view(-1, COLUMNS)
    return Cell(f"{name.upper()} -> bfloat16", "bfloat16", make, ours, expression, "4bit",
                {"type": name})


def bitsandbytes_int8():
    def make(random, rows):
        return {"weight": random.bytes(rows, COLUMNS).view(torch.int8),
                "SCB": random.floats((rows,), 0.5, 5)}

    def ours(out, weight, SCB):
        dequant.bitsandbytes_int8.dequantize(weight, SCB, dtype="float32", out=out)

    def expression(weight, SCB):
        return weight.float() * SCB.unsqueeze(1) * 0.007874015718698502
    return Cell("LLM.int8 -> float32", "float32", make, ours, expression, "int8")


def mxfp4():
    def make(random, rows):
        return {"values": random.table(E2M1),
                "blocks": random.bytes(1, rows, COLUMNS // 32, 16),
                "scales": random.integers(110, 130, (1, rows, COLUMNS // 32), torch.uint8)}

    def ours(out, blocks, scales, **_):
        dequant.gptoss.dequantize(blocks, scales, dtype="bfloat16", out=out.unsqueeze(0))

    def expression(values, blocks, scales):
        power = torch.exp2(scales.float() - 127).unsqueeze(-1)
        dense = values[nibbles(blocks).int()] * power
        return dense.to(torch.bfloat16).view(-1, COLUMNS)
    return Cell("MXFP4 of gpt-oss -> bfloat16", "bfloat16", make, ours, expression)


def gptq_expression(qweight, qzeros, scales, g_idx):
    """GPTQ of 4 bits -> [out, in] of bfloat16."""
    shifts = shifts_of(qweight)
    codes = fields(qweight, shifts).permute(0, 2, 1).flatten(0, 1)
    zeros = (fields(qzeros, shifts).flatten(1) + 1) & 15
    dense = (codes - zeros[g_idx]).float() * scales[g_idx].float()
    return dense.to(torch.bfloat16).t().contiguous()


def gptq(with_groups):
    def make(random, rows):
        groups = torch.arange(COLUMNS, dtype=torch.int32, device=random.device) // GROUP
        return {"qweight": random.words(COLUMNS // 8, rows),
                "qzeros": random.words(COLUMNS // GROUP, rows // 8),
                "scales": random.floats((COLUMNS // GROUP, rows)).half(), "g_idx": groups}

    def ours(out, qweight, qzeros, scales, g_idx):
        how = {"g_idx": g_idx} if with_groups else {"group_size": GROUP}
        dequant.gptq.dequantize(qweight, qzeros, scales, dtype="bfloat16", out=out, **how)
    return Cell("GPTQ, 4 bits" + (", g_idx" if with_groups else "") + " -> bfloat16", "bfloat16",
                make, ours, gptq_expression)


def awq():
    def make(random, rows):
        return {"shifts": torch.tensor(AWQ_SHIFTS, dtype=torch.int32, device=random.device),
                "qweight": random.words(COLUMNS, rows // 8),
                "qzeros": random.words(COLUMNS // GROUP, rows // 8),
                "scales": random.floats((COLUMNS // GROUP, rows)).half()}

    def ours(out, qweight, qzeros, scales, **_):
        dequant.awq.dequantize(qweight, qzeros, scales, group_size=GROUP, dtype="float16", out=out)

    def expression(shifts, qweight, qzeros, scales):
        codes, zeros = (fields(t, shifts).flatten(1) for t in (qweight, qzeros))
        groups = (codes.view(-1, GROUP, codes.shape[1]) - zeros.unsqueeze(1)).float()
        dense = (groups * scales.float().unsqueeze(1)).half()
        return dense.flatten(0, 1).t().contiguous()
    return Cell("AWQ, 4 bits -> float16", "float16", make, ours, expression)


def q4_k():
    """A block of 144 bytes: d and dmin of float16, eight scales and eight minima of 6 bits in 12
    bytes, and 256 codes of 4 bits, of which each 64 lie in 32 bytes, low halves first."""
    def make(random, rows):
        blocks = random.bytes(rows * COLUMNS // 256, 144)
        halves = random.floats((blocks.shape[0], 2)).half()
        blocks[:, :4] = halves.view(torch.uint8)
        return {"data": blocks}

    def ours(out, data):
        dequant.gguf.dequantize(data.view(out.shape[0], -1), "Q4_K", dtype="bfloat16", out=out)

    def expression(data):
        halves = data[:, :4].contiguous().view(torch.float16).float()
        low, middle, high = data[:, 4:8], data[:, 8:12], data[:, 12:16]
        scales = torch.cat([low & 63, (high & 15) | (low >> 6 << 4)], 1)
        minima = torch.cat([middle & 63, (high >> 4) | (middle >> 6 << 4)], 1)
        bytes_ = data[:, 16:].view(-1, 4, 32)
        codes = torch.stack([bytes_ & 15, bytes_ >> 4], 2).view(-1, 8, 32)
        d = (halves[:, :1] * scales.float()).unsqueeze(-1)
        m = (halves[:, 1:] * minima.float()).unsqueeze(-1)
        return (d * codes.float() - m).to(torch.bfloat16).view(-1, COLUMNS)
    return Cell("GGUF Q4_K -> bfloat16", "bfloat16", make, ours, expression)


CELLS = [*(uint8(axis, output) for axis in ("tensor", "axis 0", "axis 1") for output in FLOATS),
         *(int4(output) for output in FLOATS), fp8(), bitsandbytes_4bit("nf4", NF4),
         bitsandbytes_4bit("fp4", FP4), bitsandbytes_int8(), mxfp4(), gptq(False), gptq(True),
         awq(), q4_k()]

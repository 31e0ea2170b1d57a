"""`dequant vectors` of the schemes of checkpoints: the numbers are those of an independent model,
`check` passes them, and the systematic ones alone find mistakes that readers of checkpoints make.
"""

import json

import numpy as np
import pytest

import scheme_models as models
from support import dequant
from vector_models import differences

F = np.float32
D = np.float64
true = {name: getattr(models, name) for name in ("block_floats", "column_groups", "slabs", "spread",
                                                 "stream")}
has, parameter, e8m0 = models.Tensors.has, models.Tensors.__call__, models.Tensors.e8m0


def vectors(folder, scheme, n):
    path = folder / f"{scheme}.json"
    dequant("vectors", scheme, "--seed", 5, "-n", n, "-o", path)
    return path


def wrong(cases):
    """The names of the cases whose y is not that of the model, or that it cannot compute."""
    names = []
    for case in cases:
        try:
            same = differences(case, models.expected(case)) == 0
        except (ValueError, IndexError, AssertionError):
            same = False
        if not same:
            names.append(case["name"])
    return names


@pytest.mark.parametrize("scheme", models.SCHEMES)
def test_numbers_are_those_of_an_independent_model_and_pass_check(tmp_path, scheme):
    path = vectors(tmp_path, scheme, 100)
    cases = json.loads(path.read_text())["cases"]
    assert wrong(c for c in cases if "y" in c["expect"]) == []
    assert dequant("check", path).stdout == f"{len(cases)} passed, 0 failed, 0 skipped\n"


def test_every_scheme_has_a_model():
    known = dequant("vectors", "caffe", "-o", "v.json", code=2).stderr.split("one of ")[1]
    assert known.strip().split(", ")[5:] == list(models.SCHEMES)


def test_seeds_decide_every_byte(tmp_path):
    one = vectors(tmp_path, "gptq", 9).read_bytes()
    (tmp_path / "gptq.json").unlink()
    two = vectors(tmp_path, "gptq", 9).read_bytes()
    assert one == two


def pairs(parts, shifts, mask):
    """Fields of bytes or words, in order."""
    return (parts[..., None].astype(int) >> shifts & mask).reshape(len(parts), -1)


#: The indices of points in blocks, by the layouts of ggml.
INDICES = {
    "IQ2_XXS": lambda b: b[:, 2:].reshape(-1, 8, 8)[..., :4],
    "IQ2_XS": lambda b: b[:, 2:66].view("<u2") & 511,
    "IQ2_S": lambda b: b[:, 2:34] + 256 * pairs(b[:, 66:74], [0, 2, 4, 6], 3),
    "IQ3_XXS": lambda b: b[:, 2:66],
    "IQ3_S": lambda b: b[:, 2:66] + 256 * pairs(b[:, 66:74], np.arange(8), 1),
    "IQ1_S": lambda b: b[:, 2:34] + 256 * pairs(b[:, 34:].view("<u2"), [0, 3, 6, 9], 7),
    "IQ1_M": lambda b: b[:, :32] + 256 * pairs(b[:, 32:48], [0, 4], 7)}


@pytest.mark.parametrize("name", INDICES)
def test_vectors_of_gguf_have_every_point_of_a_grid(systematic, name):
    case, = (c for c in systematic("gguf") if c["name"] == f"every_index/{name}")
    size = models.BLOCKS[name][2]
    blocks = np.array(case["inputs"]["data"]["bits"], np.uint8).reshape(-1, size)
    points = {"IQ1": 2048, "IQ2_S": 1024, "IQ2_XS": 512, "IQ3_S": 512}
    assert len(np.unique(INDICES[name](blocks))) == points.get(name, points.get(name[:3], 256))


@pytest.mark.parametrize("name, scales", [("MXFP4", 1), ("NVFP4", 4)])
def test_vectors_of_gguf_have_every_scale_of_a_byte(systematic, name, scales):
    case, = (c for c in systematic("gguf") if c["name"] == f"every_scale/{name}/float32")
    data = np.array(case["inputs"]["data"]["bits"]).reshape(-1, models.BLOCKS[name][2])
    assert len(np.unique(data[:, :scales])) == 256


def patched(monkeypatch, patches):
    """Replaces parts of the model."""
    for name, replacement in patches.items():
        if name.startswith("SCHEMES."):
            monkeypatch.setitem(models.SCHEMES, name.split(".")[1], replacement)
        else:
            monkeypatch.setattr(f"scheme_models.{name}", replacement)


def ignoring(*names):
    """Tensors without some of theirs."""
    return {"Tensors.has": lambda t, name: name not in names and has(t, name)}


def inverted(*names):
    return {"Tensors.__call__": lambda t, name:
            1 / parameter(t, name) if name in names else parameter(t, name)}


def in_order(t, columns, index="g_idx"):
    """Groups of neighbours, whatever the index says."""
    if not has(t, index):
        return true["column_groups"](t, columns, index)
    return np.arange(columns) * (t(index).max() + 1) // columns


def by_the_sizes(param, shape, block=None):
    """Blocks of equal lengths: what the shapes give where no block length is read."""
    if block and param.ndim == len(shape):
        block = [max(size // n, 1) for size, n in zip(shape, param.shape, strict=True)]
        param = np.pad(param, [(0, size) for size in shape], "edge")
    return true["spread"](param, shape, block)


def fields_of_bytes(words, width, bits, count):
    """The highest code of each word first."""
    codes = true["stream"](words, width, bits, words.shape[-1] * width // bits)
    per = max(width // bits, 1)
    whole = codes.shape[-1] // per * per
    return codes[..., :whole].reshape(*codes.shape[:-1], -1, per)[..., ::-1].reshape(
        *codes.shape[:-1], -1)[..., :count]


def fused(t):
    """MLX's product and sum with one rounding."""
    if t.get("mode") != "affine":
        return true_mlx(t)
    words = t.raw("weight")
    q = true["stream"](words, 32, t.get("bits"), words.shape[-1] * 32 // t.get("bits"))
    s, bias = (t(n).repeat(t.get("group_size"), -1).astype(D) for n in ("scales", "biases"))
    return (q * s + bias).astype(F)


def of_type(name, change):
    """Blocks of one type, or of several, whose bytes are read wrongly."""
    numbers = [models.BLOCKS[n][0] for n in name.split()]
    return {"block_floats": lambda number, blocks: true["block_floats"](
        number, change(blocks.copy()) if number in numbers else blocks)}


def swapped(at, end):
    """Blocks whose nibbles from one byte to another are swapped."""
    def change(blocks):
        part = blocks[:, at:end]
        blocks[:, at:end] = part >> 4 | part << 4
        return blocks
    return change


def big_endian(blocks):
    blocks[:, :2] = blocks[:, 1::-1]
    return blocks


def scales_are_nan(name, count, code):
    """Blocks of a type whose scale, one for each of `count` parts, is NaN for a code."""
    def floats(number, blocks):
        y = true["block_floats"](number, blocks)
        if number == models.BLOCKS[name][0]:
            nan = blocks[:, :count] == code
            y = np.where(nan.repeat(y.shape[1] // count, 1), F(np.nan), y)
        return y
    return {"block_floats": floats}


true_mlx = models.mlx
COLUMN_WORDS = {"padded": lambda words, bits, count: true["stream"](words, 32, bits, count)}
STREAM_AS_PADDED = {"stream": lambda words, width, bits, count: models.padded(words, bits, count)
                    if width == 32 else true["stream"](words, width, bits, count)}
ROUNDS_ONCE = {"to": lambda kind, x: np.asarray(x, F)}
# The mistake, what replaces what in the model, the schemes whose vectors must find it.
MISTAKES = [
    ("swaps nibbles", {"nibbles": lambda b: np.stack([b >> 4, b & 15], -1).reshape(
        *b.shape[:-1], -1)}, "gptoss modelopt"),
    ("reads words from their highest bits", {"stream": fields_of_bytes},
     "compressed_tensors gptq mlx mx"),
    ("takes a stream for padded words", STREAM_AS_PADDED, "compressed_tensors gptq mlx"),
    ("takes padded words for a stream", COLUMN_WORDS, "compressed_tensors"),
    ("takes planes for a stream", {"planes": lambda words, bits, count: true["stream"](
        words, 32, bits, count)}, "gptq"),
    ("leaves AWQ's order", {"AWQ_ORDER": list(range(8))}, "awq quark"),
    ("takes slabs from the other end", {"slabs": lambda words, bits, rows, high_first: true[
        "slabs"](words, bits, rows, not high_first)}, "bitnet hqq quanto"),
    ("takes slabs for neighbours", {"slabs": lambda words, bits, rows, high_first: true[
        "slabs"](words, bits, 10**6, high_first).reshape(
            -1, *words.shape).swapaxes(0, 1).reshape(-1, words.shape[1])[:rows]},
     "bitnet hqq quanto"),
    ("multiplies by scales that divide", {"SCHEMES.bitnet": lambda t: (true["slabs"](
        t.raw("weight"), 2, None, False) - 1).astype(F) * t("weight_scale").reshape(())},
     "bitnet"),
    ("divides by scales that multiply", {"SCHEMES.bitnet": lambda t: (true["slabs"](
        t.raw("weight"), 2, None, False) - 1).astype(F) / t("weight_scale").reshape(())},
     "bitnet"),
    ("does not add 1 to stored zero points", {"stored_zeros": lambda t, words, bits, unpack, count:
                                              unpack(words, bits, count)}, "gptq"),
    ("has zero points of 2^bits", {"stored_zeros": lambda t, words, bits, unpack, count:
                                   unpack(words, bits, count) + (t.get("format") == "gptq")},
     "gptq"),
    ("has no zero points", ignoring("weight_zero_point", "zero_point"),
     "compressed_tensors quark torchao"),
    ("ignores group indices", {"column_groups": in_order}, "compressed_tensors gptq"),
    ("takes blocks of equal lengths", {"spread": by_the_sizes}, "fp8 torchao compressed_tensors"),
    ("rounds once", ROUNDS_ONCE, "compressed_tensors hqq mlx modelopt quanto"),
    ("inverts the second scale", inverted("weight_global_scale", "weight_scale_2"),
     "compressed_tensors modelopt"),
    ("has no second scale", {"Tensors.__call__": lambda t, name: np.ones((), F) if name in (
        "weight_global_scale", "weight_scale_2") else parameter(t, name)},
     "compressed_tensors modelopt"),
    ("flushes the smallest E8M0 scale", {"Tensors.e8m0": lambda t, name, last=np.nan: np.where(
        t.raw(name) == 0, F(0), e8m0(t, name, last))}, "fp8 gptoss mlx modelopt mx"),
    ("has NaN for infinite scales", {"Tensors.e8m0": lambda t, name, last=np.nan: e8m0(t, name)},
     "compressed_tensors mlx"),
    ("has no NaN scales", {"Tensors.e8m0": lambda t, name, last=np.nan: e8m0(t, name, 2.0**127)},
     "fp8 gptoss modelopt mx"),
    ("has -0 for code 8", {"NVFP4": np.where(np.arange(16) == 8, F(-0.), models.NVFP4)},
     "modelopt"),
    ("fuses product and sum", {"SCHEMES.mlx": fused}, "mlx"),
    ("scales the factor first", {"SCHEMES.bitsandbytes_int8": lambda t: t("weight").astype(F) * (
        models.spread(t("SCB"), (2, 2)) * models.INT8_FACTOR)}, "bitsandbytes_int8"),
    ("fuses the nested offset", {"SCHEMES.bitsandbytes_absmax": lambda t: (
        t("nested_quant_map").astype(D)[t("absmax")] * t("nested_absmax")[np.arange(
            len(t("absmax"))) // t.get("nested_blocksize")] + t("nested_offset").reshape(())
    ).astype(F)}, "bitsandbytes_absmax"),
    ("computes in the output's type", {"matrix": lambda t, q, zeros, s, index: models.to(
        t.output, (q - zeros[index]) * models.to(t.output, s)[index]).T}, "awq gptq quark"),
    ("is transposed", {"SCHEMES.gptoss": lambda t: models.gptoss(t).swapaxes(-1, -2)}, "gptoss"),
    ("takes the low nibble first", {"SCHEMES.bitsandbytes": lambda t: t("quant_map")[
        models.nibbles(t.raw("weight").astype(np.uint32).view("u1").reshape(-1, 4)[
            :, :max(models.bits_of(t.type("weight")) // 8, 1)].reshape(-1))[
                :int(np.prod(t.get("shape")))]].reshape(t.get("shape"))}, "bitsandbytes"),
    ("has no scale beside the tensor", ignoring("scale"), "gguf"),
    ("swaps the nibbles of codes", of_type("Q4_0", swapped(2, 18)), "gguf"),
    ("swaps the nibbles of scales", of_type("Q2_K", swapped(0, 16)), "gguf"),
    ("has scales of the other byte order", of_type("Q8_0", big_endian), "gguf"),
    ("has NaN for the largest E8M0 scale", scales_are_nan("MXFP4", 1, 255), "gguf"),
    ("has NaN for E4M3 code 0x7F", scales_are_nan("NVFP4", 4, 127), "gguf"),
]


@pytest.fixture(scope="module")
def systematic(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("systematic"), {}

    def get(scheme):
        if scheme not in made:
            cases = json.loads(vectors(folder, scheme, 0).read_text())["cases"]
            made[scheme] = [c for c in cases if "y" in c["expect"]]
        return made[scheme]
    return get


@pytest.mark.parametrize("mistake,patches,schemes", MISTAKES, ids=[m[0] for m in MISTAKES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_mistakes_are_caught(systematic, monkeypatch, mistake, patches, schemes):
    patched(monkeypatch, patches)
    for scheme in schemes.split():
        assert len(wrong(systematic(scheme))) >= 2, scheme

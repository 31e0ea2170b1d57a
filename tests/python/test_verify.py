"""`dequant verify` on float checkpoints with mistakes made on purpose, by numpy: each is found and
called by its name."""

import json

import numpy as np
import pytest

from support import dequant

#: A weight of 130 x 136 in blocks of 128 x 128: the last blocks are short.
ROWS, COLUMNS, BLOCK = 130, 136, 128


def safetensors(path, tensors, metadata=None):
    """Name -> (type of the file, array)."""
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def bfloat16(values):
    """Codes of float32 values rounded to bfloat16, ties to even. No NaN."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def float_of(codes):
    return (codes.astype(np.uint32) << 16).view(np.float32)


def e4m3(codes):
    """float8e4m3fn as float32."""
    codes = codes.astype(np.int32)
    exponent, fraction = codes >> 3 & 15, codes & 7
    magnitude = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10))
    return np.where(codes >> 7, -magnitude, magnitude).astype(np.float32)


class Weight:
    """A quantized weight in a folder, and what it is worth."""

    def __init__(self, folder):
        rng = np.random.default_rng(3)
        codes = rng.integers(0, 256, (ROWS, COLUMNS)).astype(np.uint8)
        self.codes = np.where(codes & 0x7F == 0x7F, 0x3B, codes).astype(np.uint8)  # no NaN
        self.scale = rng.uniform(0.001, 0.9, (2, 2)).astype(np.float32)
        self.folder = folder / "quantized"
        self.folder.mkdir()
        config = {"torch_dtype": "bfloat16", "quantization_config": {
            "quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}}
        (self.folder / "config.json").write_text(json.dumps(config))
        safetensors(self.folder / "model.safetensors", {
            "w.weight": ("F8_E4M3", self.codes), "w.weight_scale_inv": ("F32", self.scale),
            "norm.weight": ("BF16", bfloat16(np.ones(8)))})
        self.x = e4m3(self.codes)
        self.s = self.spread(BLOCK, BLOCK)

    def spread(self, rows, columns):
        return self.scale[np.arange(ROWS)[:, None] // rows, np.arange(COLUMNS)[None] // columns]

    def verify(self, values, code=1, dtype="BF16", name="w.weight", **more):
        """The report on a float checkpoint with these values."""
        array = bfloat16(values) if dtype == "BF16" and values.dtype != np.uint16 else values
        path = safetensors(self.folder.parent / "float.safetensors", {
            name: (dtype, array), "norm.weight": ("BF16", bfloat16(np.ones(8))), **more})
        return json.loads(dequant("verify", self.folder, path, "--json", code=code).stdout)


@pytest.fixture(name="weight")
def fixture_weight(tmp_path):
    return Weight(tmp_path)


def mistakes(w):
    float16 = (w.x * w.s).astype(np.float16).astype(np.float32)
    return {
        "scale_not_applied": w.x,
        "scale_inverted": w.x / w.s,
        "scale_applied_twice": w.x * w.s * w.s,
        "scale_rounded_first": w.x * float_of(bfloat16(w.s)),
        "other_block_size": w.x * w.spread(ROWS // 2, COLUMNS // 2),
        "rounded_twice": float16,
        "rounded_otherwise": float_of(bfloat16(w.x * w.s) + 1),
    }


@pytest.mark.parametrize("mistake", [
    "scale_not_applied", "scale_inverted", "scale_applied_twice", "scale_rounded_first",
    "other_block_size", "rounded_twice", "rounded_otherwise"])
def test_a_mistake_is_called_by_its_name(weight, mistake):
    report = weight.verify(mistakes(weight)[mistake])
    assert [(w["name"], w["mistake"]) for w in report["wrong"]] == [("w.weight", mistake)]
    assert not report["good"] and report["wrong"][0]["different"] > 0


def test_a_transposed_tensor_is_called_transposed(weight):
    report = weight.verify((weight.x * weight.s).T.copy())
    assert report["wrong"][0]["mistake"] == "transposed"
    assert report["wrong"][0]["reason"] == "its shape is [136, 130], and should be [130, 136]"


def test_right_floats_are_right_in_every_type(weight):
    exact = weight.x * weight.s
    assert weight.verify(exact, code=0)["good"]
    assert weight.verify(exact, code=0, dtype="F32")["good"]
    report = weight.verify(exact.astype(np.float16), code=0, dtype="F16")
    assert report["totals"] == {"compared": 2, "dequantized": 1, "stored": 0,
                                "still_quantized": 0, "other_type": 0,
                                "elements": ROWS * COLUMNS + 8, "wrong": 0}


def test_noise_is_no_known_mistake(weight):
    rng = np.random.default_rng(4)
    report = weight.verify(weight.x * weight.s * rng.uniform(0.5, 2, (ROWS, COLUMNS)))
    assert report["wrong"][0]["mistake"] is None
    assert report["wrong"][0]["explanation"].startswith("no known mistake explains it; element ")


@pytest.mark.parametrize("dtype", ["BF16", "F32"])
@pytest.mark.parametrize("value", [1e6, -0.5, np.inf, np.nan])
def test_a_few_wrong_elements_were_called_roundings(weight, value, dtype):
    """99.9 % of the tensor are right: that explained the rest."""
    exact = weight.x * weight.s
    right = np.float32(float_of(bfloat16(exact))) if dtype == "BF16" else exact.copy()
    exact[[7, 129], [5, 135]] = value
    array = bfloat16(exact)
    array[np.isnan(exact)] = 0x7FC0
    [wrong] = weight.verify(array if dtype == "BF16" else exact, dtype=dtype)["wrong"]
    assert (wrong["different"], wrong["first_different"], wrong["mistake"]) == (2, 957, None)
    found = {np.inf: "inf"}.get(value, "nan" if np.isnan(value) else value)
    assert wrong["right"] == float(right[7, 5])
    assert wrong["found"] == (found if isinstance(found, str) else pytest.approx(found, rel=0.01))
    assert wrong["explanation"].startswith(
        "no known mistake explains it; element 957 is the first that differs: ")


def test_elements_that_a_mistake_does_not_give_are_counted(weight):
    values = weight.x * weight.s * weight.s
    values[50, 50:55] = 77
    [wrong] = weight.verify(values)["wrong"]
    assert (wrong["mistake"], wrong["unexplained"]) == ("scale_applied_twice", 5)
    assert wrong["explanation"] == "the scale was applied twice; 5 elements differ otherwise"
    assert wrong["looked_at"] == [0, ROWS * COLUMNS]


def test_signs_of_zeros_were_called_roundings(weight):
    values = weight.x * weight.s
    values[values == 0] = -0.0
    codes = bfloat16(values)
    assert (codes == 0x8000).any()
    [wrong] = weight.verify(codes)["wrong"]
    assert wrong["mistake"] == "zero_sign" and wrong["unexplained"] == 0


def test_a_difference_behind_the_first_elements_was_called_roundings(tmp_path):
    """Of long tensors only the first 2^22 elements were looked at, wherever the first difference
    was."""
    rows, columns = 4200, 4096
    codes = np.random.default_rng(1).integers(0, 120, (rows, columns)).astype(np.uint8)
    codes[:2100] = 0  # which every mistake gives
    scale = np.full((rows, 1), 0.5, np.float32)
    quantized = safetensors(tmp_path / "q.safetensors", {
        "w.weight": ("F8_E4M3", codes), "w.weight_scale": ("F32", scale)})
    right = bfloat16(np.float32(0.5) * e4m3(np.arange(256)))
    for factor, mistake in ((3, None), (2, "scale_not_applied")):
        values = bfloat16(factor * float_of(right))[codes]
        floats = safetensors(tmp_path / "f.safetensors", {"w.weight": ("BF16", values)})
        [wrong] = json.loads(dequant("verify", quantized, floats, "--json",
                                     code=1).stdout)["wrong"]
        first = 2100 * columns + int(np.flatnonzero(codes[2100] != 0)[0])
        assert (wrong["first_different"], wrong["mistake"]) == (first, mistake)
    assert wrong["looked_at"] == [2 << 22, 3 << 22]
    assert wrong["explanation"] == "the scale was not applied"


@pytest.mark.parametrize("rest", [4, np.nan])
def test_a_mistake_spoke_for_elements_that_were_not_searched(tmp_path, rest):
    """One bit that differs among the elements that are searched is a rounding, and all else is
    none."""
    codes = np.random.default_rng(2).integers(1, 120, (4200, 4096)).astype(np.uint8)
    quantized = safetensors(tmp_path / "q.safetensors", {
        "w.weight": ("F8_E4M3", codes), "w.weight_scale": ("F32", np.float32([[0.5]]))})
    values = e4m3(codes) * np.float32(0.5)
    right = bfloat16(values)
    right[0, 5] ^= 1
    for rows in (2100, 4199):
        wrong_rows = values[rows:] * np.float32(rest)
        array = right.copy()
        array[rows:] = np.where(np.isnan(wrong_rows), 0x7FC0, bfloat16(wrong_rows))
        floats = safetensors(tmp_path / "f.safetensors", {"w.weight": ("BF16", array)})
        [wrong] = json.loads(dequant("verify", quantized, floats, "--json",
                                     code=1).stdout)["wrong"]
        assert (wrong["mistake"], wrong["unexplained"]) == (None, None)
        assert wrong["different"] == 1 + array[rows:].size
        assert wrong["looked_at"] == [0, 1 << 22]
        assert wrong["explanation"].startswith(
            "no known mistake explains it (searched in elements 0 to 4194303); element 5 is the ")


def test_a_mistake_is_checked_in_all_of_a_long_tensor(tmp_path):
    codes = np.random.default_rng(3).integers(1, 120, (4200, 4096)).astype(np.uint8)
    quantized = safetensors(tmp_path / "q.safetensors", {
        "w.weight": ("F8_E4M3", codes), "w.weight_scale": ("F32", np.float32([[3]]))})
    values = e4m3(codes)
    values[4199, :9] = 77.5
    floats = safetensors(tmp_path / "f.safetensors", {"w.weight": ("BF16", bfloat16(values))})
    [wrong] = json.loads(dequant("verify", quantized, floats, "--json", code=1).stdout)["wrong"]
    assert (wrong["mistake"], wrong["unexplained"]) == ("scale_not_applied", 9)
    assert wrong["explanation"] == "the scale was not applied; 9 elements differ otherwise"


def test_a_tensor_that_was_not_searched_had_no_known_mistake(tmp_path):
    codes = np.random.default_rng(4).integers(1, 120, (1100, 1024)).astype(np.uint8)
    quantized = safetensors(tmp_path / "q.safetensors", {
        "w.weight": ("F8_E4M3", codes), "w.weight_scale": ("F32", np.float32([[3]]))})
    floats = safetensors(tmp_path / "f.safetensors", {"w.weight": ("BF16", bfloat16(e4m3(codes)))})
    for mem, mistake, looked_at, words in (
            ("64Mi", "scale_not_applied", [0, codes.size], "the scale was not applied"),
            ("8Mi", None, None, "not searched for known mistakes, as what is stored takes more "
                                "than an eighth of --mem; element 0 is the first that differs: ")):
        [wrong] = json.loads(dequant("verify", quantized, floats, "--json", "--mem", mem,
                                     code=1).stdout)["wrong"]
        assert (wrong["mistake"], wrong["looked_at"]) == (mistake, looked_at)
        assert wrong["explanation"].startswith(words)


def test_missing_and_unexpected_tensors_are_named(weight):
    report = weight.verify(weight.x * weight.s, name="v.weight")
    assert (report["missing"], report["unexpected"]) == (["w.weight"], ["v.weight"])
    assert report["wrong"] == []


def test_floats_that_others_same_rounds_were_wrong(tmp_path):
    """Of each of the types in each other; the first one that is not rounded so is found."""
    x = np.random.default_rng(3).standard_normal(1000).astype(np.float32)
    x[:4] = 70000, -0.0, np.nan, 1 + 2**-9  # a tie of bfloat16
    with np.errstate(over="ignore"):
        stored = {"F32": x, "F16": x.astype(np.float16), "BF16": bfloat16(x)}
    values = {"F32": x, "F16": stored["F16"].astype(np.float32), "BF16": float_of(stored["BF16"])}
    for from_type, array in stored.items():
        source = safetensors(tmp_path / "a.safetensors", {"norm.weight": (from_type, array)})
        for to_type in stored:
            with np.errstate(over="ignore"):
                rounded = {"F32": values[from_type], "F16": values[from_type].astype(np.float16),
                           "BF16": bfloat16(values[from_type])}[to_type].copy()
            target = tmp_path / "b.safetensors"
            safetensors(target, {"norm.weight": (to_type, rounded)})
            done = dequant("verify", source, target, "--json")
            assert json.loads(done.stdout)["totals"]["other_type"] == (from_type != to_type)
            rounded.reshape(-1).view(np.uint8)[-rounded.itemsize] ^= 1
            safetensors(target, {"norm.weight": (to_type, rounded)})
            [wrong] = json.loads(dequant("verify", source, target, "--json",
                                         code=1).stdout)["wrong"]
            assert (wrong["different"], wrong["first_different"]) == (1, 999)


def test_a_tensor_that_was_not_quantized_keeps_its_bits(weight):
    exact = weight.x * weight.s
    more = {"norm.weight": ("F32", np.ones(8, np.float32))}
    report = weight.verify(exact, code=0, **more)
    assert report["good"] and report["totals"]["other_type"] == 1
    more = {"norm.weight": ("BF16", bfloat16(np.full(8, 2.0)))}
    assert weight.verify(exact, **more)["wrong"][0]["different"] == 8

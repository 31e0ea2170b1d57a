"""`dequant diff` on the command line gives the numbers of dequant.diff()."""

import json
import subprocess

import ml_dtypes
import numpy as np
import pytest

import dequant
from model_support import CLI, shared_models

from arithmetic import floats, random_codes
from support import linear, model, save

import onnx
from onnx import helper

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
CLOSE = {"mean_abs", "rmse", "sqnr_db"}  # sums, whose order is the implementation's


def command(a, b, *options):
    done = subprocess.run([CLI, "diff", a, b, "--json", *map(str, options)], capture_output=True,
                          text=True, timeout=120)
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["within"] else 1)
    return found


def stored(path, **arrays):
    """A model that only stores arrays."""
    tensors = [helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape, a.tobytes(),
                                  raw=True) for n, a in arrays.items()]
    return save(model([], outputs=[], initializers=tensors), path)


def plain(difference):
    return json.loads(json.dumps(difference.to_dict()))


def assert_same(found, a, b, **options):
    """A tensor of the command's object, and what Python says of the two."""
    expected = plain(dequant.diff(a, b, **options))
    extra = {"name", "name_in_b", "within"}
    assert list(expected) == [key for key in found if key not in extra]
    for key, value in expected.items():
        if key == "worst_channels":
            every = plain(dequant.diff(a, b, **{**options, "worst": 1 << 20}))[key]
            assert_same_channels(found[key], value, {c["index"]: c for c in every})
        elif key in CLOSE:
            assert_close(found[key], value)
        else:
            assert found[key] == value, key


def assert_same_channels(found, expected, every):
    """Of channels that are alike but for the rounding of sums any may be listed."""
    for ours, theirs in zip(found, expected, strict=True):
        assert ours["mismatches"] == theirs["mismatches"]
        assert_close(ours["sqnr_db"], theirs["sqnr_db"])
        same = every[ours["index"]]
        assert ours["mismatches"] == same["mismatches"] and ours["max_abs"] == same["max_abs"]
        assert_close(ours["sqnr_db"], same["sqnr_db"])
    assert len({c["index"] for c in found}) == len(found)


def assert_close(found, expected):
    if isinstance(expected, str):  # an infinity
        assert found == expected
    else:
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


def random_bits(rng, name, shape):
    """Any code: all exponents, subnormal numbers, zeros, infinities, NaN."""
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    return bits.view("f4") if name == "float32" else bits.astype("u2").view(TYPES[name])


def near(rng, a, name):
    """Mostly a few steps from a, some of them far."""
    with np.errstate(all="ignore"):
        b = a.astype("f4") * (1 + rng.normal(size=a.shape).astype("f4") * 2.0**-rng.integers(6, 24))
        b = np.where(rng.random(a.shape) < 0.3, a.astype("f4"), b)
        return b.astype(TYPES[name])


KINDS = {
    "normal": lambda rng, name, shape: rng.normal(size=shape).astype(TYPES[name]),
    "finite bits": lambda rng, name, shape: finite(random_bits(rng, name, shape)),
    "any bits": random_bits,
    "subnormal": lambda rng, name, shape: (
        random_bits(rng, name, shape).astype("f8") * 0 + rng.integers(-9, 9, shape)
        * float(ml_dtypes.finfo(TYPES[name]).smallest_subnormal)).astype(TYPES[name]),
}


def finite(array):
    return np.where(np.isfinite(array.astype("f4")), array, array.dtype.type(1))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("options", [{}, {"skip_mismatches": True}], ids=["plain", "skip"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("b_type", TYPES)
@pytest.mark.parametrize("a_type", TYPES)
def test_random_arrays_of_all_types(a_type, b_type, kind, options, tmp_path):
    rng = np.random.default_rng(1)
    shapes = [(), (1,), (0, 3), (900,), (7, 5, 3), (3, 11_000, 3), (300, 7, 61)]
    a = {f"t{i}": np.asarray(KINDS[kind](rng, a_type, s), TYPES[a_type])
         for i, s in enumerate(shapes)}
    b = {n: np.asarray(near(rng, t, b_type)) for n, t in a.items()}
    paths = stored(tmp_path / "a.onnx", **a), stored(tmp_path / "b.onnx", **b)
    flags = ["--skip-mismatches"] if options else []
    for axis in (None, 0, -1):
        found = command(*paths, *flags, *([] if axis is None else ["--axis", axis]))
        expected = dequant.diff(a, b, axis=axis, **options)
        assert [t["name"] for t in found["tensors"]][:3] == list(expected.tensors)[:3]
        assert len(found["tensors"]) == len(shapes)
        assert found["exact"] == expected.exact
        for t in found["tensors"]:
            has_axis = axis is not None and t["shape"]
            assert_same(t, a[t["name"]], b[t["name"]], axis=axis if has_axis else None, **options)


@pytest.mark.parametrize("worst", [0, 1, 100])
def test_the_number_of_channels(worst, tmp_path):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 30, 40)).astype("f4"), rng.normal(size=(2, 30, 40)).astype("f4")
    paths = stored(tmp_path / "a.onnx", w=a), stored(tmp_path / "b.onnx", w=b)
    [t] = command(*paths, "--axis", 1, "--worst", worst)["tensors"]
    assert_same(t, a, b, axis=1, worst=worst)


@shared_models
def test_models_against_themselves_with_other_scales(path, tmp_path):
    """All that dequant.open() has, paired in the same way; the command also compares floats."""
    proto = onnx.load(path)
    onnx.save(proto, tmp_path / "a.onnx")
    scales = {n.input[1] for n in proto.graph.node if n.op_type == "DequantizeLinear"}
    for t in proto.graph.initializer:
        if t.name in scales:
            array = onnx.numpy_helper.to_array(t)
            t.CopyFrom(onnx.numpy_helper.from_array(array * array.dtype.type(1.25), t.name))
    onnx.save(proto, tmp_path / "b.onnx")
    found = command(tmp_path / "a.onnx", tmp_path / "b.onnx", "--axis", 0)
    tensors = {t["name"]: t for t in found["tensors"]}
    with dequant.open(tmp_path / "a.onnx") as a, dequant.open(tmp_path / "b.onnx") as b:
        expected = dequant.diff(a, b, axis=0)
        assert set(expected.tensors) <= set(tensors)
        for name, difference in expected.tensors.items():
            assert_same(tensors[name], a[name], b[name], axis=difference.axis)
    assert not expected.skipped and not found["skipped"]


def test_quantized_tensors_of_every_output_type(tmp_path):
    rng = np.random.default_rng(1)
    for a_type in TYPES:
        for b_type in TYPES:
            paths = []
            for folder, t in (("a", a_type), ("b", b_type)):
                (tmp_path / a_type / b_type / folder).mkdir(parents=True)
                paths.append(linear(tmp_path / a_type / b_type / folder,
                                    random_codes(rng, "uint8", [50, 90]), floats(0.3, t)))
            [found] = command(*paths, "--axis", 1)["tensors"]
            with dequant.open(paths[0]) as a, dequant.open(paths[1]) as b:
                assert_same(found, a["y"], b["y"], axis=1)

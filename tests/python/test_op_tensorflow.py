"""`dequant op tensorflow`: Dequantize by TensorFlow's formulas, in numpy."""

import ml_dtypes
import numpy as np
import pytest

from op_support import F, op, rng, same_bits, tensorflow  # noqa: F401 (fixtures)

TYPES = {"quint8": "u1", "qint8": "i1", "quint16": "u2", "qint16": "i2", "qint32": "i4"}
MODES = ["MIN_COMBINED", "MIN_FIRST", "SCALED"]


def tensorflow_codes(rng, name, shape):
    """Codes of a type, but for those of qint32 that TensorFlow casts out of range."""
    info = np.iinfo(TYPES[name])
    return rng.integers(info.min, min(info.max, 2147483583), shape, TYPES[name], endpoint=True)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("mode", MODES)
def test_tensorflow_modes(name, mode, op, rng):
    x = tensorflow_codes(rng, name, [7, 5])
    for low, high in [(-1, 6), (-0.37, 0.11), (3, -2), (0, 0), (-5, -5)]:
        y = op("tensorflow", f"--mode={mode}", x=x, min=low, max=high)
        same_bits(y, tensorflow(x, F(low), F(high), mode))


@pytest.mark.parametrize("mode", ["MIN_COMBINED", "SCALED"])
@pytest.mark.parametrize("option, axis", [("--axis=0", 0), ("--axis=2", 2), ("--python-axis=1", 1),
                                          ("--python-axis=-1", 2), ("--python-axis=-3", 0)])
def test_tensorflow_axes_are_of_the_op_or_of_python(mode, option, axis, op, rng):
    x = tensorflow_codes(rng, "qint8", [4, 3, 5])
    shape = [1, 1, 1]
    shape[axis] = x.shape[axis]
    low, high = np.sort(rng.normal(size=[2, x.shape[axis]]).astype("f4"), 0)
    y = op("tensorflow", option, f"--mode={mode}", "--narrow-range", x=x, min=low, max=high)
    same_bits(y, tensorflow(x, low.reshape(shape), high.reshape(shape), mode, narrow=True))
    listed = [",".join(repr(float(v)) for v in r) for r in (low, high)]
    same_bits(op("tensorflow", option, f"--mode={mode}", "--narrow-range", x=x, min=listed[0],
                 max=listed[1]), y)


def test_tensorflow_axis_minus_one_of_the_op_is_per_tensor(op):
    x = np.uint8([[0, 255]])
    same_bits(op("tensorflow", "--axis=-1", x=x, min=0, max=1), F([[0, 1]]))
    assert "min_range" in op.run("tensorflow", "--axis=-1", x=x, min="0,0", max="1,1",
                                 code=2).stderr


def test_tensorflow_output_may_be_bfloat16(op, rng):
    x = tensorflow_codes(rng, "quint16", [100])
    done = op.run("tensorflow", "--dtype=bfloat16", x=x, min=-0.7, max=3.3)
    expected = tensorflow(x, F(-0.7), F(3.3), "MIN_COMBINED").astype(ml_dtypes.bfloat16)
    same_bits(np.load(op.folder / "y.npy"), expected.astype(F))
    assert "bfloat16 as float32" in done.stdout


@pytest.mark.parametrize("name", ["quint8", "qint8"])
def test_tensorflow_documented_formula_is_that_of_the_page(name, op, rng):
    """r1.4: in + 128 for qint8, then min + in * (max - min) / 255, here in double."""
    x = tensorflow_codes(rng, name, [50])
    low, high = np.float64(F(-0.7)), np.float64(F(3.3))
    y = op("tensorflow", "--version=1.4", "--semantics=documented", x=x, min=-0.7, max=3.3)
    expected = (low + (x + (128.0 if name == "qint8" else 0.0)) * (high - low) / 255).astype(F)
    assert (np.abs(y.view("i4") - expected.view("i4")) <= 1).all()


@pytest.mark.parametrize("name", TYPES)
def test_tensorflow_types_go_by_both_names(name, op):
    x = np.zeros(3, TYPES[name])
    own = x.dtype.name
    for x_type in (name, own):
        op.run("tensorflow", "--force", x=x, x_type=x_type, min=0, max=1)
    other = "qint8" if name == "quint8" else "quint8"
    assert "cannot hold" in op.run("tensorflow", x=x, x_type=other, min=0, max=1, code=2).stderr


@pytest.mark.parametrize("options, code, word", [
    (["--axis=2"], 2, "axis"), (["--axis=-2"], 2, "axis"), (["--python-axis=-2"], 2, "axis"),
    (["--mode=MIN_FIRST", "--axis=0", "--min=0,0", "--max=1,1"], 4, "MIN_FIRST"),
    (["--mode=SCALED", "--dtype=bfloat16"], 2, "bfloat16"),
    (["--version=1.4", "--axis=0"], 2, "axis"),
    (["--version=1.4", "--narrow-range"], 2, "narrow_range"),
    (["--semantics=documented"], 2, "documented"), (["--axis=0", "--python-axis=0"], 2, "excludes"),
    (["--mode=MIN"], 2, "--mode"), (["--version=3"], 2, "--version"), (["--axis=x"], 2, "--axis"),
    (["--min=1,,2"], 2, '--min: "" is neither a number nor a .npy file'),
    (["--max=1e39"], 2, "--max: 1e39 is beyond what float32 holds"), (["--min=x.np"], 2, "x.np"),
    (["--min=none.npy"], 5, "--min: cannot open none.npy"), (["--min=1 "], 2, '"1 "')])
def test_tensorflow_refusals(options, code, word, op):
    ranges = {k: v for k, v in (("min", 0), ("max", 1)) if not any(f"--{k}=" in o for o in options)}
    done = op.run("tensorflow", *options, x=np.uint8([1, 2]), code=code, **ranges)
    assert word in done.stderr and not (op.folder / "y.npy").exists()


@pytest.mark.parametrize("text", ["0.1", "-1e-3", "+2", "inf", "-inf", "nan", "1e-40", "16777217",
                                  "0x1p1"])
def test_numbers_are_rounded_once_to_float32(text, op):
    """max = min: every mode gives min where it is finite."""
    if text.startswith("0x"):
        op.run("tensorflow", x=np.uint8([0]), min=text, max=0, code=2)
        return
    y = op("tensorflow", "--mode=MIN_FIRST", x=np.uint8([0]), min=text, max=text)
    same_bits(y, tensorflow(np.uint8([0]), F(text), F(text), "MIN_FIRST"))

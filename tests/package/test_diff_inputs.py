"""What dequant.diff() takes, and what it refuses."""

import ml_dtypes
import numpy as np
import pytest

import dequant

pytestmark = pytest.mark.filterwarnings("error")


def test_any_layout_is_read_as_it_is():
    base = np.random.default_rng(5).normal(size=(60, 70)).astype(np.float32)
    views = [base.T, base[::-1, ::3], base[5:, ::-2].T, np.asfortranarray(base), base.astype(">f4"),
             np.broadcast_to(base[0], (40, 70))]
    for view in views:
        plain = np.array(view, "<f4", order="C")
        assert dequant.diff(plain, view).exact
        moved = plain + np.float32(1)
        assert dequant.diff(view, moved).to_dict() == dequant.diff(plain, moved).to_dict()
    unaligned = np.frombuffer(b"\0" + base.tobytes(),
                              np.uint8)[1:].view(np.float32).reshape(base.shape)
    assert dequant.diff(base, unaligned).exact


def test_read_only_arrays_are_left_alone():
    a, b = np.array([1.0, np.nan, np.inf]), np.array([1.0, 2.0, np.inf])
    a.flags.writeable = b.flags.writeable = False
    dequant.diff(a, b, skip_mismatches=True)
    assert repr(a.tolist()) == "[1.0, nan, inf]"


def test_numbers_lists_buffers_and_packed_bits():
    one = np.array([[1.0, 2.0]], np.float32)
    bits = np.array([[0x3f80, 0x4000]], np.uint16)
    packed = dequant.Packed(bits.view(np.uint8), "bfloat16", (1, 2))
    for other in ([[1, 2]], ((1.0, 2),), memoryview(one), packed, bits.view(ml_dtypes.bfloat16),
                  dequant.Packed(one.view(np.uint8), "float32", (1, 2)), [np.float16([1, 2])]):
        assert dequant.diff(one, other).exact, other
        assert dequant.diff(other, one + 1).max_abs == 1
    assert dequant.diff(1, 1.5).worst == dequant.Worst((), 1.0, 1.5)
    assert dequant.diff(np.float32(2), np.array(2.0)).exact


def test_what_only_speaks_dlpack_or_to_numpy():
    class Exporter:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    class Tensor:
        def to_numpy(self):
            return np.float32([1, 2])

    assert dequant.diff(Exporter(np.float32([1, 2])), Tensor()).exact
    assert dequant.diff(Tensor(), Exporter(np.float32([1, 3]))).worst.index == (1,)


class OfMlx:
    """As mlx.core.array, which has __array__ besides DLPack: numpy does not read its bfloat16."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __array__(self, dtype=None, copy=None):
        raise ValueError("'bfloat16' is not a valid PEP 3118 buffer format string")

    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_tensors_that_numpy_cannot_read_were_refused_in_its_words():
    array = OfMlx(np.float16([1, 2.5]))
    assert dequant.diff(array, np.float32([1, 2.5])).exact
    assert dequant.diff(np.float32([1, 3]), array).max_abs == 0.5
    found = dequant.diff({"w": array}, {"w": array})
    assert found.exact and not found.skipped
    with pytest.raises(TypeError, match="^a: int32 is not compared"):
        dequant.diff(OfMlx(np.int32([1])), [1.0])


def test_bfloat16_that_numpy_cannot_read(torch):
    array = OfMlx(torch.tensor([1, 2.5]).bfloat16())
    assert dequant.diff(array, np.float32([1, 2.5])).exact
    assert dequant.diff(array, np.float32([1, 3])).max_abs == 0.5


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    for other in (x.numpy(), x.double(), x.half(), x.bfloat16(), x.clone().requires_grad_()):
        assert dequant.diff(x, other).exact
    moved = x.bfloat16().permute(2, 0, 1)
    assert dequant.diff(x.permute(2, 0, 1).numpy(), moved).exact
    assert dequant.diff(moved, x.permute(2, 0, 1) + 1).max_abs == 1


@pytest.mark.parametrize("value", [
    np.int32([1]), np.uint16([1]), np.array([True]), np.array([1j]), np.longdouble([1]),
    np.array(["a"]), np.array([None]), np.array([1], ml_dtypes.float8_e4m3fn), "model.onnx",
    b"1234", None, object(), [True], ["1"],
    [2**70], memoryview(b"1234"), np.zeros(1, [("f", "f4")]), np.datetime64("2020"),
    np.ma.array([1.0], mask=[True])],
                         ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}")
def test_other_elements_are_refused_by_name(value):
    with pytest.raises(TypeError, match=r"^a: "):
        dequant.diff(value, np.float32([1]))
    with pytest.raises(TypeError, match=r"^b: "):
        dequant.diff(np.float32([1]), value)


def test_shapes_axes_and_counts_are_checked():
    with pytest.raises(ValueError, match=r"\[2, 3\], and b \[3, 2\]"):
        dequant.diff(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"\[\], and b \[1\]"):
        dequant.diff(0.0, [0.0])
    for shape, axis in (((2, 3), 2), ((2, 3), -3), ((), 0), ((0,), 1)):
        with pytest.raises(ValueError, match=f"axis: {axis} "):
            dequant.diff(np.zeros(shape), np.zeros(shape), axis=axis)
    with pytest.raises(ValueError, match="worst: -1"):
        dequant.diff([0.0], [0.0], worst=-1)
    for wrong in ({"axis": 1.0}, {"axis": "0"}, {"worst": 2.5}, {"worst": None}):
        with pytest.raises(TypeError):
            dequant.diff([[0.0]], [[0.0]], **wrong)
    with pytest.raises(ValueError):
        dequant.diff([[1.0], [1.0, 2.0]], [1.0])


@pytest.mark.parametrize("value",
                         [2**53 + 1, -2**53 - 1, 2**60 + 1, 2**63 - 1, 2**64 - 1, 1 - 2**63])
def test_ints_that_are_no_float64_are_refused(value):
    for numbers in (value, [value], [0.5, value], [[0], [value]], (float("nan"), value)):
        for pair in ((numbers, [1.0]), ([1.0], numbers)):
            with pytest.raises(ValueError, match=f"^[ab]: {value} is no float64"):
                dequant.diff(*pair)
    if value < 2**63:
        with pytest.raises(ValueError, match="is no float64"):
            dequant.diff([np.int64(value)], [1.0])


def test_large_ints_that_are_float64_are_compared():
    for value in (2**53, 2**53 + 2, 2**60, 2**63, -2**63):
        assert dequant.diff([value], [float(value)]).exact
        assert dequant.diff([value, float("inf")], [value, float("inf")]).exact
    assert dequant.diff([2**53 + 2], [2**53]).max_abs == 2
    assert dequant.diff([1e300, 1], [1e300, 1.0]).exact


@pytest.mark.parametrize("element", [name for name in dequant.dtypes if name not in (
    "float16", "bfloat16", "float32")])
def test_packed_codes_are_refused_by_name(element):
    packed = dequant.Packed(bytes(4), element, 4 * 8 // dequant._core.BITS[element])
    with pytest.raises(TypeError,
                       match=f"^a: {element} is not compared, .* dequantize or convert it"):
        dequant.diff(packed, [1.0])
    assert dequant.diff({"w": packed},
                        {"w": packed}).skipped["w"].startswith(f"a: {element} is not compared")


def test_torch_tensors_that_are_not_compared_are_refused_by_name(torch):
    for value in (torch.ones(1, dtype=torch.int32), torch.ones(1).to(torch.float8_e5m2),
                  torch.ones(1, device="meta"), torch.ones(1, dtype=torch.uint8).view(torch.int4),
                  torch.ones(1).to_sparse(), torch.ones(1, dtype=torch.complex64).conj(),
                  torch._neg_view(torch.ones(1))):
        with pytest.raises(TypeError, match="^a: "):
            dequant.diff(value, np.float32([1]))
        assert "w" in dequant.diff({"w": value}, {"w": value}).skipped

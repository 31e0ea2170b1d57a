"""PyTorch: the bits of its formulas, its tensors as inputs and as outputs."""

import numpy as np
import pytest

import dequant
from arithmetic import Codes
from tensors import EDGES, array_of, same_bits

FLOAT8 = {"float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
          "float8e5m2": "float8_e5m2",
          "float8e5m2fnuz": "float8_e5m2fnuz"}
SCALES = EDGES[:, None].copy()


@pytest.mark.parametrize("output", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16", *FLOAT8])
def test_its_expression_gives_these_bits(element, output, torch):
    codes = Codes(element, np.arange(65536 if element.endswith("16") else 256))
    unsigned = torch.from_numpy(codes.codes.astype("u2" if element.endswith("16") else "u1"))
    x = unsigned.view(getattr(torch, FLOAT8.get(element, element)))
    zero = 0 if element in FLOAT8 else 77
    want = ((x.to(torch.float32) - zero) * torch.from_numpy(SCALES)).to(getattr(torch, output))
    for form in (x, array_of(codes)):
        for i, scale in enumerate(SCALES[:, 0]):
            y = dequant.onnx.dequantize_linear(form, scale, zero or None, output_dtype=output,
                                               like="torch")
            assert y.dtype == want.dtype
            if output != "bfloat16":
                same_bits(y.numpy(), want[i].numpy())
            else:
                assert bool(((y.view(torch.int16) == want[i].view(torch.int16))
                             | (y.isnan() & want[i].isnan())).all())


def test_its_quantized_operators_give_these_bits(rng, torch):
    pytest.importorskip("torch.ao.quantization.fx._decomposed",
                        reason="NO quantized_decomposed in this torch")
    ops = torch.ops.quantized_decomposed
    x = torch.from_numpy(rng.integers(-128, 128, (6, 5, 7)).astype(np.int8))
    scale, zero = torch.rand(5), torch.from_numpy(rng.integers(-128, 128, 5))
    want = ops.dequantize_per_channel(x, scale, zero, 1, -128, 127, torch.int8)
    same_bits(dequant.onnx.dequantize_linear(x, scale, zero.to(torch.int8), axis=1), want.numpy())
    want = ops.dequantize_per_tensor(x, 0.37, -9, -128, 127, torch.int8)
    same_bits(dequant.onnx.dequantize_linear(x, 0.37, -9), want.numpy())


def test_its_tensors_are_read_in_any_layout(torch):
    x = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 4)
    for view in (x.transpose(0, 2), x[:, ::2], x[1], x[0, 0, 0], x.expand(5, 2, 3, 4),
                 x[:0], x.flip(0)):
        same_bits(dequant.onnx.dequantize_linear(view, 0.5), view.numpy() * np.float32(0.5))
    rows = x[0].to(torch.float32).T
    same_bits(dequant.onnx.dequantize_linear(np.ones((4, 3), np.uint8), rows, axis=0, block_size=1),
              rows.numpy())


@pytest.mark.parametrize("name", [*FLOAT8.values(), "bfloat16"])
def test_types_that_numpy_lacks_are_read_in_any_layout(name, torch):
    values = torch.tensor([[1.0, 2.0, 0.5], [4.0, -8.0, 0.0]]).to(getattr(torch, name))
    for view in (values, values.T, values[:, ::2], values[1], values[:, 1], values[0, 1]):
        want = view.to(torch.float32).numpy()
        if name != "bfloat16":
            y = dequant.onnx.dequantize_linear(view, np.float32(1))
        else:
            blocks = {"axis": 0, "block_size": 1} if view.ndim else {}
            y = dequant.onnx.dequantize_linear(np.ones(view.shape, np.uint8), view,
                                               output_dtype=1, **blocks)
        same_bits(y, want)


def test_what_is_more_than_memory_is_refused(torch):
    ones = np.uint8([1, 1])
    with pytest.raises(TypeError, match="^scale: .*gradient"):
        dequant.onnx.dequantize_linear(ones, torch.ones(2, requires_grad=True), axis=0)
    with pytest.raises(TypeError, match="scale: "):
        dequant.onnx.dequantize_linear(ones, torch.ones(2, dtype=torch.complex64).conj(), axis=0)
    with pytest.raises(TypeError, match="^x: "):
        dequant.onnx.dequantize_linear(torch.ones(2, device="meta"), np.float32(1))
    with pytest.raises(TypeError, match="^x: "):
        dequant.onnx.dequantize_linear(torch.ones(2, dtype=torch.uint8).to_sparse(), np.float32(1))
    with pytest.raises(TypeError, match="^x: int64 is no element type"):
        dequant.onnx.dequantize_linear(torch.ones(2, dtype=torch.int64), np.float32(1))
    with pytest.raises(TypeError, match="^x: "):
        dequant.onnx.dequantize_linear(torch.quantize_per_tensor(torch.ones(2), 1, 0, torch.quint8),
                                       np.float32(1))


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_results_go_into_its_tensors(name, torch):
    dtype, x = getattr(torch, name), np.uint8([[1, 2], [3, 4]])
    out = torch.zeros(2, 2, dtype=dtype)
    assert dequant.onnx.dequantize_linear(x, 0.5, output_dtype=name, out=out) is out
    assert torch.equal(out, torch.tensor([[0.5, 1], [1.5, 2]], dtype=dtype))
    y = dequant.onnx.dequantize_linear(x, 0.5, output_dtype=dtype, like="torch")
    assert isinstance(y, torch.Tensor) and y.dtype == dtype and torch.equal(y, out)
    for wrong in (torch.zeros(3, 2, dtype=dtype).T, torch.zeros(2, 4, dtype=dtype)[:, ::2],
                  torch.zeros(2, 2, dtype=torch.int32), torch.zeros(4, dtype=dtype),
                  torch.zeros(2, 2, dtype=dtype, device="meta"),
                  torch.zeros(2, 2, dtype=dtype, requires_grad=True)):
        with pytest.raises((TypeError, ValueError), match="^out: "):
            dequant.onnx.dequantize_linear(x, 0.5, output_dtype=name, out=wrong)
        assert wrong.is_meta or not wrong.any()


def test_negated_views_are_not_taken_for_their_memory(torch):
    """imag() of a conjugate is a view whose signs torch turns when it reads."""
    for view in (torch.imag(torch.tensor([1 + 2j, 3 + 4j]).conj()),
                 torch._neg_view(torch.tensor([2.0, 4.0]))):
        assert view.is_neg()
        with pytest.raises(TypeError, match="^scale: .*resolve_neg"):
            dequant.onnx.dequantize_linear(np.uint8([1, 1]), view, axis=0)
        y = dequant.onnx.dequantize_linear(np.uint8([1, 1]), view.resolve_neg(), axis=0)
        assert y.tolist() == [-2, -4]
    with pytest.raises(TypeError, match="^out: .*resolve_neg"):
        dequant.onnx.dequantize_linear(np.uint8([1, 1]), 1.0, out=torch._neg_view(torch.zeros(2)))


def test_memory_is_shared_with_its_tensors(torch):
    y = dequant.onnx.dequantize_linear(np.uint8([1, 2]), 0.5, like="torch")
    again = torch.from_numpy(dequant.onnx.dequantize_linear(np.uint8([1, 2]), 0.5))
    assert torch.equal(y, again)
    with pytest.raises(ValueError, match="^like: out"):
        dequant.onnx.dequantize_linear(np.uint8([1, 2]), 0.5, out=y, like="torch")
    kept = torch.zeros(1 << 20, dtype=torch.uint8)
    with pytest.raises(ValueError, match="^y: overlaps x"):
        dequant.onnx.dequantize_linear(kept[:2], 0.5, out=kept[:8].view(torch.float32))


@pytest.mark.parametrize("bits", range(1, 8))
def test_types_of_less_than_a_byte_are_not_read_as_bytes(bits, torch):
    """DLPack calls their memory int8 and uint8."""
    for sign in ("int", "uint"):
        name = f"{sign}{bits}"
        if not hasattr(torch, name):
            pytest.skip(f"THIS TORCH HAS NO {name}")
        x = torch.tensor([0x97, 0x01], dtype=torch.uint8).view(getattr(torch, name))
        with pytest.raises(TypeError, match=f"^x: {name}, whose memory DLPack calls {sign}8; give "
                                            "dequant.Packed"):
            dequant.onnx.dequantize_linear(x, 1.0)
        with pytest.raises(TypeError, match="^zero_point: "):
            dequant.onnx.dequantize_linear(np.uint8([[1, 2]]), np.float32([1, 1]), x)
        same_bits(dequant.onnx.dequantize_linear(x.view(torch.uint8), 1.0), np.float32([0x97, 1]))


def without_memory(torch):
    """Tensors of torch that stand for others, or are computed when they are used."""
    from torch._subclasses import FakeTensorMode

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, shape):
            return torch.Tensor._make_wrapper_subclass(cls, shape)

        @classmethod
        def __torch_dispatch__(cls, function, types, arguments=(), options=None):
            raise NotImplementedError(function)

    with FakeTensorMode():
        yield torch.zeros(2)
    yield Wrapper((2,))
    yield torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
    yield torch._to_functional_tensor(torch.ones(2))
    yield torch._efficientzerotensor((2,))
    yield torch.zeros(2, device="meta")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tensors_without_memory_of_their_own_are_refused(torch):
    x = np.uint8([1, 1])
    for tensor in without_memory(torch):
        with pytest.raises(TypeError, match="^scale: "):
            dequant.onnx.dequantize_linear(x, tensor, axis=0)
        with pytest.raises(TypeError, match="^out: "):
            dequant.onnx.dequantize_linear(x, 1.0, out=tensor)
        with pytest.raises(TypeError, match="^data: "):
            dequant.Packed(tensor, "float32", 2)
        with pytest.raises(TypeError, match="^a: "):
            dequant.diff(tensor, np.float32([1, 1]))

    def mapped(tensor):
        with pytest.raises(TypeError, match="^scale: "):
            dequant.onnx.dequantize_linear(x, tensor, axis=0)
        return tensor
    torch.vmap(mapped)(torch.ones(3, 2))


def test_subclasses_with_memory_of_their_own_are_read(torch):
    class Named(torch.Tensor):
        pass

    x = np.uint8([1, 2])
    for kind in (torch.nn.Parameter(torch.tensor([0.5, 3]), requires_grad=False),
                 torch.tensor([0.5, 3]).as_subclass(Named),
                 torch.nn.Buffer(torch.tensor([0.5, 3]))):
        same_bits(dequant.onnx.dequantize_linear(x, kind, axis=0), np.float32([0.5, 6]))
        out = kind.clone()
        assert dequant.onnx.dequantize_linear(x, 2.0, out=out) is out and out.tolist() == [2, 4]
    empty = torch.empty(0, dtype=torch.uint8)
    assert dequant.onnx.dequantize_linear(empty, 1.0).shape == \
        dequant.Packed(empty, "int4", 0).shape == (0,)


def test_packed_takes_its_tensors(torch):
    held = torch.tensor([[0x21, 0x43], [0x65, 0x07]], dtype=torch.uint8)
    want = np.float32([[1, 2, 3, 4], [5, 6, 7, 0]])
    for data in (held, held.view(torch.int8), held.view(torch.float8_e4m3fn),
                 held.view(torch.bool)):
        same_bits(dequant.onnx.dequantize_linear(dequant.Packed(data, "int4", (2, 4)), 1.0), want)
    packed = dequant.Packed(held, "uint4", (2, 4))
    assert packed.data.ctypes.data == held.data_ptr()  # no copy
    with pytest.raises(ValueError, match="^data: packed bytes must be contiguous"):
        dequant.Packed(held.T, "int4", (2, 4))
    for wrong in (held.view(torch.int16), held.view(torch.bfloat16),
                  torch.ones(1, dtype=torch.int64)):
        with pytest.raises(TypeError, match=f"^data: .*{str(wrong.dtype).removeprefix('torch.')}"):
            dequant.Packed(wrong, "int4", 8)
    with pytest.raises(TypeError, match="^data: "):
        dequant.Packed(held.to_sparse(), "int4", 8)
    del held
    same_bits(dequant.onnx.dequantize_linear(packed, 1.0), want)


def test_packed_takes_its_pairs_of_4_bit_floats(torch):
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("THIS TORCH HAS NO float4_e2m1fn_x2")
    pairs = torch.tensor([0x21, 0x43], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    y = dequant.onnx.dequantize_linear(dequant.Packed(pairs, "float4e2m1", 4), 1.0)
    same_bits(y, np.float32([0.5, 1, 1.5, 2]))
    with pytest.raises(TypeError, match="^x: "):
        dequant.onnx.dequantize_linear(pairs, 1.0)

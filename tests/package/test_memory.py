"""What is contiguous is never copied; what is read or written may lie anywhere, next to memory that
is not ours."""

import ctypes
import mmap
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import dequant
from arithmetic import BITS, dequantized, floats, random_codes
from tensors import array_of, packed_of, same_bits

MANY = 1 << 24
ONE = np.float32(1)


def allocated(call):
    """Bytes that Python, numpy included, held at most during a call, beyond those before it."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def large_inputs():
    data = np.zeros(MANY, np.uint8)
    yield "uint8", data
    yield "read-only", np.frombuffer(data.data.toreadonly(), np.uint8)
    yield "int16", data.view(np.int16)
    yield "unaligned", data[1:-1].view(np.int16)
    yield "Packed", dequant.Packed(data, "int4", 2 * MANY)
    yield "memoryview", memoryview(data).cast("h")
    yield "bytearray", bytearray(MANY)
    yield "subclass", data.view(type("Named", (np.ndarray,), {}))
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"):
        yield name, data.view(getattr(ml_dtypes, name))


@pytest.mark.parametrize("x", [x for _, x in large_inputs()],
                         ids=[name for name, _ in large_inputs()])
def test_contiguous_inputs_are_not_copied(x):
    shape = x.shape if hasattr(x, "shape") else (MANY,)
    out = np.empty(shape, np.float16)
    half = np.float16(1)
    assert allocated(lambda: dequant.onnx.dequantize_linear(x, half, out=out)) < 100_000


def test_large_scales_are_not_copied():
    x, out = np.zeros(1 << 20, np.uint8), np.empty(1 << 20, np.float32)
    for scale in (np.ones(1 << 20, np.float32), np.ones(1 << 20, np.float16),
                  np.ones(1 << 20, ml_dtypes.bfloat16)):
        for zero in (None, x.copy()):
            assert allocated(lambda: dequant.onnx.dequantize_linear(
                x, scale, zero, axis=0, output_dtype="float32", out=out)) < 100_000


def test_outputs_of_every_kind_are_written_in_place():
    x = np.ones(1 << 20, np.uint8)
    for out, dtype in ((np.empty(1 << 20, ml_dtypes.bfloat16), "bfloat16"),
                       (np.empty(1 << 20, np.uint16), "bfloat16"),
                       (memoryview(bytearray(4 << 20)).cast("f"), "float32")):
        assert allocated(lambda: dequant.onnx.dequantize_linear(x, ONE, output_dtype=dtype,
                                                                out=out)) < 100_000
        assert np.asarray(out)[-1] in (1, 0x3F80)


def test_a_copy_is_what_this_would_see():
    x, out = np.zeros((4096, 4096), np.uint8), np.empty((4096, 4096), np.float32)
    assert allocated(lambda: dequant.onnx.dequantize_linear(x.T, ONE, out=out)) >= x.size


def test_tensors_of_torch_are_not_copied(torch):
    out = torch.empty(MANY, dtype=torch.bfloat16)
    for name in ("uint8", "int8", "float8_e4m3fn", "float8_e5m2fnuz"):
        x = torch.zeros(MANY, dtype=torch.uint8).view(getattr(torch, name))
        scale = torch.ones((), dtype=torch.bfloat16)
        assert allocated(lambda: dequant.onnx.dequantize_linear(x, scale, out=out)) < 100_000
        x.view(torch.uint8)[-1] = 1
        dequant.onnx.dequantize_linear(x, scale, out=out)
        assert out[-1] != 0 and out[0] == 0


def test_the_memory_of_like_torch_is_numpys_own(torch):
    x = np.zeros(MANY, np.uint8)
    assert allocated(lambda: dequant.onnx.dequantize_linear(x, ONE,
                                                            like="torch")) < 4 * MANY + 100_000


def at(offset, array):
    """A copy of an array whose memory begins that many bytes after a multiple of 64."""
    memory = np.empty(array.nbytes + 128, np.uint8)
    first = -memory.ctypes.data % 64 + offset
    view = memory[first:first + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert view.ctypes.data % 64 == offset
    return view


@pytest.mark.parametrize("output", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("element", ["uint8", "int16", "int32", "int4", "uint2", "float8e4m3fn",
                                     "float4e2m1"])
def test_a52_memory_may_begin_at_any_byte(element, output, rng):
    x, scale = random_codes(rng, element, (3, 77)), floats(rng.normal(size=77))
    zero = random_codes(rng, element, 77) if not element.startswith("float") else None
    expected = array_of(dequantized(x, scale, zero, output=output))
    for offset in range(64):
        data = at(offset, np.frombuffer(x.packed(), np.uint8))
        held = (dequant.Packed(data, element, (3, 77)) if BITS[element] < 8 else
                data.view(array_of(x).dtype).reshape(3, 77))
        params = [at(offset * 7 % 64, array_of(scale))]
        if zero is not None:
            zeros = at(offset * 5 % 64, np.frombuffer(zero.packed(), np.uint8))
            params.append(dequant.Packed(zeros, element, 77))
        out = at(offset * 11 % 64, np.zeros_like(expected))
        assert dequant.onnx.dequantize_linear(held, *params, output_dtype=output, out=out) is out
        same_bits(out, expected)


class Fenced:
    """A page between two that may not be touched."""

    def __init__(self):
        page = mmap.PAGESIZE
        self.map = mmap.mmap(-1, 3 * page)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        libc = ctypes.CDLL(None, use_errno=True)
        for first in (address, address + 2 * page):
            assert libc.mprotect(ctypes.c_void_p(first), page, mmap.PROT_READ & 0) == 0
        self.bytes = np.frombuffer(self.map, np.uint8)[page:2 * page]

    def put(self, array, at_the_end):
        part = self.bytes[-array.nbytes or len(
            self.bytes):] if at_the_end else self.bytes[:array.nbytes]
        view = part.view(array.dtype).reshape(array.shape)
        view[...] = array
        return view


@pytest.mark.parametrize("at_the_end", [True, False])
@pytest.mark.parametrize("element", ["uint8", "int16", "int4", "int2", "float8e5m2", "float4e2m1"])
def test_a53_nothing_beyond_a_tensor_is_touched(element, at_the_end, rng):
    fences = [Fenced() for _ in range(4)]
    for size in (*range(1, 70), 127, 128, 129, 500):
        x, zero = random_codes(rng, element, (2, size)), random_codes(rng, element, size)
        if element.startswith("float"):
            zero.codes[:] = 0
        scale = floats(rng.normal(size=size))
        data, scales, zeros = (fence.put(np.frombuffer(tensor.packed(), np.uint8), at_the_end)
                               for fence, tensor in zip(fences, (x, scale, zero), strict=False))
        for output in ("float32", "bfloat16") if 8 * size <= mmap.PAGESIZE else ():
            expected = array_of(dequantized(x, scale, zero, output=output))
            out = fences[3].put(np.zeros_like(expected), at_the_end)
            dequant.onnx.dequantize_linear(dequant.Packed(data, element, (2, size)),
                                           scales.view(np.float32), dequant.Packed(
                                               zeros, element, size), output_dtype=output, out=out)
            same_bits(out, expected)
    same_bits(dequant.onnx.dequantize_linear(packed_of(x), array_of(scale), packed_of(zero)),
              array_of(dequantized(x, scale, zero)))

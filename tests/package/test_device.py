"""Tensors that claim to be on a CUDA device, over devices in host memory."""

import sys

import ml_dtypes
import numpy as np
import pytest

import dequant
from device_support import DType, Exporter, Interface, assert_same, values

X = np.arange(24, dtype=np.uint8).reshape(4, 6)
SCALE = np.float32([0.5, 2, -1, 0.1])
ZERO = np.uint8([1, 2, 3, 4])


def linear(x, scale=SCALE, zero=ZERO, **options):
    return dequant.onnx.dequantize_linear(x, scale, zero, axis=0, **options)


WANTED = linear(X)


def test_a_package_without_cuda_says_how_to_get_one(monkeypatch):
    forms = Interface(X), Exporter(X), Exporter(X, kind=13)
    monkeypatch.setitem(sys.modules, "dequant._cuda", None)
    for x in forms:
        with pytest.raises(dequant.UnsupportedError, match="built without CUDA.*DEQUANT_CUDA=ON"):
            linear(x)
        with pytest.raises(dequant.UnsupportedError, match="built without CUDA"):
            dequant.Packed(x, "uint8", (4, 6))


@pytest.mark.parametrize("form", [Interface, Exporter, lambda a: Exporter(a, kind=13)])
def test_results_are_on_the_device_and_have_the_bits_of_the_cpu(form, cuda):
    y = linear(form(X), form(SCALE), form(ZERO))
    assert isinstance(y, cuda.Array) and y.__dlpack_device__() == (2, 0)
    assert y.shape == (4, 6) and y.dtype == "float32" and y.nbytes == 96
    assert_same(values(y, cuda), WANTED)


def test_arrays_of_results_go_on_to_other_libraries(cuda):
    y = linear(Interface(X), Interface(SCALE), Interface(ZERO), output_dtype="float16")
    facts = y.__cuda_array_interface__
    assert facts["shape"] == (4, 6) and facts["typestr"] == "<f2" and facts["version"] == 3
    assert facts["data"] == (y.address, False) and facts["strides"] is None
    wide = dequant.onnx.dequantize_linear(Interface(X), 1.0, output_dtype="bfloat16")
    assert not hasattr(wide, "__cuda_array_interface__") and wide.dtype == "bfloat16"
    scales = dequant.onnx.dequantize_linear(Interface(np.uint8([1, 2, 3, 4])), 0.5)
    assert_same(values(linear(Interface(X), scales, Interface(ZERO)), cuda),
                linear(X, np.float32([0.5, 1, 1.5, 2])))


def test_a_graph_captures_what_it_can_repeat(host, cuda):
    x, scale = Interface(X, stream=48), Interface(SCALE, stream=48)
    act_order = [Interface(array, stream=48) for array in (
        np.zeros((8, 24), np.int32), np.zeros((2, 3), np.int32), np.ones((2, 24), np.float16),
        np.zeros(64, np.int32))]
    cuda.host_capture(48, True)
    try:
        y = linear(x, scale, Interface(ZERO, stream=48))
        with pytest.raises(dequant.UnsupportedError,
                           match="^stream: a CUDA graph captures it, and an argument is not"):
            dequant.onnx.dequantize_linear(x, 0.5)
        with pytest.raises(dequant.UnsupportedError,
                           match="^stream: a CUDA graph captures it, and the call must wait"):
            dequant.gptq.dequantize(*act_order, bits=4)
    finally:
        cuda.host_capture(48, False)
    assert_same(values(y, cuda), WANTED)


def test_numbers_go_to_any_device(cuda):
    for scale, zero in ((0.5, 3), (np.float32(0.5), np.uint8(3)), (0.5, None)):
        y = dequant.onnx.dequantize_linear(Interface(X), scale, zero)
        assert_same(values(y, cuda), dequant.onnx.dequantize_linear(X, scale, zero))
    y = linear(Interface(X), [0.5, 2.0, -1.0, 0.25], [1, 2, 3, 4])
    assert_same(values(y, cuda), linear(X, [0.5, 2.0, -1.0, 0.25], [1, 2, 3, 4]))


def test_tensors_of_one_call_are_on_one_device(host, cuda):
    for arguments, message in (
            ((Exporter(X), SCALE, None), "^scale: on the CPU, and x is on cuda:0; the tensors of a "
                                         "call must be on one device$"),
            ((X, Exporter(SCALE, 1), None), "^x: on the CPU, and scale is on cuda:1"),
            ((Exporter(X, 1), Exporter(SCALE), None), "^scale: on cuda:0, and x is on cuda:1"),
            ((Exporter(X, 1), Exporter(SCALE, 1), ZERO), "^zero_point: on the CPU, and x is on")):
        with pytest.raises(ValueError, match=message):
            linear(*arguments)
    y = linear(Exporter(X, 1), Exporter(SCALE, 1), Exporter(ZERO, 1))
    assert y.__dlpack_device__() == (2, 1)
    assert_same(values(y, cuda), WANTED)


def test_results_go_to_out(cuda):
    out = Interface(np.zeros((4, 6), np.float32))
    tensors = Interface(X), Interface(SCALE), Interface(ZERO)
    assert linear(*tensors, out=out) is out
    assert_same(values(out, cuda), WANTED)
    bits = Interface(np.zeros((4, 6), np.uint16))
    linear(*tensors, output_dtype="bfloat16", out=bits)
    assert values(bits, cuda).tobytes() == linear(X, output_dtype="bfloat16").tobytes()
    y = linear(*tensors)
    assert linear(*tensors, out=y) is y


def test_what_is_no_out_is_refused_and_left_alone(cuda):
    data = np.zeros((4, 6), np.float32)
    tensors = Interface(X), Interface(SCALE), Interface(ZERO)
    read_only = Interface(data)
    read_only.__cuda_array_interface__["data"] = read_only.memory.address, True
    for out, error, message in (
            (data, TypeError, "^out: ndarray on the CPU, and x is on cuda:0"),
            (Interface(data.T), ValueError, r"^out: its shape is \[6, 4\]"),
            (Interface(data.astype(np.int32)), TypeError, "^out: its dtype is int32"),
            (Interface(np.zeros((6, 4), np.float32).T), ValueError, "^out: .* contiguous"),
            (read_only, ValueError, "^out: .* for writing"),
            (Exporter(data), ValueError, "^out: Exporter does not offer its memory for writing")):
        with pytest.raises(error, match=message):
            linear(*tensors, out=out)
    with pytest.raises(TypeError, match="^out: Exporter on a CUDA device, where memory of"):
        linear(X, out=Exporter(data))
    with pytest.raises(ValueError, match="^like: out says already"):
        linear(*tensors, out=Interface(data), like="torch")
    with pytest.raises(ValueError, match="^like: 'numpy' is neither None nor 'torch', and x is on"):
        linear(*tensors, like="numpy")
    with pytest.raises(ValueError, match="^y: overlaps x"):
        whole = np.zeros(24, np.float32)
        out = Interface(whole)
        x = Interface(X.reshape(-1))
        x.__cuda_array_interface__["data"] = out.__cuda_array_interface__["data"]
        dequant.onnx.dequantize_linear(x, 1.0, out=out)
    assert not data.any()


def test_wrong_arguments_are_the_same_sentences_as_on_the_cpu(cuda):
    for arguments in ((X, SCALE[:3], None), (X.astype(np.int16), SCALE, ZERO)):
        with pytest.raises(ValueError) as here:
            linear(*arguments)
        with pytest.raises(ValueError) as there:
            linear(*(None if a is None else Interface(a) for a in arguments))
        assert str(there.value) == str(here.value)
    with pytest.raises(TypeError, match="^x: int64 is no element type"):
        linear(Interface(X.astype(np.int64)), Interface(SCALE))
    with pytest.raises(TypeError, match="^x: a masked array"):
        linear(Interface(X, mask=X))
    with pytest.raises(ValueError, match="^x: __cuda_array_interface__ has the stream 0"):
        linear(Interface(X, stream=0))


def test_strided_tensors_of_unknown_libraries_are_refused_but_read_by_directml(cuda):
    with pytest.raises(dequant.UnsupportedError, match="^x: Interface on a device with strides"):
        linear(Interface(X.T.copy().T), Interface(SCALE))
    for x in (X.T, X[:, ::2], X[1:]):
        y = dequant.directml.element_wise_dequantize_linear(Interface(x), 0.5, 7)
        wanted = dequant.directml.element_wise_dequantize_linear(x, 0.5, 7)
        assert_same(values(y, cuda), wanted)
    with pytest.raises(dequant.UnsupportedError, match="^input: .*strides of"):
        dequant.directml.element_wise_dequantize_linear(Interface(X[::-1]), 0.5, 7)


def test_work_is_put_on_the_stream_that_tensors_say(host, cuda):
    """One stream waits for the other, and nothing is done before somebody waits."""
    late = linear(Interface(X, stream=48), Interface(SCALE, stream=48), Interface(ZERO, stream=48))
    assert late.stream == 48
    cuda.host_settle()
    scales = dequant.onnx.dequantize_linear(Interface(np.uint8([1, 4, 9, 16]), stream=32), 0.5)
    y = linear(Interface(X, stream=48), scales, Interface(ZERO, stream=16))
    assert y.stream == 48
    assert_same(values(y, cuda), linear(X, np.float32([0.5, 2, 4.5, 8])))
    assert cuda.host_counts()["waiting"] == 0
    # What is put later on the streams of the other tensors comes after the results.
    later = linear(Interface(X, stream=48), Interface(SCALE, stream=32), Interface(ZERO, stream=48))
    waiting = cuda.host_counts()["waiting"]
    assert waiting > 0
    cuda.synchronize(0, 32)
    assert cuda.host_counts()["waiting"] == waiting - 1 and later.stream == 48
    cuda.host_settle()
    x = Exporter(X)
    linear(x, Exporter(SCALE), Exporter(ZERO))
    assert x.streams == [1]


def test_dlpack_of_results_joins_the_stream_of_the_consumer(host, cuda):
    y = linear(Interface(X, stream=48), Interface(SCALE, stream=48), Interface(ZERO, stream=48))
    before = cuda.host_counts()["waiting"]
    y.__dlpack__(stream=48)
    y.__dlpack__(stream=-1)
    assert cuda.host_counts()["waiting"] == before
    y.__dlpack__(stream=32, max_version=(1, 0), dl_device=(2, 0), copy=False)
    assert cuda.host_counts()["waiting"] == before + 1
    with pytest.raises(BufferError):
        y.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError):
        y.__dlpack__(copy=True)


def test_zero_points_of_floats_are_judged_by_the_device(cuda):
    codes = np.arange(24, dtype=np.uint8)
    fp8 = dequant.Packed(Interface(codes), "float8e4m3fn", (4, 6))
    right, wrong = (dequant.Packed(Interface(np.uint8(zero)), "float8e4m3fn", (4,))
                    for zero in ([0, 128, 0, 0], [0, 0, 1, 0]))
    y = linear(fp8, Interface(SCALE), right)
    assert_same(values(y, cuda), linear(dequant.Packed(codes, "float8e4m3fn", (4, 6)), SCALE, None))
    with pytest.raises(ValueError, match="^zero_point: one is not zero"):
        linear(fp8, Interface(SCALE), wrong)


def test_packed_bytes_stay_on_the_device(cuda):
    for data in (Interface(X), Exporter(X), Interface(X.view(np.int8))):
        packed = dequant.Packed(data, "int4", (8, 6))
        assert packed.nbytes == 24 and "on cuda:0" in repr(packed.data)
        y = dequant.onnx.dequantize_linear(packed, 0.5, -3)
        wanted = dequant.onnx.dequantize_linear(dequant.Packed(X, "int4", (8, 6)), 0.5, -3)
        assert_same(values(y, cuda), wanted)
    with pytest.raises(TypeError, match="the bytes are on a device"):
        packed.to_numpy()
    with pytest.raises(ValueError, match="24 bytes are given, and uint4"):
        dequant.Packed(Interface(X), "uint4", (7, 6))
    with pytest.raises(TypeError, match="^data: items of one byte"):
        dequant.Packed(Interface(SCALE), "uint4", (8, 4))
    with pytest.raises(ValueError, match="^data: .*contiguous"):
        dequant.Packed(Interface(X.T), "uint4", (8, 6))


def test_empty_tensors(cuda):
    for form in (Interface, Exporter):
        y = linear(form(X[:, :0]), form(SCALE), form(ZERO))
        assert y.shape == (4, 0) and values(y, cuda).size == 0


def test_failures_of_the_device_leave_nothing(host, cuda):
    before = cuda.host_counts()
    for calls in range(1, 8):
        cuda.host_fail_after(calls)
        with pytest.raises(MemoryError, match="^CUDA: a failure of the test"):
            linear(Interface(X), [0.5, 2.0, -1.0, 0.25], [1, 2, 3, 4])
    cuda.host_fail_after(0)
    cuda.host_settle()
    assert cuda.host_counts() == before


def test_tensors_of_torch(cuda, fake_torch):
    torch = fake_torch
    x, scale, zero = map(torch.Tensor, (X, SCALE, ZERO))
    y = linear(x, scale, zero)
    assert type(y) is torch.Tensor and y is torch.made[-1]
    assert_same(values(y, cuda), WANTED)
    y = linear(Interface(X), Interface(SCALE), Interface(ZERO), like="torch",
               output_dtype="bfloat16")
    assert type(y) is torch.Tensor
    assert_same(values(y, cuda), linear(X, output_dtype="bfloat16"))
    torch.made.clear()
    assert_same(values(linear(torch.Tensor(X.T.copy().T), scale, zero), cuda), WANTED)
    assert len(torch.made) == 2  # a contiguous copy, and the result
    x.requires_grad = True
    with pytest.raises(TypeError, match="^x: a tensor that requires a gradient"):
        linear(x, scale, zero)
    with pytest.raises(ValueError, match="^scale: on cuda:1, and x is on cuda:0"):
        linear(torch.Tensor(X), torch.Tensor(SCALE, 1), zero)
    four = torch.Tensor(X)
    four.dtype = DType("int4")
    with pytest.raises(TypeError, match="^x: torch.int4 on a device.*dequant.Packed"):
        linear(four, scale, None)


def test_types_of_torch_that_dlpack_lacks(cuda, fake_torch):
    eight = fake_torch.Tensor(X)
    eight.dtype = DType("float8_e4m3fn")
    two = fake_torch.Tensor(np.uint16([0x3f80, 0x4000, 0x3e80, 0x4100]))
    two.dtype = DType("bfloat16")
    wanted = linear(dequant.Packed(X, "float8e4m3fn", (4, 6)), two.data.view(ml_dtypes.bfloat16),
                    None)
    assert_same(values(linear(eight, two, None), cuda), wanted)

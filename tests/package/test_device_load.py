"""Tensors of model files on a CUDA device, over devices in host memory."""

import inspect
import os
import pathlib
import re
import shutil
import sys
import threading
import types

import ml_dtypes
import numpy as np
import onnx
import pytest
import safetensors.numpy

import dequant
import gguf_support
from dequant import _device_load
from dequant.safetensors import load_file, safe_open
from device_support import Interface, assert_same, values
from model_support import MODELS, SHARED

CHECKPOINTS = sorted((SHARED / "checkpoints").glob("*/config.json"))
RNG = np.random.default_rng(31)


@pytest.fixture(name="ring", params=[(1, 1 << 16), (3, 1 << 13)])
def fixture_ring(request, monkeypatch):
    """The sizes of the ring: 3 buffers of 8 KiB for tensors that are larger."""
    monkeypatch.setattr(_device_load, "SLOTS", request.param[0])
    monkeypatch.setattr(_device_load, "SLOT_BYTES", request.param[1])
    return request.param


@pytest.fixture(name="small_ring")
def fixture_small_ring(monkeypatch):
    monkeypatch.setattr(_device_load, "SLOTS", 3)
    monkeypatch.setattr(_device_load, "SLOT_BYTES", 1 << 13)


def compare(path, cuda, dtype=None):
    """All tensors of a file; returns how many."""
    with dequant.open(path) as model:
        for tensor in model.tensors:
            found = values(tensor.to_device(dtype=dtype, like=None), cuda)
            assert_same(found, tensor.to_numpy(dtype))
        return len(model.tensors)


@pytest.mark.skipif(not CHECKPOINTS, reason=f"SHARED FILES MISSING: no checkpoints in {SHARED}")
def test_checkpoints_have_the_bits_of_the_cpu(cuda, ring):
    count = 0
    for path in CHECKPOINTS:
        try:
            count += compare(path.parent, cuda)
        except dequant.UnsupportedError as error:
            with pytest.raises(dequant.UnsupportedError) as here:
                for tensor in dequant.open(path.parent).tensors:
                    tensor.to_numpy()
            assert str(error) == str(here.value)
    assert count > 400


@pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])
def test_onnx_models_have_the_bits_of_the_cpu(path, cuda, small_ring):
    for dtype in (None, "bfloat16"):
        compare(path, cuda, dtype)


@pytest.mark.parametrize("kind", ["Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "MXFP4", "TQ2_0"])
def test_gguf_files_have_the_bits_of_the_cpu(kind, cuda, small_ring, tmp_path):
    block = {"Q4_0": 18, "Q8_0": 34, "Q4_K": 144, "Q6_K": 210, "IQ4_XS": 136, "MXFP4": 17,
             "TQ2_0": 66}[kind]
    data = RNG.integers(0, 100, (40, 16 * block), np.uint8)
    gguf_support.write(tmp_path / "m.gguf", {"w": (kind, data)})
    for dtype in ("float32", "float16", "bfloat16"):
        assert compare(tmp_path / "m.gguf", cuda, dtype) == 1


def qdq_model(path, x, scale, zero, **attributes):
    node = onnx.helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"], **attributes)
    tensors = [onnx.numpy_helper.from_array(a, n) for a, n in ((x, "x"), (scale, "s"), (zero, "z"))]
    y = onnx.helper.make_tensor_value_info("y", 1, x.shape)
    graph = onnx.helper.make_graph([node], "g", [], [y], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]), path)


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (250, 1000), (3, 100003)])
@pytest.mark.parametrize("axis", [0, 1])
def test_tensors_of_many_bands(shape, axis, cuda, ring, tmp_path):
    x = RNG.integers(-128, 128, shape).astype(np.int8)
    scale = RNG.uniform(0.1, 2, shape[axis]).astype(np.float32)
    zero = RNG.integers(-5, 6, shape[axis]).astype(np.int8)
    qdq_model(tmp_path / "m.onnx", x, scale, zero, axis=axis)
    assert compare(tmp_path / "m.onnx", cuda) == 1


@pytest.fixture(name="checkpoint")
def fixture_checkpoint(tmp_path):
    """Half a megabyte of FP8, with one scale for each row, and tensors as they are."""
    codes = RNG.integers(0, 120, (512, 1000)).astype(np.uint8).view(ml_dtypes.float8_e4m3fn)
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file({
        "w.weight": codes, "w.weight_scale": RNG.uniform(0, 1, (512, 1)).astype(np.float32),
        "norm": RNG.standard_normal((70, 500)).astype(np.float32), "none": np.zeros((0, 4)),
        "ids": np.arange(7, dtype=np.int64), "half": np.zeros((3,), ml_dtypes.bfloat16)}, path)
    return path


def test_pinned_memory_is_bounded_and_used_again(host, cuda, small_ring, checkpoint):
    compare(checkpoint, cuda)
    before = cuda.host_counts()
    compare(checkpoint, cuda)
    after = cuda.host_counts()
    assert before == after and after["pinned_bytes"] % (1 << 13) == 0 and after["waiting"] == 0
    others = sum(slots * size for _, slots, size in _device_load._loaders)
    assert after["most_pinned_bytes"] == after["pinned_bytes"] == others


def test_results_go_to_out(cuda, small_ring, checkpoint):
    with dequant.open(checkpoint) as model:
        tensor = model["w.weight"]
        zeros = np.zeros(tensor.shape, np.float32)
        out = Interface(zeros.copy())
        assert tensor.to_device(out=out) is out and tensor.to_device(0, out=out) is out
        assert_same(values(out, cuda), tensor.to_numpy())
        for arguments, error, message in (
                ({"out": zeros}, TypeError, "^out: ndarray on the CPU"),
                ({"out": out, "device": "cuda:1"}, ValueError, "^out: on cuda:0, and device is"),
                ({"out": Interface(np.zeros((2, 2), np.float32))}, ValueError, "^out: its shape"),
                ({"device": "cpu"}, ValueError, "^device: 'cpu' is no CUDA device"),
                ({"device": -1}, ValueError, "^device: -1 is no CUDA device"),
                ({"device": 7, "like": None}, ValueError, "choosing a device"),
                ({"like": "numpy"}, ValueError, "^like: 'numpy' is none of"),
                ({"like": None, "dtype": "int8"}, TypeError, "^dtype: int8"),
                ({"like": None, "threads": -1}, ValueError, "^threads: -1")):
            with pytest.raises(error, match=message):
                tensor.to_device(**arguments)
    with pytest.raises(ValueError, match="the model is closed"):
        tensor.to_device(like=None)


def test_a_package_without_cuda_says_how_to_get_one(monkeypatch, checkpoint):
    monkeypatch.setitem(sys.modules, "dequant._cuda", None)
    with dequant.open(checkpoint) as model, \
            pytest.raises(dequant.UnsupportedError, match="built without CUDA"):
        model["w.weight"].to_device()


@pytest.mark.parametrize("device", ["cuda", "cuda:1", 1])
def test_safe_open_loads_onto_the_device(device, cuda, small_ring, fake_torch, checkpoint):
    wanted = load_file(checkpoint, framework="np")
    found = load_file(checkpoint, device=device)
    assert found.keys() == wanted.keys() == {"w.weight", "norm", "none", "ids", "half"}
    for name, tensor in found.items():
        assert type(tensor) is fake_torch.Tensor
        assert tensor.device.index == (0 if device == "cuda" else 1)
        assert_same(values(tensor, cuda), wanted[name])
    with safe_open(checkpoint, "pt", device, dtype="bfloat16", threads=2) as file:
        assert file.get_slice("w.weight").get_dtype() == "BF16"
        with safe_open(checkpoint, "np", dtype="bfloat16") as here:
            assert_same(values(file.get_tensor("w.weight"), cuda), here.get_tensor("w.weight"))
            every, wanted = file.get_tensors(), here.get_tensors()
            assert list(every) == list(wanted) == file.offset_keys()
            for name, tensor in every.items():
                assert_same(values(tensor, cuda), wanted[name])
    with pytest.raises(ValueError, match="closed"):
        file.get_tensors()
    with pytest.raises(ValueError, match="arrays of numpy are on the cpu"):
        safe_open(checkpoint, "np", device)


def test_a_torch_without_cuda_says_so_itself(host, small_ring, fake_torch, checkpoint):
    def refuse(*_, **__):
        raise AssertionError("Torch not compiled with CUDA enabled")

    fake_torch.empty = fake_torch.cuda.current_device = refuse
    with safe_open(checkpoint, "pt", "cuda") as file:
        for name in ("w.weight", "norm"):
            with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled"):
                file.get_tensor(name)


def test_the_manual_has_the_arguments(host, fake_torch, checkpoint, monkeypatch):
    """Its examples run, with the names of files and tensors that are here."""
    text = (pathlib.Path(__file__).parents[2] / "docs/gpu.md").read_text()
    function = re.search(r"`to_device(\(.*?\))`", text)[1]
    assert function == str(inspect.signature(dequant.Tensor.to_device)).replace("(self, ", "(") \
        .replace(": 'Any'", "").replace(": 'int | None'", "").replace(": 'str | None'", "") \
        .replace(" -> 'Any'", "").replace(" = ", "=").replace("'", '"')
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    loading = blocks[1].replace("model.layers.0.mlp.down_proj.weight", "w.weight")
    monkeypatch.chdir(checkpoint.parent)
    checkpoint.rename("DeepSeek-V3")
    names = {"dequant": dequant}
    exec(compile(loading, "gpu.md", "exec"), names)  # noqa: S102
    assert names["weight"].shape == (512, 1000) and "norm" in names["tensors"]
    codes = RNG.integers(0, 256, (256, 512)).astype(np.uint8)
    fake_torch.randint = lambda *_, **__: fake_torch.Tensor(codes)
    fake_torch.rand = lambda *_, **__: fake_torch.Tensor(np.ones(256, np.float32))
    fake_torch.uint8 = None
    exec(compile(blocks[0], "gpu.md", "exec"), names)  # noqa: S102
    assert_same(values(names["weight"], host), dequant.onnx.dequantize_linear(
        dequant.Packed(codes, "uint4", (256, 1024)), 0.5, 8))


def test_a_file_that_becomes_shorter_is_named(cuda, small_ring, fake_torch, checkpoint):
    whole = os.path.getsize(checkpoint)
    for name, size in (("w.weight", whole - 400_000), ("w.weight", 1000), ("norm", 1000)):
        copy = checkpoint.with_name("copy.safetensors")
        shutil.copyfile(checkpoint, copy)
        with safe_open(copy, "pt", "cuda") as file:
            before = cuda.host_counts()
            os.truncate(copy, size)
            with pytest.raises(ValueError, match="copy.safetensors has no .* bytes from"):
                file.get_tensor(name)
            cuda.host_settle()  # as torch does not give memory away before its stream is done
            fake_torch.made.clear()
            assert cuda.host_counts() == {**before, "waiting": 0}


def test_tensors_side_by_side_stop_at_the_first_failure(cuda, small_ring, fake_torch, checkpoint):
    copy = checkpoint.with_name("copy.safetensors")
    shutil.copyfile(checkpoint, copy)
    with safe_open(copy, "pt", "cuda") as file:
        before = cuda.host_counts()
        os.truncate(copy, 1000)
        with pytest.raises(ValueError, match="copy.safetensors has no .* bytes from"):
            file.get_tensors(file.keys())
        cuda.host_settle()
        fake_torch.made.clear()
        after = cuda.host_counts()  # the ring keeps an event for each tensor that is side by side
        assert 0 <= after["events"] - before["events"] < _device_load.SIDE_BY_SIDE
        assert after == {**before, "waiting": 0, "events": after["events"]}


def test_tensors_side_by_side_are_on_the_stream_of_the_caller(cuda, small_ring, fake_torch,
                                                              checkpoint, monkeypatch):
    seen, load = set(), _device_load.load

    def recorded(*arguments):
        seen.add((threading.current_thread(), fake_torch.cuda.current_stream(0).cuda_stream))
        return load(*arguments)
    monkeypatch.setattr(_device_load, "load", recorded)
    with fake_torch.cuda.stream(types.SimpleNamespace(cuda_stream=112)), \
            safe_open(checkpoint, "pt", "cuda") as file:
        file.get_tensors(["w.weight"])
        (thread, stream), = seen
        assert thread is not threading.current_thread() and stream == 112


def test_tensors_came_from_the_file_that_has_the_path_later(cuda, small_ring, fake_torch,
                                                            checkpoint):
    wanted = load_file(checkpoint, framework="np")
    for replace in (True, False):
        copy, other = checkpoint.with_name("copy.safetensors"), checkpoint.with_name("other")
        shutil.copyfile(checkpoint, copy)
        with safe_open(copy, "pt", "cuda") as file:
            if replace:
                safetensors.numpy.save_file({**wanted, "norm": wanted["norm"] + 1}, other)
                os.replace(other, copy)
            else:
                os.remove(copy)
            for name in ("norm", "w.weight"):
                assert_same(values(file.get_tensor(name), cuda), wanted[name])
            source = file._model._file.kept_for_device(0)
        assert type(source).__name__ == "PyCapsule"  # which keeps the file open


def test_a_stored_tensor_of_a_file_that_changed_was_given(cuda, small_ring, fake_torch, checkpoint):
    with safe_open(checkpoint, "pt", "cuda") as file:
        time = os.stat(checkpoint).st_mtime_ns + 10**9
        os.utime(checkpoint, ns=(time, time))
        for name in ("norm", "w.weight"):
            with pytest.raises(ValueError, match="model.safetensors changed"):
                file.get_tensor(name)


def test_bytes_go_to_memory_of_their_size_alone(cuda, small_ring, fake_torch, checkpoint):
    with safe_open(checkpoint, "pt", "cuda") as file:
        for index in (0, 1):
            source, target = file._model._file.kept_for_device(index), fake_torch.empty(
                (1, 9), np.dtype(np.uint8), "cuda")
            with pytest.raises(ValueError, match="^y: another size"):
                _device_load.load_bytes(source, target, None)
        with pytest.raises(IndexError):
            file._model._file.kept_for_device(4)
    for wrong in ("x", dequant.open(checkpoint)._file.for_device(0, None)):
        with pytest.raises(ValueError, match="PyCapsule"):
            _device_load.load_bytes(wrong, target, None)


def test_failures_of_the_device_leave_nothing(host, cuda, small_ring, checkpoint):
    with dequant.open(checkpoint) as model:
        tensor, out = model["w.weight"], Interface(np.zeros((512, 1000), np.float32))
        tensor.to_device(out=out)
        cuda.host_settle()
        before = cuda.host_counts()
        for calls in (1, 2, 3, 5, 9, 40, 100):
            cuda.host_fail_after(calls)
            with pytest.raises(MemoryError, match="^CUDA: a failure of the test"):
                tensor.to_device(out=out)
            cuda.host_fail_after(0)
            cuda.host_settle()
            assert cuda.host_counts() == before
        assert_same(values(tensor.to_device(out=out), cuda), tensor.to_numpy())


def test_a_ring_that_cannot_be_made_is_made_later(host, cuda, monkeypatch, checkpoint):
    monkeypatch.setattr(_device_load, "SLOTS", 2)
    monkeypatch.setattr(_device_load, "SLOT_BYTES", 12288)
    cuda.host_settle()
    before = cuda.host_counts()
    with dequant.open(checkpoint) as model:
        for calls in range(2, 8):
            cuda.host_fail_after(calls)
            with pytest.raises(MemoryError):
                model["w.weight"].to_device(like=None)
            cuda.host_fail_after(0)
            cuda.host_settle()
            assert cuda.host_counts() == {**before,
                                          "most_pinned_bytes":
                                          cuda.host_counts()["most_pinned_bytes"]}
    compare(checkpoint, cuda)


def test_what_is_still_on_the_ring_is_waited_for(host, cuda, small_ring, tmp_path):
    """The scales of a call, on another stream than its codes, are not there yet."""
    x = RNG.integers(0, 100, (1, 5000)).astype(np.int8)
    qdq_model(tmp_path / "m.onnx", x, np.float32([0.5]), np.int8([3]), axis=0)
    codes = Interface(np.ones(5000, np.uint8), stream=48)
    with dequant.open(tmp_path / "m.onnx") as model:
        tensor = model["y"]
        scales = Interface(np.zeros(5000, np.float32), stream=32)
        tensor.to_device(out=Interface(scales.data.reshape(1, -1), stream=32))
        y = dequant.onnx.dequantize_linear(codes, scales, axis=0)
        assert cuda.host_counts()["waiting"] > 0
        assert_same(values(y, cuda), tensor.to_numpy()[0])


def test_threads_share_a_ring(cuda, small_ring, checkpoint):
    with dequant.open(checkpoint) as model:
        tensor, found = model["w.weight"], []

        def load():
            found.append(tensor.to_device(like=None, threads=2))

        work = [threading.Thread(target=load) for _ in range(4)]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        assert len(found) == 4
        for result in found:
            assert_same(values(result, cuda), tensor.to_numpy())


def test_a_stream_that_a_graph_captures_is_refused(host, cuda, small_ring, fake_torch, checkpoint):
    message = "^stream: a CUDA graph captures it, and a graph cannot repeat the reading of a file"
    cuda.host_capture(112, True)
    try:
        with fake_torch.cuda.stream(types.SimpleNamespace(cuda_stream=112)), \
                safe_open(checkpoint, "pt", "cuda") as file:
            for name in ("w.weight", "norm"):
                with pytest.raises(dequant.UnsupportedError, match=message):
                    file.get_tensor(name)
    finally:
        cuda.host_capture(112, False)


def test_a_group_that_is_none_is_a_fault(cuda, tmp_path):
    tensors = {"w.qweight": np.zeros((8, 24), np.int32), "w.qzeros": np.zeros((2, 3), np.int32),
               "w.scales": np.ones((2, 24), np.float16),
               "w.g_idx": np.int32([0] * 63 + [2])}
    arguments = [Interface(tensors[f"w.{name}"]) for name in ("qweight", "qzeros", "scales",
                                                              "g_idx")]
    with pytest.raises(ValueError, match="^group_index: an entry is no group"):
        dequant.gptq.dequantize(*arguments, bits=4)

"""Tensors of the libraries themselves on a CUDA device: with DEQUANT_CUDA_DEVICE=1, and for those
libraries that are installed."""

import numpy as np
import pytest

import dequant
from device_support import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="NO DEVICE: tensors of libraries are stand-ins")

RNG = np.random.default_rng(23)
CODES = RNG.integers(0, 256, (96, 1024)).astype(np.uint8)
SCALES = RNG.random(96).astype(np.float32)
ZEROS = RNG.integers(0, 256, 96).astype(np.uint8)
WANTED = {name: dequant.onnx.dequantize_linear(CODES, SCALES, ZEROS, axis=0, output_dtype=name)
          for name in ("float32", "float16", "bfloat16")}


@pytest.fixture(name="on_device")
def fixture_on_device():
    found = pytest.importorskip("torch", reason="NO TORCH")
    if not found.cuda.is_available():
        pytest.skip("torch sees no device")
    return found


def call(convert, name):
    return dequant.onnx.dequantize_linear(convert(CODES), convert(SCALES), convert(ZEROS), axis=0,
                                          output_dtype=name)


def bits_of_torch(torch, y):
    kind = torch.int32 if y.element_size() == 4 else torch.int16
    return y.view(kind).cpu().numpy().tobytes()


@pytest.mark.parametrize("name", WANTED)
def test_tensors_of_torch(name, on_device):
    torch = on_device
    y = call(lambda array: torch.from_numpy(array).cuda(), name)
    assert isinstance(y, torch.Tensor) and y.is_cuda and y.dtype == getattr(torch, name)
    assert y.shape == (96, 1024) and bits_of_torch(torch, y) == WANTED[name].tobytes()


def test_a_stream_of_torch_is_computed_on(on_device):
    """What is on the stream before is done before, without a wait of the host."""
    torch = on_device
    codes, empty = torch.from_numpy(CODES).cuda(), torch.zeros(96, 1024, dtype=torch.uint8,
                                                              device="cuda")
    scales, zeros = torch.from_numpy(SCALES).cuda(), torch.from_numpy(ZEROS).cuda()
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        torch.cuda._sleep(20_000_000)
        empty.copy_(codes)
        y = dequant.onnx.dequantize_linear(empty, scales, zeros, axis=0)
        assert bits_of_torch(torch, y) == WANTED["float32"].tobytes()


def test_a_graph_of_torch_captures_a_call_with_out(on_device):
    torch = on_device
    codes, scales, zeros = (torch.from_numpy(a).cuda() for a in (CODES, SCALES, ZEROS))
    x, out = torch.zeros_like(codes), torch.empty(96, 1024, dtype=torch.bfloat16, device="cuda")
    dequant.onnx.dequantize_linear(x, scales, zeros, axis=0, out=out, output_dtype="bfloat16")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dequant.onnx.dequantize_linear(x, scales, zeros, axis=0, out=out, output_dtype="bfloat16")
        with pytest.raises(dequant.UnsupportedError, match="^stream: a CUDA graph captures it"):
            dequant.onnx.dequantize_linear(x, 0.5, output_dtype="bfloat16")
    x.copy_(codes)
    graph.replay()
    assert bits_of_torch(torch, out) == WANTED["bfloat16"].tobytes()


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_arrays_of_cupy(name):
    cupy = pytest.importorskip("cupy", reason="NO CUPY")
    y = call(cupy.asarray, name)
    assert isinstance(y, cupy.ndarray) and y.dtype == name
    assert cupy.asnumpy(y).tobytes() == WANTED[name].tobytes()


@pytest.mark.parametrize("name", WANTED)
def test_arrays_of_jax(name, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="NO JAX")
    if jax.default_backend() != "gpu":
        pytest.skip("this jax has no device")
    y = call(jax.numpy.asarray, name)
    assert isinstance(y, jax.Array) and y.dtype == name
    assert np.asarray(y).tobytes() == WANTED[name].tobytes()


def test_stored_tensors_come_to_torch(on_device, tmp_path):
    torch = on_device
    import safetensors.numpy
    import json
    weight = RNG.integers(0, 120, (256, 384)).astype(np.uint8)
    scale = RNG.random((2, 3)).astype(np.float32)
    header_of = {"w.weight": weight, "w.weight_scale_inv": scale}
    data = safetensors.numpy.save(header_of)
    size = int.from_bytes(data[:8], "little")
    header = data[8:8 + size].replace(b'"U8"', b'"F8_E4M3"')
    blob = len(header).to_bytes(8, "little") + header + data[8 + size:]
    (tmp_path / "model.safetensors").write_bytes(blob)
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": {
        "quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3"}}))
    from dequant.safetensors import load_file
    found = load_file(tmp_path, device="cuda")["w.weight"]
    wanted = load_file(tmp_path, framework="np")["w.weight"]
    assert found.is_cuda and bits_of_torch(torch, found) == wanted.tobytes()

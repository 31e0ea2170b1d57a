"""Model files that change, end early, or lie: an exception each time, and no crash."""

import os
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest

import dequant
from model_support import MODELS, assert_same_bits, shared_models

import hostile_support as raw
from arithmetic import floats, random_codes
from support import SCALE, X, linear

#: All that a file may make these functions raise.
REFUSALS = (ValueError, OSError, KeyError, MemoryError)


def read_all(path):
    """Everything that can be asked of a model."""
    with dequant.open(path) as m:
        repr(m)
        for tensor in m.tensors:
            repr(tensor)
            tensor.scale, tensor.zero_point, tensor.codes
            if tensor.size < 1 << 24:
                tensor.to_numpy(threads=1)
                tensor.to_numpy("bfloat16")
        for name in m:
            m[name]


@pytest.mark.parametrize("path, error, sentence", [
    ("none.onnx", FileNotFoundError, "none.onnx"),
    ("folder", OSError, "folder: not a regular file|folder"),
    ("pipe", OSError, "pipe"), ("empty", ValueError, "empty"), ("text", ValueError, "text"),
    ("/dev/zero", OSError, "/dev/zero"), ("a\0b", ValueError, "null"),
    (b"none", ValueError, "^<bytes>: no ONNX model"),
    (None, TypeError, "NoneType"), ({}, TypeError, "dict"), (1.5, TypeError, "float")])
def test_what_is_no_model_is_not_opened(path, error, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder")
    os.mkfifo("pipe")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("GGUF or something else" * 100)
    with pytest.raises(error, match=sentence):
        dequant.open(path)


def test_missing_files_come_with_their_name_and_number(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        dequant.open(tmp_path / "none.onnx")
    assert caught.value.filename == str(tmp_path / "none.onnx") and caught.value.errno == 2


@pytest.fixture(params=["raw", "typed", "external"])
def opened(request, tmp_path):
    """An open model of 100000 codes, and the file that holds them."""
    data = np.arange(100_000, dtype=np.uint8) % 100
    fields = {"raw": [raw.sub(9, data.tobytes())], "typed": [raw.sub(5, data.tobytes())],
              "external": [raw.entry("location", "data"), raw.num(14, raw.EXTERNAL)]}[request.param]
    (tmp_path / "data").write_bytes(data.tobytes())
    x = raw.tensor("x", [100_000], raw.UINT8, *fields)
    node = raw.node("DequantizeLinear", ["x", "s"], ["y"])
    (tmp_path / "m.onnx").write_bytes(raw.model(node, raw.initializer(x),
                                                raw.initializer(raw.SCALE)))
    model = dequant.open(tmp_path / "m.onnx")
    assert_same_bits(model["y"].to_numpy(), data.astype(np.float32) / 2)
    return model, tmp_path / ("data" if request.param == "external" else "m.onnx")


def test_a_file_that_was_cut_is_refused(opened):
    model, path = opened
    os.truncate(path, 50_000)
    for ask in (lambda t: t.to_numpy(), lambda t: t.codes, lambda t: t.to_numpy(threads=1)):
        with pytest.raises(ValueError, match=path.name):
            ask(model["y"])


def test_a_file_that_was_written_to_is_refused(opened):
    model, path = opened
    os.utime(path, ns=(1, 1))
    for ask in (lambda t: t.to_numpy(), lambda t: t.codes):
        with pytest.raises(ValueError, match="changed while being read"):
            ask(model["y"])


def test_a_file_that_was_replaced_is_read_as_it_was(opened):
    model, path = opened
    path.with_name("new").write_bytes(b"other")
    os.replace(path.with_name("new"), path)
    assert model["y"].to_numpy()[99] == 49.5


def test_a_closed_model_says_so(opened):
    model, _ = opened
    tensor = model["y"]
    assert not model.closed
    model.close()
    model.close()
    assert model.closed and repr(model).endswith("closed>") and list(model) == \
        ["y"] and tensor.shape == (100_000,)
    for ask in (lambda: model["y"], tensor.to_numpy, lambda: tensor.codes, lambda: tensor.scale,
                lambda: tensor.zero_point, lambda: np.asarray(tensor)):
        with pytest.raises(ValueError, match="^the model is closed$"):
            ask()


def test_with_closes(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with dequant.open(linear(tmp_path, X, SCALE)) as model:
        assert len(os.listdir("/proc/self/fd")) > before
    assert model.closed and len(os.listdir("/proc/self/fd")) == before


def test_a_model_may_be_closed_while_it_is_read(tmp_path):
    rng = np.random.default_rng(1)
    path = linear(tmp_path, random_codes(rng, "int8", [1000, 1000]), floats(0.5))
    for i in range(20):
        model = dequant.open(path)
        tensor, ends = model["y"], []

        def read():
            try:
                ends.append(tensor.to_numpy().shape)
            except ValueError as error:
                ends.append(str(error))
        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        model.close()
        for thread in threads:
            thread.join()
        assert set(ends) <= {(1000, 1000), "the model is closed"} and len(ends) == 3


@pytest.mark.parametrize("name, data, sentence", [
    ("too short", raw.quantized(x=raw.tensor("x", [2, 3], raw.INT8, raw=b"12345")),
     "5 bytes stored, 6 needed"),
    ("sizes overflow", raw.quantized(x=raw.tensor("x", [1 << 40, 1 << 40], raw.INT8, raw=b"")),
     "x"),
    ("outside", raw.quantized(x=raw.external("x", [6], raw.INT8, location="../secret")),
     "leaves the model's folder"),
    ("missing", raw.quantized(x=raw.external("x", [6], raw.INT8, location="nothing")), "nothing"),
])
def test_lies_are_refused_when_the_file_is_opened(name, data, sentence, tmp_path):
    (tmp_path / "m.onnx").write_bytes(data)
    with pytest.raises((ValueError, OSError), match=sentence):
        dequant.open(tmp_path / "m.onnx")


def test_sparse_terabytes_are_a_memory_error(tmp_path):
    size = 1 << 42  # as float32 sixteen
    with open(tmp_path / "data", "wb") as file:
        try:
            file.truncate(size - 1)
        except OSError:
            pytest.skip("this file system has no files of 4 TiB")
    x = raw.external("x", [size - 1], raw.INT8, location="data")
    (tmp_path / "m.onnx").write_bytes(raw.quantized(x=x))
    tensor = dequant.open(tmp_path / "m.onnx")["y"]
    child = f"""
import dequant, resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
tensor = dequant.open({str(tmp_path / "m.onnx")!r})["y"]
for ask in (tensor.to_numpy, lambda: tensor.codes):
    try:
        ask()
    except MemoryError:
        continue
    raise SystemExit("no MemoryError")
"""
    assert tensor.nbytes == size - 1 + 5
    subprocess.run([sys.executable, "-c", child], check=True)


def test_more_dimensions_than_numpy_has(tmp_path):
    x = raw.tensor("x", [1] * 65, raw.INT8, raw=b"\5")
    (tmp_path / "m.onnx").write_bytes(raw.quantized(x=x))
    tensor = dequant.open(tmp_path / "m.onnx")["y"]
    assert tensor.ndim == 65
    with pytest.raises(ValueError, match="64"):
        tensor.to_numpy()
    with pytest.raises(ValueError, match="64"):
        tensor.codes


def test_no_elements_of_a_giant_shape(tmp_path):
    """What the other dimensions count must be a number, as in numpy, whose arrays have a lower
    limit."""
    path = tmp_path / "m.onnx"

    def write(shape):
        path.write_bytes(raw.quantized(x=raw.tensor("x", shape, raw.INT8, raw=b"")))

    write([0, 1 << 62, 1 << 62])
    with pytest.raises(ValueError,
                       match=r"tensor x: shape \[0, .*\] has more than 2\^63 - 1 elements"):
        dequant.open(path)
    write([0, 1 << 29, 1 << 30])
    tensor = dequant.open(path)["y"]
    assert (tensor.shape, tensor.size) == ((0, 1 << 29, 1 << 30), 0)
    assert tensor.to_numpy().shape == tensor.codes.shape == tensor.shape
    write([0, 1 << 31, 1 << 31])  # 2^64 bytes as float32
    tensor = dequant.open(path)["y"]
    assert (tensor.shape, tensor.size) == ((0, 1 << 31, 1 << 31), 0)
    with pytest.raises(ValueError, match="array is too big|Maximum allowed dimension"):
        tensor.to_numpy()
    with pytest.raises(ValueError, match="larger than any memory"):
        tensor.codes


def damaged(data, rng):
    """The bytes with some replaced, some removed, some twice."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data)))
        kind = rng.integers(4)
        if kind == 0:
            data[at] = rng.integers(256)
        elif kind == 1:
            del data[at:at + int(rng.integers(1, 9))]
        elif kind == 2:
            data[at:at] = data[at:at + int(rng.integers(1, 30))]
        else:
            data[at:at + 4] = struct.pack(
                "<I", int(rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80808080])))
        if not data:
            return b"\0"
    return bytes(data)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_models_raise_and_nothing_worse(seed, tmp_path):
    rng = np.random.default_rng(seed)
    sound = [raw.quantized(),
             raw.quantized(x=raw.tensor("x", [2, 3], raw.INT4, raw.packed(5, [1, 2, 3]))),
             *(p.read_bytes() for p in MODELS if p.stat().st_size < 20_000)]
    opened = 0
    for i in range(250):
        path = tmp_path / "m.onnx"
        path.write_bytes(damaged(sound[i % len(sound)], rng))
        try:
            read_all(path)
            opened += 1
        except REFUSALS:
            pass
    assert opened > 10  # not all damage matters


@shared_models
def test_shared_models_read_whole(path):
    read_all(path)

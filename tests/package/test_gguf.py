"""Tensors of GGUF files from Python: what callers have in their hands, and what is refused."""

import pickle

import gguf
import ml_dtypes
import numpy as np
import pytest

import dequant
from tensors import same_bits

NVFP4 = gguf.GGMLQuantizationType.NVFP4
SCALE = np.float32(0.37)


@pytest.fixture
def blocks(rng):
    """Three rows of two blocks of NVFP4, and their floats."""
    data = rng.integers(0, 256, (3, 72), np.uint8)
    data[:, [0, 1, 2, 3, 36, 37, 38, 39]] &= 0x77  # no special scale
    return data, gguf.quants.dequantize(data, NVFP4)


def test_bytes_may_come_in_any_buffer(blocks):
    data, want = blocks
    wide = np.zeros((3, 144), np.uint8)
    wide[:, ::2] = data
    for given in (data, data.reshape(-1), data.tobytes(), bytearray(data), memoryview(data),
                  wide[:, ::2], data.view(np.memmap), dequant.Packed(data, "uint8", 216)):
        same_bits(dequant.gguf.dequantize(given, "NVFP4", (3, 128)), want)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_bytes_of_floats_were_refused_unless_contiguous(kind, rng):
    wide = rng.integers(0, 64, (4, 64), np.uint8)
    backwards = memoryview(wide.reshape(-1))[::-1]
    for given in (wide[::2], wide[:, :32], wide[:, ::-1], wide[:, ::2]):
        same_bits(dequant.gguf.dequantize(given, kind),
                  dequant.gguf.dequantize(given.copy(), kind))
    same_bits(dequant.gguf.dequantize(backwards, kind),
              dequant.gguf.dequantize(backwards.tobytes(), kind))


@pytest.mark.parametrize("kind, size", [("F32", 4), ("F16", 2), ("BF16", 2), ("Q8_0", 34)])
def test_threads_were_not_checked_for_floats(kind, size):
    data = bytes(32 * size)
    for threads, error in (("x", TypeError), (-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="^threads: "):
            dequant.gguf.dequantize(data, kind, threads=threads)
    for threads in (None, 0, 1, np.int64(2)):
        assert dequant.gguf.dequantize(data, kind, threads=threads).size >= 32


def test_types_have_names_and_numbers(blocks):
    data, want = blocks
    for kind in ("NVFP4", 40, NVFP4, np.uint32(40)):
        same_bits(dequant.gguf.dequantize(data, kind), want)


def test_rows_of_bytes_become_rows_of_elements(blocks):
    data, want = blocks
    for shape in (None, (3, 128), [3, 128], np.array([3, 128]), (3, 2, 64), 384, (1, 3, 1, 128)):
        y = dequant.gguf.dequantize(data, NVFP4, shape)
        same_bits(y, want if shape is None else want.reshape(shape))
    same_bits(dequant.gguf.dequantize(data.reshape(3, 2, 36), NVFP4), want.reshape(3, 2, 64))
    assert dequant.gguf.dequantize(b"", NVFP4, (0, 64)).shape == (0, 64)


def test_a_scale_multiplies_before_the_result_is_rounded(blocks):
    data, want = blocks
    for scale in (float(SCALE), SCALE, np.array([SCALE]), 0.37):
        same_bits(dequant.gguf.dequantize(data, NVFP4, scale=scale), want * SCALE)
    y = dequant.gguf.dequantize(data, NVFP4, scale=SCALE, dtype="bfloat16")
    same_bits(y, (want * SCALE).astype(ml_dtypes.bfloat16))
    same_bits(dequant.gguf.dequantize(data, NVFP4, scale=2), want * 2)
    assert np.isinf(dequant.gguf.dequantize(data, NVFP4, scale=np.inf)).any()


def test_experts_have_scales_of_their_own(blocks):
    data, want = blocks
    scales = np.array([0.37, -2, 1e-39], np.float32)
    y = dequant.gguf.dequantize(data.reshape(3, 2, 36), NVFP4, scale=scales, dtype=np.float16)
    same_bits(y, (want.reshape(3, 2, 64) * scales[:, None, None]).astype(np.float16))
    same_bits(dequant.gguf.dequantize(data, NVFP4, (1, 384), scale=scales[:1]),
              want.reshape(1, 384) * scales[0])


def test_results_go_where_they_are_wanted(blocks):
    data, want = blocks
    out = np.empty((3, 128), np.float16)
    assert dequant.gguf.dequantize(data, NVFP4, dtype=np.float16, out=out, threads=1) is out
    same_bits(out, want.astype(np.float16))


def test_tensors_of_torch(blocks, torch):
    data, want = blocks
    y = dequant.gguf.dequantize(torch.from_numpy(data), NVFP4, scale=torch.tensor(SCALE),
                                like="torch")
    same_bits(y.numpy(), want * SCALE)
    y = dequant.gguf.dequantize(torch.from_numpy(data), "BF16", like="torch", dtype="bfloat16")
    assert y.dtype == torch.bfloat16 and y.shape == (3, 36)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("kind, stored", [("F32", np.float32), ("F16", np.float16),
                                          ("BF16", ml_dtypes.bfloat16)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_plain_floats_are_rounded_once(rng, kind, stored, dtype):
    width = np.dtype(stored).itemsize
    x = rng.integers(0, 256, (10, 1000 * width), np.uint8).view(stored)
    want = x.astype(dtype)
    for data in (x, x.view(np.uint8), x.tobytes()):
        y = dequant.gguf.dequantize(data, kind, (10, 1000), dtype=dtype)
        same_bits(y, want)
    number = {"F32": 0, "F16": 1, "BF16": 30}[kind]
    same_bits(dequant.gguf.dequantize(x.view(np.uint8), number, dtype=dtype), want)
    if dtype == stored:
        assert y.tobytes() == x.tobytes()


def test_what_is_no_tensor_is_refused(blocks):
    data, _ = blocks
    out = np.full((3, 128), 7, np.float32)

    def refuses(error, words, *arguments, **more):
        with pytest.raises(error, match=words):
            dequant.gguf.dequantize(*arguments, **more)
    refuses(ValueError, "216 bytes where NVFP4 of shape .4, 64. has 144", data, NVFP4, (4, 64))
    refuses(ValueError, "rows of 72 bytes .* 144 bytes of a Q4_K block", data, "Q4_K", out=out)
    refuses(ValueError, "rows of 100 in .3, 100.", data, NVFP4, (3, 100))
    refuses(ValueError, "scale: shape .2. is neither that of one number nor of one for each index",
            data, NVFP4, scale=np.ones(2, np.float32), out=out)
    refuses(ValueError, "has a negative size", data, NVFP4, (-1, 64))
    refuses(ValueError, "scale: given for a tensor of floats", data, "F16", scale=2)
    refuses(ValueError, "y: overlaps", out, "F32", dtype=np.float16,
            out=out.reshape(-1).view(np.float16)[384:].reshape(3, 128))
    refuses(ValueError, "data: 216 bytes, and the shape has 220", data, "F32", 55)
    refuses(ValueError, "data: 7 bytes, and the shape has 6", bytes(7), "F16")
    refuses(TypeError, "data: list is no tensor", data.tolist(), NVFP4)
    refuses(ValueError, "data: element type float32 is not uint8", out, NVFP4)
    refuses(TypeError, "data: float32 where the type has float16", out, "F16")
    refuses(TypeError, "type: a name or a number of GGUF is wanted, not 2.0", data, 2.0)
    refuses(TypeError, "type: a name or a number of GGUF is wanted, not True", data, True)
    refuses(OverflowError, "scale: 1e[+]39 is beyond float32", data, NVFP4, scale=1e39)
    assert (out == 7).all()


def test_types_that_are_no_blocks_are_unsupported(blocks):
    data, _ = blocks
    for kind, words in [("Q4_2", "was removed"), (31, "Q4_0_4_4, number 31, was removed"),
                        ("I32", "has plain numbers"), (28, "F64"), (43, "is no type of GGUF"),
                        ("q4_0", "is no type of GGUF")]:
        with pytest.raises(dequant.UnsupportedError, match=words):
            dequant.gguf.dequantize(data, kind)


def test_the_tensors_of_a_reader_fit(tmp_path, rng):
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    stored = {"Q6_K": (2, 3, 210), "Q4_0": (4, 36), "BF16": (5, 12)}
    for name, shape in stored.items():
        writer.add_tensor(name, rng.integers(0, 120, shape, np.uint8),
                          raw_dtype=gguf.GGMLQuantizationType[name])
    writer.add_tensor("F16", rng.normal(size=(3, 5)).astype(np.float16))
    writer.add_tensor("F32", rng.normal(size=7).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensors = gguf.GGUFReader(path).tensors
    assert len(tensors) == 5
    for t in tensors:
        want = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
        same_bits(dequant.gguf.dequantize(t.data, t.tensor_type), want)
        same_bits(dequant.gguf.dequantize(t.data, t.tensor_type, t.shape[::-1]), want)


def test_the_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(dequant.gguf.dequantize)) is dequant.gguf.dequantize


@pytest.fixture
def file(tmp_path, rng):
    """A GGUF file of a matrix of blocks and a norm, and the bytes of the blocks."""
    rows = gguf.quants.quantize(rng.normal(size=(3, 64)).astype(np.float32),
                                gguf.GGMLQuantizationType.Q8_0)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("a.weight", rows, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("norm", np.ones(7, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "m.gguf", rows


def test_a_file_is_a_mapping_of_its_blocks(file):
    path, rows = file
    with dequant.open(path) as model:
        assert model.format == "gguf" and list(model) == ["a.weight"]
        tensor = model["a.weight"]
        assert (tensor.stored_dtype, tensor.domain) == ("Q8_0", "Q8_0")
        assert (tensor.shape, tensor.granularity, tensor.axis, tensor.block_size) \
            == ((3, 64), "blocked", 1, 32)
        assert tensor.scale is None and tensor.zero_point is None
        assert tensor.nbytes == rows.size
        same_bits(tensor.codes.to_numpy(), rows)
        same_bits(tensor.to_numpy(),
                  gguf.quants.dequantize(rows, gguf.GGMLQuantizationType.Q8_0))
        with pytest.raises(KeyError, match="stored as it is"):
            model["norm"]


def test_a_file_becomes_floats(file, tmp_path):
    path, rows = file
    report = dequant.convert(path, tmp_path / "out.gguf", dtype="bfloat16")
    assert report.converted[0]["type"] == "Q8_0"
    found = {t.name: t.tensor_type.name for t in gguf.GGUFReader(tmp_path / "out.gguf").tensors}
    assert found == {"a.weight": "BF16", "norm": "F32"}

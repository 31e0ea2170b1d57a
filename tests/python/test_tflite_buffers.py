"""Buffers of TFLite models: tensors that share one, buffers whose data begin at one place of the
file, and buffer 0, which has no data for TFLite."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from support import dequant
from tflite_support import MISSING, Tensor, model, pack, parsed

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def write(folder, data):
    path = folder / "in.tflite"
    path.write_bytes(data)
    return path


def at_one_place(tensors, sizes, data, change=None):
    """A model in which the data of some buffers begin at one offset behind the flatbuffer. `sizes`
    has their bytes by the numbers of the buffers."""
    m = parsed(model(tensors, change=change))
    for i, size in sizes.items():
        m.buffers[i].data, m.buffers[i].offset, m.buffers[i].size = None, 1 << 12, size
    made = pack(m)
    return made + bytes((1 << 12) - len(made)) + data


def test_codes_beyond_32_bits_behind_the_data_of_another_bias_are_seen(tmp_path):
    """A bias of one code and one of three begin at one offset."""
    source = write(tmp_path, at_one_place(
        [Tensor("a", "INT64", [0], [1.0], [0]), Tensor("b", "INT64", [0, 0, 0], [1.0], [0])],
        {1: 8, 2: 24}, np.array([5, 7, 2**40 + 3]).tobytes()))
    output = tmp_path / "out.safetensors"
    error = dequant("convert", source, "-o", output, code=4).stderr
    assert 'tensor "b": its codes of 5 to 1099511627779 take more than 32 bits' in error
    assert not output.exists()
    dequant("extract", source, "a", "-o", tmp_path / "a.npy")
    assert np.load(tmp_path / "a.npy").tolist() == [5]


def test_numbers_of_32_and_of_64_bits_at_one_place_have_their_own_statistics(tmp_path):
    """The plans of both are equal, and their scales one tensor."""
    count = 4096
    codes = np.arange(2 * count, dtype=np.int32)
    codes[1::2] = 0  # the upper halves of integers of 64 bits
    odd = {"shape": [1, count], "block": (0, -1, count), "data": b"0"}
    source = write(tmp_path, at_one_place(
        [Tensor("s", "FLOAT32", np.ones((1, 1))), Tensor("narrow", "INT32", **odd),
         Tensor("wide", "INT64", **odd), Tensor("again", "INT32", **odd)],
        {2: 4 * count, 3: 8 * count}, codes.tobytes(),
        lambda m: setattr(m.subgraphs[0].tensors[3], "buffer", 2)))
    found = json.loads(dequant("inspect", source, "--all", "--json").stdout)["tensors"]
    assert {t["name"]: t["values"]["max"] for t in found} == {
        "narrow": count - 2, "wide": 2 * count - 2, "again": count - 2}


def with_data_in_buffer_0(data):
    def change(m):
        m.buffers[0].data = np.frombuffer(data, np.uint8)
    return change


@pytest.mark.parametrize("size", [4, 16], ids=["other bytes", "its bytes"])
def test_what_the_model_computes_has_no_data_in_buffer_0(size, tmp_path):
    """Its input was refused as malformed, or became a weight."""
    source = write(tmp_path, model(
        [Tensor("in", "INT8", None, [0.5], [0], shape=[1, 16]),
         Tensor("w", "INT8", [1, 2], [0.5], [0])], change=with_data_in_buffer_0(bytes(size))))
    output = tmp_path / "out.safetensors"
    error = dequant("convert", source, "-o", output).stderr
    assert f"buffer 0 has {size} bytes, which are not read" in error
    assert {k: v.tolist() for k, v in load_file(output).items()} == {"w": [0.5, 1]}
    assert "the model computes it" in dequant("inspect", source, "--all").stdout


def test_scales_of_blocks_in_buffer_0_are_no_constants(tmp_path):
    source = write(tmp_path, model(
        [Tensor("w", "INT8", np.ones((2, 8)), block=(1, -1, 4)),
         Tensor("s", "FLOAT16", None, shape=[2, 2])], change=with_data_in_buffer_0(bytes(8))))
    error = dequant("convert", source, "-o", tmp_path / "out.safetensors", code=4).stderr
    assert 'its scales "s" are not constant floats' in error


def test_all_codes_of_a_buffer_that_tensors_share_are_written(tmp_path):
    """Each tensor has its own name, shape and type: no other one stands for it."""
    def share(m):
        m.subgraphs[0].tensors[1].buffer = m.subgraphs[0].tensors[2].buffer = 1
    codes = np.arange(8)
    source = write(tmp_path, model(
        [Tensor("a", "INT8", codes.reshape(2, 4), [1.0], [0]),
         Tensor("b", "INT8", codes.reshape(4, 2), [0.5], [0]),
         Tensor("c", "INT16", np.zeros(4), [0.5], [0])], change=share))
    dequant("extract", source, "--all", "--raw", "-o", tmp_path / "raw")
    made = {p.name: np.load(p) for p in (tmp_path / "raw").iterdir()}
    assert {name: (a.dtype, a.shape) for name, a in made.items()} == {
        "0000-a.npy": (np.int8, (2, 4)), "0001-b.npy": (np.int8, (4, 2)),
        "0002-c.npy": (np.int16, (4,))}
    assert {a.tobytes() for a in made.values()} == {bytes(range(8))}


def test_inspect_counted_shared_data_once_for_each_tensor(tmp_path):
    """A buffer of 8 bytes, and a scale of 4 for each of its three tensors."""
    in_first = {"shape": [8], "change": lambda t: setattr(t, "buffer", 1)}
    source = write(tmp_path, model([
        Tensor("a", "INT8", np.arange(8), [1.5], [0]),
        Tensor("b", "INT8", None, [2.5], [0], **in_first),
        Tensor("c", "INT8", None, [3.5], [0], **in_first)]))
    output = tmp_path / "out.safetensors"
    report = json.loads(dequant("convert", source, "-o", output, "--json").stdout)
    every = json.loads(dequant("inspect", source, "--json", "--all").stdout)
    folded = json.loads(dequant("inspect", source, "--json").stdout)
    assert sorted(load_file(output)) == ["a", "b", "c"]
    assert report["totals"]["quantized_bytes"] == every["totals"]["bytes"] == 20
    assert [t["bytes"] for t in folded["totals"]] == [20]
    assert ", 20 B now, " in dequant("inspect", source).stdout

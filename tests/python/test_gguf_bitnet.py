"""GGUF files of bitnet.cpp, whose own types have numbers of other types: they are refused by their
names. gguf-py does not write these types, so the number of one that it writes is replaced."""

import gguf
import numpy as np
import pytest

from gguf_support import write
from support import dequant


def bitnet(path, number, data, arch):
    """A file of one matrix of that type and a norm."""
    norm = np.ones(256, np.float32)
    write(path, {"w": ("Q1_0", np.zeros((64, 36), np.uint8)), "norm": norm}, arch=arch,
          fields=[("general.file_type", 40, gguf.GGUFValueType.UINT32)])
    whole = path.read_bytes()
    old = np.array([256, 64], "<u8").tobytes() + np.uint32(gguf.GGMLQuantizationType.Q1_0).tobytes()
    at = whole.index(old) + 16
    norm_offset = whole.index(np.uint64(64 * 36).tobytes(), at)
    header = whole[:at] + np.uint32(number).tobytes() + whole[at + 4:norm_offset]
    header += np.uint64(len(data)).tobytes() + whole[norm_offset + 8:-(64 * 36 + 1024)]
    path.write_bytes(header + data + norm.tobytes())
    return path


@pytest.mark.parametrize("number, name, size", [
    (36, "I2_S", 256 * 64 // 4 + 32), (38, "TL1", 256 * 64 // 4 + 32), (39, "TL2", 3424)])
@pytest.mark.parametrize("arch", ["bitnet-b1.58", "bitnet", "bitnet-25"])
def test_types_of_bitnet_cpp_were_said_to_be_read_by_no_tool(tmp_path, number, name, size, arch):
    source = bitnet(tmp_path / "m.gguf", number, bytes(size), arch)
    error = dequant("inspect", source, code=4).stderr
    assert 'm.gguf: tensor "w": ' in error and f"type {name}" in error and "bitnet.cpp" in error
    assert "no tool" not in error


def test_a_damaged_mxfp4_of_another_architecture_stays_damaged(tmp_path):
    source = bitnet(tmp_path / "m.gguf", 39, bytes(3424), "llama")
    error = dequant("inspect", source, code=3).stderr
    assert "its data are the bytes" in error and "TL2" not in error

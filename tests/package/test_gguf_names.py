"""names="hf": tensors of GGUF files as transformers has them."""

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file

import dequant


NAME = "model.layers.0.self_attn.q_proj.weight"
Q8_0 = gguf.GGMLQuantizationType.Q8_0


@pytest.fixture
def stored(tmp_path):
    """A file with a matrix of two heads of four rows, and the floats of these rows in the order of
    transformers."""
    rows = gguf.quants.quantize(np.arange(8 * 32, dtype=np.float32).reshape(8, 32), Q8_0)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_head_count(2)
    writer.add_tensor("blk.0.attn_q.weight", rows[[0, 2, 1, 3, 4, 6, 5, 7]], raw_dtype=Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "m.gguf", gguf.quants.dequantize(rows, Q8_0)


def test_convert_and_open_have_the_tensors_of_transformers(tmp_path, stored):
    path, rows = stored
    dequant.convert(path, tmp_path / "out", names="hf")
    assert load_file(tmp_path / "out" / "model.safetensors")[NAME].tobytes() == rows.tobytes()
    with dequant.open(path, names="hf") as model:
        assert list(model) == [NAME]
        assert model[NAME].to_numpy().tobytes() == rows.tobytes()
    with dequant.open(path) as model:
        assert list(model) == ["blk.0.attn_q.weight"]


def test_other_names_are_refused(tmp_path, stored):
    with pytest.raises(ValueError, match='names "tf" is not gguf or hf'):
        dequant.open(stored[0], names="tf")
    with pytest.raises(TypeError):
        dequant.open(stored[0], names=1)

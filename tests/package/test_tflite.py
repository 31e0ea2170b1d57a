"""TFLite models: dequant.open(), convert() and diff()."""

import numpy as np
import pytest
from safetensors.numpy import load_file

import dequant
from tensors import same_bits
from tflite_support import MISSING, Tensor, affine, model, random_codes, schema

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture
def made(tmp_path, rng):
    """A model with a tensor of each granularity, and the floats of these."""
    codes = {"whole": random_codes(rng, "UINT8", (3, 4)), "rows": random_codes(rng, "INT8", (5, 6)),
             "blocks": random_codes(rng, "INT4", (2, 32))}
    scale = {"whole": np.float32([0.3]), "rows": rng.random(5).astype("f4"),
             "blocks": rng.random((2, 2)).astype("f2")}
    path = tmp_path / "model.tflite"
    path.write_bytes(model([
        Tensor("whole", "UINT8", codes["whole"], scale["whole"], [128]),
        Tensor("rows", "INT8", codes["rows"], scale["rows"], np.zeros(5, int)),
        Tensor("blocks", "INT4", codes["blocks"], block=(3, -1, 16)),
        Tensor("scales", "FLOAT16", scale["blocks"]), Tensor("shape", "INT32", [1, 2])]))
    floats = {"whole": affine(codes["whole"], scale["whole"], [128]),
              "rows": affine(codes["rows"], scale["rows"], 0, 0),
              "blocks": codes["blocks"].astype("f4") * np.repeat(scale["blocks"].astype("f4"), 16,
                                                                 1)}
    return path, codes, scale, floats


def test_a_model_is_a_mapping_of_its_quantized_constants(made):
    path, codes, scale, floats = made
    with dequant.open(path) as found:
        assert found.format == "tflite" and list(found) == ["whole", "rows", "blocks"]
        for name, tensor in found.items():
            same_bits(tensor.to_numpy(), floats[name])
            same_bits(tensor.to_numpy(dtype="float16"), floats[name].astype("f2"))
            assert np.array_equal(np.ravel(tensor.scale), np.ravel(scale[name]))
        assert [t.granularity for t in found.values()] == ["per_tensor", "per_axis", "blocked"]
        assert [t.axis for t in found.values()] == [None, 0, 1]
        assert [t.block_size for t in found.values()] == [0, 0, 16]
        assert [t.domain for t in found.values()] == ["QuantizationParameters"] * 2 + [
            "BlockwiseQuantization"]
        assert [t.stored_dtype for t in found.values()] == ["uint8", "int8", "int4"]
        assert found["whole"].zero_point == 128 and found["rows"].zero_point is None
        assert np.array_equal(found["rows"].codes.to_numpy(), codes["rows"])


def test_a_model_becomes_a_safetensors_file(made, tmp_path):
    path, _, _, floats = made
    output = tmp_path / "out.safetensors"
    report = dequant.convert(path, output)
    assert [t["name"] for t in report.converted] == list(floats)
    assert "those of TFLite" in report.warnings[0]
    got = load_file(output)
    assert set(got) == {*floats, "shape"}
    for name, array in floats.items():
        same_bits(got[name], array)
    with pytest.raises(ValueError, match="dequant writes no TFLite models"):
        dequant.convert(path, tmp_path / "out.tflite")


def test_a_sparse_tensor_is_refused_by_name(tmp_path):
    path = tmp_path / "model.tflite"

    def sparse(t):
        t.sparsity = schema.SparsityParametersT()
    path.write_bytes(model([Tensor("w", "INT8", [1], [1.0], [0], change=sparse)]))
    with pytest.raises(dequant.UnsupportedError, match='tensor "w": its data are sparse'):
        dequant.convert(path, tmp_path / "out.safetensors")
    with dequant.open(path) as found:
        assert list(found) == []

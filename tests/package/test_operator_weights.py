"""`dequant.open()` has the weights of operators that dequantize them, as `convert()` writes
them."""

import numpy as np
import pytest
from onnx import numpy_helper

import dequant
from weight_models import (OPTIONS, PACKED, TABLES, Weight, bnb4, packed_product, packed_table,
                           table)


def nbits(**options):
    weight = Weight(**options)
    return weight.model(), weight.dense


MODELS = {
    **{f"MatMulNBits, {name}": (nbits, options, "b") for name, options in OPTIONS.items()},
    **{f"GatherBlockQuantized, {name}": (table, options, "data")
       for name, options in TABLES.items()},
    **{f"MatMulBnb4, {k} inputs": (bnb4, dict(k=k), "b") for k in (32, 40)},
    **{f"GatherPacked, {kind}": (packed_table, dict(kind=kind), "data") for kind in PACKED},
    "MatMulPacked": (packed_product, dict(), "b"),
}


@pytest.mark.parametrize("name", MODELS)
def test_weight_is_a_tensor_of_the_model(name):
    make, options, codes = MODELS[name]
    proto, dense = make(**options)
    with dequant.open(proto) as model:
        assert list(model) == [f"{codes}_dequantized"]
        weight = model[codes]
        assert model[proto.graph.node[0].name].name == weight.name
        assert weight.shape == dense.shape and weight.dtype == dense.dtype.name
        assert weight.domain == "com.microsoft"
        assert weight.to_numpy().tobytes() == dense.tobytes()
        for dtype in (None, "float32", "bfloat16"):
            converted = dequant.convert(proto, dtype=dtype).model.graph
            [constant] = [t for t in converted.initializer if t.name.startswith(weight.name)]
            there = numpy_helper.to_array(constant)
            assert weight.to_numpy(dtype=dtype or weight.dtype).tobytes() == there.tobytes()


def test_codes_scales_and_zero_points_are_the_stored_ones():
    weight = Weight(zero_points="packed")
    with dequant.open(weight.model()) as model:
        found = model["b_dequantized"]
        assert np.array_equal(found.codes, weight.tensors["b"])
        assert np.array_equal(found.scale, weight.tensors["scales"])
        zeros = found.zero_point
        assert zeros.shape == (6, 4)  # of three blocks in a row: whole bytes
        assert np.array_equal(np.asarray(zeros).astype("u1")[:, ::2], weight.tensors["zeros"] & 15)
    proto, dense = table(zero_points=True)
    with dequant.open(proto) as model:
        codes = model["data_dequantized"].codes
        [stored] = [numpy_helper.to_array(t) for t in proto.graph.initializer if t.name == "data"]
        assert codes.shape == dense.shape
        assert np.array_equal(np.asarray(codes).astype("u1")[:, 1::2], stored >> 4)


def test_operator_that_stays_is_no_tensor_and_says_why():
    weight = Weight()
    weight.attributes["bits"] = 5
    with dequant.open(weight.model()) as model:
        assert len(model) == 0
        with pytest.raises(KeyError, match="m: it stays quantized: bits: 5 is not one of 2, 4, 8"):
            model["m"]

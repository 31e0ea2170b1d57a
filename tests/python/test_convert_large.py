"""Tensors of many chunks, which several threads compute and write in no order: the bits are those
of numpy for any number of threads, any memory, and any storage of the input. With --mem 8Mi the
scales do not fit at once where each element has its own."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from support import convert, model, node, save

ROWS, COLUMNS = 768, 2048  # 6 MiB of float32


def packed(values):
    """int4 values as ONNX stores them, two in a byte."""
    low, high = np.append(values, np.zeros(values.size % 2, np.int8)).reshape(-1, 2).T
    return ((low & 15) | (high & 15) << 4).astype(np.uint8)


def stored(folder, name, element, values, how):
    """A TensorProto, with its data raw, in a typed field, or in a file."""
    if how == "typed" and element != TensorProto.FLOAT:
        entries = packed(values) if element == TensorProto.INT4 else values
        tensor = TensorProto(name=name, data_type=element, dims=values.shape)
        tensor.int32_data.extend(entries.ravel().tolist())
        return tensor
    raw = (packed(values) if element == TensorProto.INT4 else values).tobytes()
    tensor = TensorProto(name=name, data_type=element, dims=values.shape)
    if how == "external":
        (folder / name).write_bytes(raw)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=name)
    else:
        tensor.raw_data = raw
    return tensor


def case(folder, element, param_shape, how, **attributes):
    """A model of one weight, and what it comes to."""
    rng = np.random.default_rng(7)
    lowest, highest = (-8, 8) if element == TensorProto.INT4 else (-128, 128)
    x, zero = (rng.integers(lowest, highest, shape, np.int8)
               for shape in ((ROWS, COLUMNS), param_shape))
    scale = rng.random(param_shape, np.float32) + np.float32(0.01)
    tensors = [stored(folder, name, *what, how) for name, *what in
               (("x", element, x), ("scale", TensorProto.FLOAT, scale), ("zero", element, zero))]
    made = model([node("DequantizeLinear", "x scale zero", "y", **attributes)],
                 initializers=tensors,
                 outputs=[helper.make_tensor_value_info("y", TensorProto.FLOAT, (ROWS, COLUMNS))])
    source = save(made, folder / "in.onnx")

    def spread(param):
        if param.ndim == 1 and attributes["axis"] == 0:
            return param[:, None]
        if param.ndim == 2:
            return param.repeat(ROWS // param.shape[0], 0).repeat(COLUMNS // param.shape[1], 1)
        return param

    differences = x.astype(np.float32) - spread(zero).astype(np.float32)
    return source, differences * spread(scale)


PARAMS = {"per tensor": ((), {}), "per axis 0": ((ROWS,), {"axis": 0}),
          "per axis 1": ((COLUMNS,), {"axis": 1}),
          "blocked on axis 0": ((ROWS // 128, COLUMNS), {"axis": 0, "block_size": 128}),
          "blocked on axis 1": ((ROWS, COLUMNS // 32), {"axis": 1, "block_size": 32}),
          "a scale for each": ((ROWS, COLUMNS), {"axis": 1, "block_size": 1})}


@pytest.mark.parametrize("how", ["raw", "typed", "external"])
@pytest.mark.parametrize("element", [TensorProto.INT8, TensorProto.INT4], ids=["int8", "int4"])
@pytest.mark.parametrize("granularity", PARAMS)
def test_many_chunks_have_the_bits_of_numpy(granularity, element, how, tmp_path):
    shape, attributes = PARAMS[granularity]
    source, expected = case(tmp_path, element, shape, how, **attributes)
    for threads, memory in ((1, "1Gi"), (0, "1Gi"), (3, "32Mi"), (2, "8Mi")):
        proto, _ = convert(source, "-T", threads, "--mem", memory, "--force")
        [y] = proto.graph.initializer
        assert onnx.numpy_helper.to_array(y).tobytes() == expected.tobytes(), (threads, memory)

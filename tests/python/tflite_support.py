"""TFLite models made by hand, with the tables of TensorFlow's schema, and what they stand for."""

import dataclasses
import importlib.util
import pathlib
import sys

import flatbuffers
import numpy as np


def load_schema():
    """The module of TensorFlow's schema alone: TensorFlow takes seconds to import."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None:
        return None
    path = pathlib.Path(spec.submodule_search_locations[0], "lite/python/schema_py_generated.py")
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_file_location("tflite_schema", path))
    sys.modules["tflite_schema"] = module
    module.__spec__.loader.exec_module(module)
    return module


schema = load_schema()
MISSING = "" if schema else "NO TENSORFLOW, whose schema models are made with"

BITS = {"INT4": 4, "UINT4": 4, "INT2": 2}
TYPES = {"FLOAT32": np.float32, "FLOAT16": np.float16, "INT32": np.int32, "UINT8": np.uint8,
         "INT64": np.int64, "BOOL": np.bool_, "INT16": np.int16, "INT8": np.int8,
         "FLOAT64": np.float64, "UINT16": np.uint16, "UINT32": np.uint32, "INT4": np.int8,
         "UINT4": np.uint8, "INT2": np.int8, "BFLOAT16": np.uint16}


def limits(kind):
    """The lowest and the highest code of a type."""
    bits = BITS.get(kind, 8 * np.dtype(TYPES[kind]).itemsize)
    if kind.startswith("U"):
        return 0, 2**bits - 1
    return -2**(bits - 1), 2**(bits - 1) - 1


def packed(kind, values):
    """The bytes of values: of codes under 8 bits the first in the lowest bits."""
    values = np.asarray(values).astype(TYPES[kind])
    if kind not in BITS:
        return values.tobytes()
    bits = BITS[kind]
    each = 8 // bits
    codes = values.reshape(-1).astype(np.int64) & (2**bits - 1)
    codes = np.concatenate([codes, np.zeros(-len(codes) % each, np.int64)]).reshape(-1, each)
    return (codes << bits * np.arange(each)).sum(1).astype(np.uint8).tobytes()


@dataclasses.dataclass
class Tensor:
    """A tensor of a subgraph. `values` None: it has no data. `change` gets the TensorT last."""
    name: str | bytes
    kind: str
    values: object = None
    scale: object = None
    zero_point: object = None
    axis: int = 0
    shape: object = None
    data: bytes | None = None
    block: tuple | None = None  # scales, zero_points, block_size
    change: object = None

    def made(self, buffer):
        t = schema.TensorT()
        t.name = self.name
        t.type = getattr(schema.TensorType, self.kind)
        t.buffer = buffer
        shape = self.shape if self.shape is not None or self.values is None else np.shape(
            self.values)
        t.shape = None if shape is None else np.asarray(shape, np.int32)
        if self.scale is not None or self.zero_point is not None or self.block:
            t.quantization = schema.QuantizationParametersT()
            t.quantization.scale = self.scale
            t.quantization.zeroPoint = self.zero_point
            t.quantization.quantizedDimension = self.axis
        if self.block:
            t.quantization.detailsType = schema.QuantizationDetails.BlockwiseQuantization
            t.quantization.details = schema.BlockwiseQuantizationT()
            (t.quantization.details.scales, t.quantization.details.zeroPoints,
             t.quantization.details.blockSize) = self.block
        if self.change:
            self.change(t)
        return t

    def bytes(self):
        if self.data is not None or self.values is None:
            return self.data
        return packed(self.kind, self.values)


def model(*subgraphs, change=None):
    """The bytes of a model with these lists of tensors; each tensor with data has a buffer of its
    own. `change` gets the ModelT last."""
    m = schema.ModelT()
    m.version = 3
    m.description = "made by a test"
    m.operatorCodes = []
    m.buffers = [schema.BufferT()]
    m.subgraphs = []
    for i, tensors in enumerate(subgraphs):
        graph = schema.SubGraphT()
        graph.name = f"graph{i}"
        graph.tensors, graph.inputs, graph.outputs, graph.operators = [], [], [], []
        for tensor in tensors:
            data = tensor.bytes()
            if data is not None:
                m.buffers.append(schema.BufferT())
                m.buffers[-1].data = np.frombuffer(data, np.uint8)
            graph.tensors.append(tensor.made(len(m.buffers) - 1 if data is not None else 0))
        m.subgraphs.append(graph)
    if change:
        change(m)
    return pack(m)


def pack(m):
    builder = flatbuffers.Builder(1024)
    builder.Finish(m.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def parsed(data):
    return schema.ModelT.InitFromPackedBuf(data, 0)


def operator(m, kind, inputs, outputs, graph=0):
    """Adds an operator to a ModelT."""
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, kind)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = 5
    m.operatorCodes.append(code)
    one = schema.OperatorT()
    one.opcodeIndex = len(m.operatorCodes) - 1
    one.inputs, one.outputs = inputs, outputs
    m.subgraphs[graph].operators.append(one)


def assembled(tensors, data=b"", codes=0, operators=None):
    """A model of one subgraph; buffer 1 has the data. `tensors` gets the builder, and returns the
    tables of the subgraph's tensors: these may share what a ModelT has for each. `codes` operator
    codes are one table; `operators` is like `tensors`."""
    b = flatbuffers.Builder(1 << 20)

    def offsets(start, items):
        start(b, len(items))
        for item in reversed(items):
            b.PrependUOffsetTRelative(item)
        return b.EndVector()
    bytes_of_buffer = b.CreateNumpyVector(np.frombuffer(data, np.uint8))
    schema.BufferStart(b)
    buffers = [schema.BufferEnd(b)]
    schema.BufferStart(b)
    schema.BufferAddData(b, bytes_of_buffer)
    buffers = offsets(schema.ModelStartBuffersVector, [*buffers, schema.BufferEnd(b)])
    made = offsets(schema.SubGraphStartTensorsVector, tensors(b))
    if operators is not None:
        operators = offsets(schema.SubGraphStartOperatorsVector, operators(b))
    schema.OperatorCodeStart(b)
    codes = offsets(schema.ModelStartOperatorCodesVector, [schema.OperatorCodeEnd(b)] * codes)
    schema.SubGraphStart(b)
    schema.SubGraphAddTensors(b, made)
    if operators is not None:
        schema.SubGraphAddOperators(b, operators)
    graphs = offsets(schema.ModelStartSubgraphsVector, [schema.SubGraphEnd(b)])
    schema.ModelStart(b)
    schema.ModelAddVersion(b, 3)
    schema.ModelAddSubgraphs(b, graphs)
    schema.ModelAddBuffers(b, buffers)
    schema.ModelAddOperatorCodes(b, codes)
    b.Finish(schema.ModelEnd(b), b"TFL3")
    return bytes(b.Output())


def affine(codes, scale, zero_point=0, axis=None):
    """scale * (q - zero_point) in float32, as TFLite's reference kernel computes it."""
    def along(numbers):
        numbers = np.asarray(numbers)
        if axis is None or numbers.size == 1:
            return numbers.reshape(())
        return numbers.reshape([-1 if i == axis else 1 for i in range(np.ndim(codes))])
    difference = np.asarray(codes).astype(np.int64) - along(np.asarray(zero_point, np.int64))
    with np.errstate(all="ignore"):
        return difference.astype(np.float32) * along(np.asarray(scale, np.float32))


def random_codes(rng, kind, shape):
    lowest, highest = limits(kind)
    return rng.integers(lowest, highest, shape, endpoint=True)

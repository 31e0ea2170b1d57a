#!/usr/bin/env python3
"""Small inputs to start from.

    seeds.py CORPUS [SHARED]

Writes a few files into CORPUS/<target>/ for each target: bytes of a fixed generator for those that
decode numbers, small well-formed files for those that read formats. SHARED is a folder of
conformance cases and ONNX node tests to take more from, if there is one.
"""

import json
import math
import pathlib
import random
import struct
import sys

NUMBERS = ("linear", "tensorflow", "directml", "webnn", "c_api", "plan", "checkpoint_scheme",
           "checkpoint_convert")
LARGEST = 4096  # bytes of a seed: mutations of long ones lead nowhere


def write(folder: pathlib.Path, name: str, data: bytes) -> None:
    if len(data) <= LARGEST:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{name}").write_bytes(data)


def numbers(corpus: pathlib.Path) -> None:
    rng = random.Random(1)
    for target in NUMBERS:
        for i in range(32):
            write(corpus / target, str(i), rng.randbytes(8 << i % 6))


def npy(folder: pathlib.Path) -> None:
    kinds = ("|u1", "|i1", "<u2", ">i2", "<i4", "<u4", "<f4", "<f2", "<V2", "|V1")
    for i, descr in enumerate(kinds):
        order = f"'fortran_order': {i % 2 == 1}"
        text = f"{{'descr': '{descr}', {order}, 'shape': (2, 3), }}\n".encode()
        version = 1 + i % 3
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        data = bytes(range(6 * int(descr[-1])))
        write(folder, str(i), b"\x93NUMPY" + bytes([version, 0]) + length + text + data)


def safetensors(folder: pathlib.Path) -> None:
    """A first byte under 128 is followed by numbers, a greater one by the size of the data and the
    text, the greatest by a whole file."""
    kinds = {"F32": 32, "BF16": 16, "F8_E4M3": 8, "F8_E8M0": 8, "U8": 8, "I32": 32, "F4": 4,
             "F6_E2M3": 6, "I64": 64, "BOOL": 8}
    for i, (dtype, bits) in enumerate(kinds.items()):
        size = 8 * bits // 8
        entries = {"__metadata__": {"format": "pt"}} if i % 2 else {}
        entries["w"] = {"dtype": dtype, "shape": [2, 4], "data_offsets": [0, size]}
        entries["\u00e9"] = {"dtype": "U8", "shape": [0], "data_offsets": [size, size]}
        text = json.dumps(entries, separators=(",", ":")).encode()
        write(folder, f"text{i}", bytes([128, size]) + text)
        write(folder, f"file{i}", b"\xff" + struct.pack("<Q", len(text)) + text + bytes(size))
    rng = random.Random(2)
    for i in range(32):
        write(folder, f"numbers{i}", bytes([i]) + rng.randbytes(16 << i % 5))


def gguf(folder: pathlib.Path) -> None:
    """A second byte under 128 is followed by numbers, a greater one by a whole file."""
    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value
    blocks = {2: (32, 18), 8: (32, 34), 12: (256, 144), 39: (32, 17), 40: (64, 36), 0: (1, 4),
              30: (1, 2), 28: (1, 8)}
    pairs = [text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama"),
             text(b"general.file_type") + struct.pack("<II", 4, 7),
             text(b"tokens") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"")]
    for version in (2, 3):
        for kind, (elements, size) in blocks.items():
            tensors = [text(b"a.weight") + struct.pack("<IQQIQ", 2, elements, 2, kind, 0),
                       text(b"a.scale") + struct.pack("<IQIQ", 1, 1, 0, (2 * size + 31) // 32 * 32)]
            head = b"GGUF" + struct.pack("<IQQ", version, 2, 3) + b"".join(pairs + tensors)
            head += bytes(-len(head) % 32)
            data = bytes(range(256)) * 2
            data = data[:2 * size] + bytes(-2 * size % 32) + struct.pack("<f", 0.5)
            write(folder, f"file{version}-{kind}", bytes([version & 1, 255]) + head + data)
    rng = random.Random(3)
    for i in range(32):
        write(folder, f"numbers{i}", bytes([i, i]) + rng.randbytes(16 << i % 5))


def tflite(folder: pathlib.Path) -> None:
    """A first byte under 128 is followed by numbers, a greater one by a whole file. What is rare
    takes a byte of 248 and more: half of the seeds have none."""
    rng = random.Random(4)
    for i in range(64):
        data = rng.randbytes(16 << i % 6)
        write(folder, f"numbers{i}", bytes([i]) + (bytes(b % 248 for b in data) if i % 2 else data))


def field(number: int, value: int | bytes) -> bytes:
    """A field of a protobuf message: a varint, or bytes with their length."""
    def varint(n: int) -> bytes:
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name: str, code: int, shape: list[int], data: bytes, where: int = 9) -> bytes:
    dims = b"".join(field(1, d) for d in shape)
    return dims + field(2, code) + field(where, data) + field(8, name.encode())


def external(name: str, code: int, shape: list[int]) -> bytes:
    entries = {"location": "weights", "offset": "8", "length": str(shape[0])}
    said = b"".join(field(13, field(1, k.encode()) + field(2, v.encode()))
                    for k, v in entries.items())
    return field(1, shape[0]) + field(2, code) + field(8, name.encode()) + said + field(14, 1)


def model(x: bytes, scale: bytes) -> bytes:
    node = field(1, b"x") + field(1, b"s") + field(2, b"y") + field(4, b"DequantizeLinear")
    node += field(5, field(1, b"axis") + field(3, 1) + field(20, 2))
    graph = field(1, node) + field(5, x) + field(5, scale) + field(12, field(1, b"y"))
    return field(1, 10) + field(7, graph) + field(8, field(2, 23))


def onnx(corpus: pathlib.Path) -> None:
    two = tensor("s", 1, [2], struct.pack("<2f", 0.5, -2))
    one = tensor("s", 1, [], struct.pack("<f", 0.25))
    kinds = {2: bytes(range(6)), 3: bytes(range(250, 256)), 6: bytes(24), 21: b"\x21\x43\x65",
             17: bytes(6), 23: b"\x12\x34\x56"}
    for code, data in kinds.items():
        write(corpus / "onnx_tensor", f"raw{code}", tensor("x", code, [3, 2], data))
        typed = tensor("x", code, [6], bytes([1, 2, 3, 127, 0, 5]), where=5)
        write(corpus / "onnx_tensor", f"typed{code}", typed)
        write(corpus / "onnx_model", f"{code}-inside", model(tensor("x", code, [3, 2], data), two))
        write(corpus / "onnx_model", f"{code}-beside", model(external("x", code, [2]), one))
    for name, data in operators():
        write(corpus / "onnx_model", name, data)


#: A type of tensors -> its code, and the bytes of an element.
TYPES = {"f": (1, 4), "u8": (2, 1), "i8": (3, 1), "i32": (6, 4), "bool": (9, 1)}
MICROSOFT = "com.microsoft"

#: Quantized operators: domain, name, inputs, integer attributes. An input is the name and the type
#: of an input of the graph, or the type and the shape of a constant.
OPERATORS = [
    (MICROSOFT, "MatMulNBits", ["a:f", "u8 2 1 8", "f 2 1", "u8 2 1"],
     dict(K=16, N=2, bits=4, block_size=16)),
    (MICROSOFT, "MatMulNBits", ["a:f", "u8 2 1 4", "f 2", "", "i32 16"],
     dict(K=16, N=2, bits=2, block_size=16)),
    (MICROSOFT, "GatherBlockQuantized", ["u8 2 8", "i:i32", "f 2 1", "u8 2 1"],
     dict(bits=4, block_size=16, quantize_axis=1, gather_axis=0)),
    (MICROSOFT, "MatMulBnb4", ["a:f", "u8 20", "f 3"],
     dict(K=20, N=2, block_size=16, quant_type=1)),
    (MICROSOFT, "GatherPacked", ["u8 2 18", "i:i32"], dict(packed_type=2, K=32, output_dtype=1)),
    (MICROSOFT, "MatMulPacked", ["a:f", "u8 2 36"], dict(packed_type=40, K=64, N=2)),
    (MICROSOFT, "DynamicQuantizeLSTM",
     ["a:f", "i8 1 2 4", "i8 1 1 4", "", "", "", "", "", "f 1", "i8 1", "f 1", "i8 1"],
     dict(hidden_size=1)),
    (MICROSOFT, "DynamicQuantizeMatMul", ["a:f", "i8 2 3", "f 3", "i8 3", "f 3"], {}),
    (MICROSOFT, "MatMulIntegerToFloat", ["a:u8", "u8 2 3", "f", "f 3", "u8", "u8 3"], {}),
    (MICROSOFT, "QGemm", ["a:u8", "f", "u8", "i8 2 3", "f 3", "i8 3", "i32 3", "f", "u8"],
     dict(transB=0)),
    (MICROSOFT, "QLinearConcat", ["f", "u8", "a:u8", "f", "u8", "b:u8", "f", "u8"], dict(axis=1)),
    (MICROSOFT, "QLinearWhere", ["c:bool", "a:u8", "f", "u8", "b:u8", "f", "u8", "f", "u8"], {}),
    ("", "QLinearConv", ["a:u8", "f", "u8", "i8 2 1 1 1", "f 2", "i8 2", "f", "u8", "i32 2"],
     dict(group=1)),
    ("", "QLinearMatMul", ["a:u8", "f", "u8", "u8 2 3", "f 3", "u8 3", "f", "u8"], {}),
    ("", "MatMulInteger", ["a:u8", "i8 2 3", "u8", "i8 3"], {}),
]


def operators():
    """Names and models of the quantized operators."""
    for i, (domain, kind, inputs, attributes) in enumerate(OPERATORS):
        node = initializers = given = b""
        for k, text in enumerate(inputs):
            name, _, element = text.partition(":")
            stored, *shape = text.split() or [""]
            if element:
                type_of = field(1, field(1, TYPES[element][0]))
                given += field(11, field(1, name.encode()) + field(2, type_of))
            elif stored:
                name, (code, size), sizes = f"c{k}", TYPES[stored], [int(n) for n in shape]
                count = size * math.prod(sizes)
                # Small integers of 32 bits: as a group index they are groups.
                data = bytes(count) if stored == "i32" else bytes(1 + j % 90 for j in range(count))
                initializers += field(5, tensor(name, code, sizes, data))
            node += field(1, name.encode())
        node += field(2, b"y") + field(4, kind.encode()) + field(7, domain.encode())
        for key, value in attributes.items():
            node += field(5, field(1, key.encode()) + field(3, value) + field(20, 2))
        graph = field(1, node) + initializers + given + field(12, field(1, b"y"))
        own = field(8, field(1, MICROSOFT.encode()) + field(2, 1))
        yield f"operator{i}", field(1, 10) + field(7, graph) + field(8, field(2, 21)) + own


def description(x: str, scale: str, params: int) -> dict:
    """DEQUANTIZE with one or two quantization tensors; with 0 the element-wise operator."""
    def made(kind: str, sizes: list[int]) -> dict:
        return {"DataType": kind, "Sizes": sizes, "Strides": [sizes[1], 1]}
    if params == 0:
        desc = {"InputTensor": made(x, [2, 4]), "ScaleTensor": made(scale, [2, 4]),
                "ZeroPointTensor": made(x, [2, 4]), "OutputTensor": made(scale, [2, 4])}
        return {"Type": "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR", "Desc": desc}
    desc = {"InputTensor": made(x, [2, 4]), "QuantizationTensorCount": params,
            "QuantizationType": "SCALE" if params == 1 else "SCALE_ZERO_POINT",
            "QuantizationTensors": [made(scale, [2, 2]), made(x, [1, 2])][:params],
            "OutputTensor": made(scale, [2, 4])}
    return {"Type": "DML_OPERATOR_DEQUANTIZE", "Desc": desc}


def descriptions(folder: pathlib.Path) -> None:
    for x in ("UINT8", "INT8", "UINT4", "INT4", "INT32", "UINT16"):
        for params in range(3):
            scale = "FLOAT16" if params == 1 else "FLOAT32"
            text = json.dumps(description(x, scale, params), separators=(",", ":"))
            write(folder, f"{x}-{params}", text.encode())


def cases(folder: pathlib.Path, shared: pathlib.Path | None) -> None:
    x = {"type": "uint8", "shape": [2], "bits": [3, 200]}
    scale = {"type": "float32", "shape": [], "bits": [0x3F000000]}
    case = {"name": "a", "dialect": "onnx", "version": 21, "attributes": {"axis": 0},
            "inputs": {"x": x, "scale": scale}, "expect": {"error": True}}
    found = {"own": [case]}
    for path in sorted(shared.glob("*.json")) if shared else []:
        listed = json.loads(path.read_text())["cases"]
        found[path.stem] = listed[:: max(1, len(listed) // 24)]
    for stem, listed in found.items():
        for i, one in enumerate(listed):
            file = {"format": "dequant-cases", "version": 1, "cases": [one]}
            write(folder, f"{stem}-{i}", json.dumps(file, separators=(",", ":")).encode())
    results = [{"name": "a", "y": x}, {"name": "b", "error": "no"}, {"name": "c", "skipped": "no"}]
    file = {"format": "dequant-results", "version": 1, "results": results}
    write(folder, "results", json.dumps(file, separators=(",", ":")).encode())


def checkpoints(corpus: pathlib.Path) -> None:
    """Of each checkpoint of checkpoints.json the configuration of one row and one column, and one
    without changes for the other targets. Two bytes say which file and which checkpoint it is."""
    text = (pathlib.Path(__file__).parent / "support" / "checkpoints.json").read_text()
    for i, (name, kind) in enumerate(json.loads(text).items()):
        config = {"torch_dtype": "bfloat16", **kind}
        for key in ("data", "tensors", "metadata", "file", "said"):
            config.pop(key, None)
        files = {0: config}
        if "file" in kind:
            files[1 if kind["file"].startswith("hf") else 4] = kind["said"]
        for file, said in files.items():
            said = json.dumps(said, separators=(",", ":")).encode()
            write(corpus / "checkpoint_config", f"{name}-{file}", bytes([file, i]) + said)
        for target in ("checkpoint_scheme", "checkpoint_convert"):
            write(corpus / target, name, bytes([i, 1, 2, 0, 0x40, 0]))
    for i, text in enumerate((
            {"weight_map": {"x": "a.safetensors", "y.weight": "a.safetensors"}},
            {"weight_map": {"z": "b.safetensors", "\u00e9\n": "b.safetensors"}},
            {"metadata": {"total_size": 1}, "weight_map": {}})):
        write(corpus / "checkpoint_index", str(i), b"\x80" + json.dumps(text).encode())
        write(corpus / "checkpoint_index", f"numbers{i}", bytes([0] + [i % 2, i // 2] * 32))


def main() -> None:
    corpus = pathlib.Path(sys.argv[1])
    given = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    shared = given if given is not None and given.is_dir() else None
    numbers(corpus)
    npy(corpus / "npy")
    safetensors(corpus / "safetensors")
    gguf(corpus / "gguf")
    tflite(corpus / "tflite")
    onnx(corpus)
    checkpoints(corpus)
    descriptions(corpus / "directml_json")
    cases(corpus / "cases", shared)
    for i, path in enumerate(sorted(shared.rglob("*.onnx")) if shared else []):
        write(corpus / "onnx_model", f"test-{i}", path.read_bytes())
    for i, path in enumerate(sorted(shared.rglob("*.pb")) if shared else []):
        write(corpus / "onnx_tensor", f"test-{i}", path.read_bytes())


if __name__ == "__main__":
    main()

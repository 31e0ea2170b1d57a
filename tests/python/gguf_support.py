"""GGUF files: what gguf-py reads, and files that it writes."""

import gguf
import numpy as np

PLAIN = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8", "I8": "<i1", "I16": "<i2",
         "I32": "<i4", "I64": "<i8"}


def read(path):
    """Metadata and tensors of a file: key -> value, name -> (type, shape, bytes)."""
    reader = gguf.GGUFReader(path)
    fields = {key: field.contents() for key, field in reader.fields.items()
              if not key.startswith("GGUF.")}
    tensors = {t.name: (t.tensor_type.name, [int(n) for n in reversed(t.shape)],
                        np.ascontiguousarray(t.data).view(np.uint8).reshape(-1))
               for t in reader.tensors}
    return fields, tensors


def write(path, tensors, fields=(), alignment=None, endianess=gguf.GGUFEndian.LITTLE, arch="llama"):
    """Writes a file of name -> array, or (type, array of the bytes of rows)."""
    writer = gguf.GGUFWriter(path, arch, endianess=endianess)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    for key, value, kind in fields:
        writer.add_key_value(key, value, kind)
    for name, tensor in tensors.items():
        kind, data = tensor if isinstance(tensor, tuple) else (None, tensor)
        kind = None if kind is None else gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def quantized(kind, floats):
    """Floats as blocks, for write()."""
    return kind, gguf.quants.quantize(np.asarray(floats, np.float32),
                                      gguf.GGMLQuantizationType[kind])


def dequantized(kind, shape, data):
    """What gguf-py computes of a tensor of read()."""
    kind = gguf.GGMLQuantizationType[kind]
    rows = data.reshape(*gguf.quants.quant_shape_to_byte_shape(shape, kind))
    return gguf.quants.dequantize(rows, kind)

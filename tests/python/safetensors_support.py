"""What the tests of safetensors files share: files byte by byte, the reader and writer under test,
and the reasons for which it refuses what the reference reader tolerates."""

import json
import os
import struct
import subprocess

import safetensors

PROBE = os.environ.get("DEQUANT_SAFETENSORS_PROBE", "safetensors_probe")
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8,
        "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16,
        "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64,
        "U64": 64}


def file_of(text, data=b""):
    text = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype, shape, begin):
    """An entry of a tensor whose data begin there, and where they end."""
    bits = BITS[dtype]
    for size in shape:
        bits *= size
    end = begin + bits // 8
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}, end


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def probe(*arguments, **more):
    return subprocess.run([PROBE, *map(str, arguments)], check=True, text=True, timeout=300,
                          stdout=subprocess.PIPE, **more).stdout


def verdicts(folder, files):
    """What the reader under test says of each: "ok", or a code and a sentence."""
    paths = []
    for i, data in enumerate(files):
        paths.append(folder / f"{i}.safetensors")
        paths[-1].write_bytes(data)
    lines = probe("read", input="".join(f"{path}\n" for path in paths)).splitlines()
    for path in paths:
        path.unlink()
    assert len(lines) == len(paths)
    return lines


def reference_accepts(data):
    try:
        safetensors.deserialize(data)
        return True
    except safetensors.SafetensorError:
        return False


class Members(list):
    """The members of a JSON object, also of equal keys."""

    def names(self):
        return {key for key, _ in self}

    def repeats(self):
        return len(self.names()) < len(self)


def entry_reason(value):
    """Why an entry that the reference accepts is refused."""
    if not isinstance(value, Members):
        return "an entry that is an array"
    if value.names() - {"dtype", "shape", "data_offsets"}:
        return "an unknown field"
    fields = dict(value)
    if not isinstance(fields["dtype"], str):
        return "a type that is an object"
    if len(fields["shape"]) > 64:
        return "more than 64 dimensions"
    product = 1
    for size in fields["shape"]:
        product *= size or 1
    if max([product, *fields["shape"]]) >= 1 << 63:
        return "an overflow behind a zero"
    return None


def reason(data):
    """Why a file that the reference accepts is refused, by the rules of header.h; None: it is
    accepted."""
    length = struct.unpack("<Q", data[:8])[0]
    text = data[8:8 + length].decode()
    if not text.startswith("{"):
        return "white space before the text"
    if not text.rstrip(" ").endswith("}"):
        return "other white space than spaces after the text"
    members = json.loads(text, object_pairs_hook=Members)
    if members.repeats():
        return "two tensors of a name"
    for key, value in members:
        if key == "__metadata__":
            if value is not None and value.repeats():
                return "two metadata of a key"
        elif why := entry_reason(value):
            return why
    return None

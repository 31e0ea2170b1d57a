"""The reader of safetensors headers accepts what the reference reader accepts, but for what readers
differ on; the writer writes the bytes of the reference writer."""

import json
import os
import random
import re
import struct

import numpy as np
import pytest
import safetensors

from safetensors_support import (BITS, compact, entry, file_of, probe, reason, reference_accepts,
                                 verdicts)

MUTANTS = int(os.environ.get("DEQUANT_MUTANTS", "10000"))


def every_type():
    """A tensor of each type, in the order of the names, empty ones and scalars."""
    entries, end = {}, 0
    for i, dtype in enumerate(BITS):
        shape = [(2, 4), (8,), (1, 2, 4)][i % 3]
        entries[f"t.{i}"], end = entry(dtype, shape, end)
        entries[f"empty.{i}"], end = entry(dtype, (3, 0), end)
    entries["scalar"], end = entry("F32", (), end)
    return file_of(compact(entries), bytes(i % 251 for i in range(end)))


def layers():
    """Names as models have them, metadata, and tensors that are not in the order of their data."""
    entries, end = {}, 0
    for i in range(6):
        entries[f"model.layers.{i}.weight"], end = entry("F8_E4M3", (4, 3), end)
        entries[f"model.layers.{i}.weight_scale_inv"], end = entry("BF16", (2, 1), end)
    head = {"__metadata__": {"format": "pt", "quantization": "{\"bits\": 4}"}}
    text = compact(head | dict(sorted(entries.items(), reverse=True)))
    return file_of(text + " " * (-len(text) % 8), bytes(i % 251 for i in range(end)))


def odd_names():
    """Names and texts of every kind of character, as escapes and as they are."""
    entries, end = {}, 0
    names = ["", "\0", "\x1f\x7f", "\"\\/", "\u00e9", "\u20ac", "\U0001f600", "a" * 300, "../x",
             "__metadata", "\u2028"]
    for i, name in enumerate(names):
        entries[name], end = entry("U8", (i % 3,), end)
    entries["__metadata__"] = {"\U0001f600": "\b\f\n\r\t", "": "\u00e9"}
    text = json.dumps(entries, ensure_ascii=True)
    half = text.replace("\\u00e9", "\u00e9").replace("\\ud83d\\ude00", "\U0001f600", 1)
    return file_of(half, bytes(end))


SEEDS = {"every type": every_type(), "layers": layers(), "odd names": odd_names(),
         "no tensor": file_of("{}      "), "only metadata": file_of('{"__metadata__":{"k":"v"}}'),
         "metadata null": file_of('{"__metadata__":null}')}
NUMBERS = ["0", "1", "2", "-1", "-0", "01", "1.0", "1e2", "4294967296", "9223372036854775807",
           "9223372036854775808", "18446744073709551615", "18446744073709551616", "1" * 40, "null",
           "\"1\"", "[1]", "1,1", "", "0,18446744073709551615", "0,4294967296,4294967296",
           "1," * 70 + "1"]
STRINGS = ['"F32"', '"U8"', '"F4"', '"f32"', '"F128"', '"a"', '"dtype"', '"shape"', '""',
           '"__metadata__"', '"data_offsets"', '"\\u0061"', '"\\ud800"', '"\\udbff\\udfff"',
           '"\\x"', '"\n"', "null", "1", '{"U8":null}', "[]", "{}"]
MEMBERS = ['"x":1', '"x":[[[{"y":null}]]]', '"dtype":"U8"', '"shape":[]', '"a":"b"', '"":""',
           '"z":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}', '"z":["U8",[0],[0,0]]',
           '"z":{"dtype":"U8","shape":[0,9223372036854775807,2],"data_offsets":[0,0]}',
           '"__metadata__":{}', '"__metadata__":null', '"__metadata__":{"k":"v","k":"w"}']
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def one_of(rng, pattern, text, replacements):
    """The text with one match of the pattern replaced."""
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = rng.choice(found)
    return text[:match.start()] + rng.choice(replacements) + text[match.end():]


def escaped_character(rng, text):
    """A character of a string as its escape, which means the same."""
    found = [m.start() + i for m in STRING.finditer(text) for i, c in enumerate(m[0])
             if c.isascii() and c.isalpha() and m[0][i - 1] != "\\"]
    if not found:
        return text
    at = rng.choice(found)
    return text[:at] + f"\\u{ord(text[at]):04x}" + text[at + 1:]


def swapped(rng, text):
    """Two members of an object in the other order."""
    pattern = r'("[^"]*":(?:"[^"]*"|\[[^\]]*\])),("[^"]*":(?:"[^"]*"|\[[^\]]*\]))'
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = rng.choice(found)
    return text[:match.start()] + match[2] + "," + match[1] + text[match.end():]


def text_mutant(rng, text):
    kind = rng.randrange(9)
    if kind == 0:
        return one_of(rng, r"\d+", text, NUMBERS)
    if kind == 1:
        return one_of(rng, STRING, text, STRINGS)
    if kind == 2:
        space = [" ", "\n", "\t", "\r", "\v", "\0", ",", "\xa0"]
        return one_of(rng, r"(?<=[{}\[\],:])", text, space)
    if kind == 3:
        return one_of(rng, r"(?<=\{)(?=\")", text, [member + "," for member in MEMBERS])
    if kind == 4:
        return text + rng.choice([" ", "\n", "\t", "\0", "{}", ",", "        ", "\ufeff"])
    if kind == 5:
        return rng.choice([" ", "\n", "\ufeff", "[", "\0", "\""]) + text
    if kind == 6:
        return escaped_character(rng, text)
    if kind == 7:
        return swapped(rng, text)
    return one_of(rng, r"[{}\[\],:\"]", text, ["", "{", "}", "[", "]", ",", ":", "\""])


def byte_mutant(rng, data):
    out = bytearray(data)
    length = struct.unpack("<Q", data[:8])[0]
    at = rng.randrange(min(len(out), length + 12))
    kind = rng.randrange(5)
    if kind == 0:
        out[at] = rng.randrange(256)
    elif kind == 1:
        out[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        del out[at:at + rng.randrange(1, 4)]
    elif kind == 3:
        out[at:at] = rng.randbytes(rng.randrange(1, 4))
    else:
        length = rng.choice((0, 1, length - 1, length + 1, 1 << 63, (1 << 64) - 1, 100_000_001))
        out[:8] = struct.pack("<Q", length % (1 << 64))
    return bytes(out)


def mutant(rng, data):
    """The file with one to three changes: of the text with a length that follows it, or of any
    byte."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else len(data)
        text = data[8:8 + length]
        kind = rng.randrange(8)
        if kind < 6 and len(text) == length:
            text = text_mutant(rng, text.decode(errors="surrogateescape"))
            data = file_of(text.encode(errors="surrogateescape"), data[8 + length:])
        elif kind == 6 and len(data) > 12:
            data = byte_mutant(rng, data)
        else:
            data = rng.choice((data[:-1], data + b"\0", data + b"PK\5\6"))
    return data


@pytest.mark.parametrize("seed", SEEDS)
def test_files_as_they_are_are_accepted(tmp_path, seed):
    assert reference_accepts(SEEDS[seed])
    assert verdicts(tmp_path, [SEEDS[seed]]) == ["ok"]


def test_mutants_are_accepted_if_the_reference_accepts_them_and_no_rule_forbids_it(tmp_path):
    rng, seeds = random.Random(1), list(SEEDS.values())
    mutants = [mutant(rng, rng.choice(seeds)) for _ in range(MUTANTS)]
    reasons, accepted = {}, 0
    for data, verdict in zip(mutants, verdicts(tmp_path, mutants), strict=True):
        by_reference = reference_accepts(data)
        why = reason(data) if by_reference else None
        assert (verdict == "ok") == (by_reference and why is None), (data, verdict, why)
        assert re.match(r"ok$|(malformed|unsupported|limit): .*\.safetensors: ", verdict), verdict
        accepted += verdict == "ok"
        reasons[why] = reasons.get(why, 0) + 1
    # The mutants are no good if nearly all are refused, or if the rules hardly matter.
    assert accepted > MUTANTS // 10
    assert MUTANTS < 10_000 or len(reasons) > 8, reasons


SMALL = '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
#: What the reference reader accepts and dequant refuses, and why.
TOLERATED = {
    "white space before the text": " " + SMALL,
    "other white space than spaces after the text": SMALL + "\n",
    "two tensors of a name": SMALL.replace("}}", '},"\\u0061":{"dtype":"I8","shape":[0],'
                                                 '"data_offsets":[0,0]}}'),
    "two metadata of a key": '{"__metadata__":{"k":"v","k":"w"}}',
    "an unknown field": SMALL.replace("{\"dtype", "{\"x\":1,\"dtype"),
    "an entry that is an array": '{"a":["U8",[0],[0,0]]}',
    "a type that is an object": SMALL.replace('"U8"', '{"U8":null}'),
    "an overflow behind a zero": SMALL.replace("[0]", "[0,4294967296,4294967296]"),
    "more than 64 dimensions": SMALL.replace("[0]", "[" + "0," * 64 + "0]"),
}


@pytest.mark.parametrize("why", TOLERATED)
def test_what_the_reference_tolerates_is_refused(tmp_path, why):
    data = file_of(TOLERATED[why])
    assert reference_accepts(data)
    assert reason(data) == why
    assert verdicts(tmp_path, [data]) != ["ok"]


@pytest.mark.parametrize("seed", SEEDS)
def test_both_readers_list_the_same(tmp_path, seed):
    path = tmp_path / "a.safetensors"
    path.write_bytes(SEEDS[seed])
    assert_same_content(path)


def contents(data):
    """What the reference reads, by the names."""
    return {name: (tensor["dtype"], tensor["shape"], bytes(tensor["data"]))
            for name, tensor in safetensors.deserialize(data)}


def listed(path):
    """Tensors and metadata, by the reader under test."""
    lines = [json.loads(line) for line in probe("list", path).split("\n") if line]
    return [line for line in lines if len(line) == 5], dict(line for line in lines
                                                            if len(line) == 2)


def assert_same_content(path):
    data = path.read_bytes()
    tensors, metadata = listed(path)
    assert {name: (dtype, shape, data[offset:offset + size])
            for name, dtype, shape, offset, size in tensors} == contents(data)
    assert tensors == sorted(tensors, key=lambda t: (t[3], t[4], t[0].encode()))
    with safetensors.safe_open(path, framework="np") as opened:
        assert (opened.metadata() or {}) == metadata
    return metadata


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_that_is_written_again_has_the_same_content(tmp_path, seed):
    old, new, third = (tmp_path / name for name in ("old", "new", "third"))
    old.write_bytes(SEEDS[seed])
    probe("rewrite", old, new)
    assert assert_same_content(new) == listed(old)[1]
    assert contents(new.read_bytes()) == contents(SEEDS[seed])
    probe("rewrite", new, third)
    assert third.read_bytes() == new.read_bytes()


#: The types that the reference writer writes, by its names.
WRITTEN = {"BOOL": "bool", "F4": "float4_e2m1fn_x2", "U8": "uint8", "I8": "int8",
           "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu",
           "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "I16": "int16",
           "U16": "uint16", "F16": "float16", "BF16": "bfloat16", "I32": "int32", "U32": "uint32",
           "F32": "float32", "C64": "complex64", "F64": "float64", "I64": "int64", "U64": "uint64"}


def test_the_bytes_are_those_of_the_reference_writer(tmp_path):
    """Of two tensors of each type, and names that need escapes."""
    old, new = tmp_path / "old", tmp_path / "new"
    buffer = np.arange(256, dtype=np.uint8)
    names = ["\"quoted\"", "back\\slash/", "\0\x01\b\f\n\r\t\x1f\x7f", "\u00e9\U0001f600\u2028", ""]
    names += [f"{letter}{i}" for letter in "zAa_" for i in range(9)]
    specs, entries, end = {}, {}, 0
    for i, name in enumerate(names):
        dtype = list(WRITTEN)[i % len(WRITTEN)]
        shape = [2, 4] if i % 3 else [4]
        stored = [*shape[:-1], shape[-1] // 2] if dtype == "F4" else shape
        entries[name], after = entry(dtype, shape, end)
        specs[name] = safetensors.TensorSpec(dtype=WRITTEN[dtype], shape=stored,
                                             data_ptr=buffer.ctypes.data + i, data_len=after - end)
        end = after
    data = b"".join(bytes(buffer[i:i + e["data_offsets"][1] - e["data_offsets"][0]])
                    for i, e in enumerate(entries.values()))
    for metadata in ({}, {"key\n\u00e9": "\"value\"\x7f"}):
        head = {"__metadata__": metadata} if metadata else {}
        old.write_bytes(file_of(compact(head | entries), data))
        probe("rewrite", old, new)
        assert new.read_bytes() == safetensors.serialize(specs, metadata or None)
        new.unlink()


def test_real_checkpoints_are_read_and_written_as_they_are(tmp_path, shared):
    """Files that producers wrote. Those of the reference writer with one key of metadata, which it
    puts in no order, are written with the same bytes."""
    paths = sorted((shared / "checkpoints").rglob("*.safetensors"))
    if not paths:
        pytest.skip("SHARED FILES MISSING: no checkpoints")
    same = 0
    for path in paths:
        metadata = assert_same_content(path)
        new = tmp_path / "new"
        probe("rewrite", path, new)
        equal = new.read_bytes() == path.read_bytes()
        assert equal or len(metadata) > 1 or not is_of_reference(path), path
        same += equal
        new.unlink()
    assert same > len(paths) // 2


def is_of_reference(path):
    """Whether entries are in the order and the spelling of the reference writer."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    text = data[8:8 + length].decode()
    entries = json.loads(text)
    tensors = [n for n in entries if n != "__metadata__"]
    order = sorted(tensors, key=lambda n: (-list(BITS).index(entries[n]["dtype"]), n))
    return tensors == order and compact(entries) == text.rstrip(" ")

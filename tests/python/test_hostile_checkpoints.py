"""Checkpoints that nobody should have written: the command refuses them with the code and the
sentence of their kind and leaves nothing behind, or converts them exactly. The tests of the header
alone are in tests/format/safetensors and test_safetensors.py."""

import json
import os
import struct
import time

import numpy as np
import pytest

from hostile_support import MIB
from safetensors_support import compact, entry, file_of
from support import dequant, peak_memory
from test_checkpoints import tensors
from test_checkpoints_folder import CODES, CONFIG, SCALE, Folder, weight


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def one(dtype="U8", shape=(4,), offsets=(0, 4), name="a"):
    return compact({name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}})


def raw(shape="[4]", offsets="[0,4]", dtype='"U8"', more=""):
    return f'{{"a":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}}}'


def named(*ranges):
    return compact({f"t{i}": {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]}
                    for i, (begin, end) in enumerate(ranges)})


def long(length, data=b"{}"):
    return struct.pack("<Q", length) + data


GOOD = one()
DATA = b"\1\2\3\4"
#: What the file is -> its bytes, the exit code, words of the message.
FILES = {
    "fewer than 8 bytes": (b"1234567", 3, "length"),
    "no byte of a header": (file_of("", DATA), 3, "begins with"),
    "a header of one byte": (file_of("{", DATA), 3, "end of the header"),
    "a header that is one byte longer than the file": (long(3), 3, "in a file with 2 bytes"),
    "a header of 2^63 bytes": (long(1 << 63), 3, "9223372036854775808 is more than 100000000"),
    "a header of 2^64 - 1 bytes": (long((1 << 64) - 1), 3, "18446744073709551615 is more"),
    "a header of 100000001 bytes": (long(100_000_001), 3, "100000001 is more than 100000000"),
    "a space before the header": (file_of(" " + GOOD, DATA), 3, "begins with"),
    "a byte order mark": (file_of("\ufeff" + GOOD, DATA), 3, "begins with"),
    "an array": (file_of("[]", DATA), 3, "begins with"),
    "bytes that are not UTF-8": (file_of(GOOD.encode().replace(b'"a"', b'"\xff"'), DATA), 3,
                                 "UTF-8"),
    "an overlong slash": (file_of(GOOD.encode().replace(b'"a"', b'"\xc0\xaf"'), DATA), 3, "UTF-8"),
    "half of a surrogate pair": (file_of(GOOD.replace('"a"', '"\\ud800"'), DATA), 3, "surrogate"),
    "a NUL byte in a name": (file_of(GOOD.replace('"a"', '"a\0"'), DATA), 3, "byte"),
    "a newline after the header": (file_of(GOOD + "\n", DATA), 3, "only spaces"),
    "NUL bytes after the header": (file_of(GOOD + "\0\0", DATA), 3, "only spaces"),
    "a second object": (file_of(GOOD + GOOD, DATA), 3, "only spaces"),
    "two tensors of a name": (file_of(GOOD[:-1] + "," + GOOD[1:], DATA), 3, "occurs twice"),
    "two names that are equal once unescaped": (
        file_of(GOOD[:-1] + "," + GOOD[1:].replace('"a"', '"\\u0061"'), DATA), 3, "occurs twice"),
    "a field twice": (file_of(raw(more=',"dtype":"U8"'), DATA), 3, "occurs twice"),
    "metadata twice": (file_of('{"__metadata__":{},"__metadata__":{}}'), 3, "occurs twice"),
    "metadata that are a number": (file_of('{"__metadata__":0}'), 3, "__metadata__"),
    "metadata with a number": (file_of('{"__metadata__":{"k":1}}'), 3, "__metadata__"),
    "metadata with an object": (file_of('{"__metadata__":{"k":{}}}'), 3, "__metadata__"),
    "arrays 100000 deep in an unknown field": (
        file_of('{"a":{"x":' + "[" * 100_000), 3, "is not one of dtype, shape, data_offsets"),
    "an entry without a type": (file_of('{"a":{"shape":[4],"data_offsets":[0,4]}}', DATA), 3,
                                'no field "dtype"'),
    "an entry with a field of its own": (file_of(raw(more=',"strides":[1]'), DATA), 3, "strides"),
    "a type that nobody knows": (file_of(one("F128"), DATA), 4, "F128"),
    "a type in lower case": (file_of(one("u8"), DATA), 4, "u8"),
    "a type that is a number": (file_of(raw(dtype="8"), DATA), 3, "dtype"),
    **{f"a dimension {size}": (file_of(raw(shape=f"[{size}]"), DATA), 3, "shape")
       for size in ("-4", "4e0", "4.0", "-0", "04", "+4", str(1 << 64), "1" + "0" * 30, '"4"')},
    "a product that is 4 modulo 2^64": (
        file_of(raw(shape="[4194305,4194305,211106198978564]"), DATA), 3, "2^63"),
    "a product of 2^64": (file_of(raw(shape="[9223372036854775807,2]"), DATA), 3, "2^63"),
    "offsets in the wrong order": (file_of(one(offsets=(4, 0)), DATA), 3, "no range"),
    "no bytes for four elements": (file_of(one(offsets=(0, 0)), DATA), 3, "are 0 bytes"),
    "one offset": (file_of(one(offsets=(0,)), DATA), 3, "not a pair"),
    "three offsets": (file_of(one(offsets=(0, 4, 4)), DATA), 3, "more than 2"),
    "offsets beyond the file": (file_of(one(shape=(5,), offsets=(0, 5)), DATA), 3, "no range"),
    "an offset of 2^64 - 1": (file_of(raw(offsets="[0,18446744073709551615]"), DATA), 3,
                              "18446744073709551615"),
    "tensors that share a byte": (file_of(named((0, 3), (2, 4)), DATA), 3, "begin at 2"),
    "a hundred thousand tensors on one range": (file_of(named(*[(0, 4)] * 100_000), DATA), 3,
                                                "begin at 0"),
    "a byte between two tensors": (file_of(named((0, 1), (2, 4)), DATA), 3, "begin at 2"),
    "a byte before the first tensor": (file_of(named((1, 4)), DATA), 3, "begin at 1"),
    "a ZIP archive behind the data": (file_of(GOOD, DATA + b"PK\5\6" + bytes(18)), 3,
                                      "here end the data"),
    "data that lack their last byte": (file_of(GOOD, DATA[:3]), 3, "no range"),
    "half a byte of 4-bit codes": (file_of(one("F4", (7,)), DATA), 3, "end within a byte"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_is_refused(folder, what):
    data, code, words = FILES[what]
    (folder.path / "model.safetensors").write_bytes(data)
    started = time.monotonic()
    folder.refused(code, "model.safetensors: ", words)
    assert time.monotonic() - started < 10
    assert os.listdir(folder.path.parent) == ["in"]


def test_a_header_of_the_greatest_length_is_read(folder):
    text = one("F32", (1,))
    with open(folder.path / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", 100_000_000) + text.encode())
        for _ in range(100):
            file.write(b" " * 1_000_000)
        file.seek(100_000_008)
        file.truncate()
        file.write(DATA)
    folder.convert()
    assert tensors(folder.out)["a"][2].tobytes() == DATA


# What is unusual, and right.

NAMES = ["", "../x", "/etc/passwd", "__metadata", "a\0b", "\x1b[31m\r\n", "%s{}", "\U0001f600",
         "n" * 1_000_000]


def unusual():
    """Tensors of all kinds that are copied: entries in no order, data from an odd byte on, values
    that types do not have."""
    rng, entries, data = np.random.default_rng(1), {}, b""
    def add(name, dtype, shape, raw_data):
        nonlocal data
        entries[name], end = entry(dtype, shape, len(data))
        assert end - len(data) == len(raw_data)
        data += raw_data
    add("codes.weight", "F8_E4M3", (8, 8), CODES.tobytes())
    add("empty", "F32", (3, 0), b"")
    add("flags", "BOOL", (4,), b"\0\1\2\xff")
    add("codes.weight_scale_inv", "F32", (1, 1), SCALE.tobytes())
    add("nan", "F32", (4,), struct.pack("<4I", 0x7FC01234, 0xFF800001, 0x7FFFFFFF, 0x80000000))
    add("scalar", "BF16", (), b"\x80\x3f")
    add("no rows", "I64", (0, 1 << 40), b"")
    for i, name in enumerate(NAMES):
        add(name, "U64", (i,), rng.bytes(8 * i))
    header = compact({"__metadata__": {"k\0": "v"}, **dict(sorted(entries.items(), reverse=True))})
    header += " " * ((len(header.encode()) + 1) % 2)
    return file_of(header, data)


def test_unusual_tensors_are_copied_byte_for_byte(folder):
    data = unusual()
    begin = 8 + int.from_bytes(data[:8], "little")
    assert begin % 2 == 1
    (folder.path / "model.safetensors").write_bytes(data)
    folder.convert()
    before, after = tensors(folder.path), tensors(folder.out)
    scaled = before.pop("codes.weight")
    del before["codes.weight_scale_inv"]
    assert after.pop("codes.weight")[:2] == ("BF16", scaled[1])
    assert after.keys() == before.keys() >= set(NAMES)
    for name, (dtype, shape, numbers) in before.items():
        assert after[name][:2] == (dtype, shape)
        assert after[name][2].tobytes() == numbers.tobytes(), name[:20]


def test_data_at_an_odd_byte_give_the_same_floats(folder):
    """The same tensors in a file with aligned data."""
    (folder.path / "model.safetensors").write_bytes(unusual())
    folder.convert()
    odd = tensors(folder.out)["codes.weight"]
    folder.file(weight("codes"))
    folder.convert("--force")
    even = tensors(folder.out)["codes.weight"]
    assert odd[:2] == even[:2] and (odd[2] == even[2]).all()


def test_names_are_escaped_wherever_they_are_printed(folder):
    (folder.path / "model.safetensors").write_bytes(unusual())
    for arguments in (["inspect", folder.path, "--all"], ["inspect", folder.path, "--json"],
                      ["convert", folder.path, "-o", folder.out, "--dry-run"]):
        done = dequant(*arguments)
        printed = done.stdout + done.stderr
        assert not [c for c in printed if c < " " and c != "\n" or c == "\x7f"]
    scale = {"\x1b[1m.weight_scale": ("F32", SCALE)}
    folder.file({**weight(), **scale})
    folder.refused(3, "\\x1b[1m.weight_scale", "may be the scale of")


def test_an_option_of_config_json_was_printed_with_its_control_characters(folder):
    folder.config({"quantization": {"bits": 4, "group_size": 16, "mode": "\x1b[31m\n"},
                   "torch_dtype": "bfloat16"})
    folder.file({"w.weight": ("U32", np.zeros((2, 2), np.uint32)),
                 "w.scales": ("U8", np.zeros((2, 1), np.uint8))})
    folder.refused(3, 'mode: "\\x1b[31m\\x0a" is not one of affine')


@pytest.mark.parametrize("text", ["{}", one("F32", (1,), name="k.k_scale")])
def test_a_checkpoint_of_which_no_tensor_is_left_is_one_without_tensors(folder, text):
    source = folder.path / "model.safetensors"
    source.write_bytes(file_of(text, DATA if "k_scale" in text else b""))
    single = folder.path.parent / "single.safetensors"
    dequant("convert", source, "-o", single)
    folder.convert()
    for options in (["--shards", "as-input"], ["--max-shard-size", "1"]):
        folder.convert("--force", *options)
    for output in (single, folder.out):
        assert tensors(output) == {}
        dequant("inspect", output)
        dequant("verify", folder.path, output)


def test_floats_may_have_the_names_of_codes(folder):
    """The output has no configuration of quantization: then names tell."""
    folder.file({**weight(), "v.W_q": ("F32", SCALE), "v_blocks": ("F32", SCALE),
                 "v_scales": ("F32", SCALE), "u._data": ("F32", SCALE)})
    folder.convert()
    dequant("verify", folder.path, folder.out)
    assert tensors(folder.out).keys() == {"w.weight", "v.W_q", "v_blocks", "v_scales", "u._data"}


# Indices.

def hostile_index(folder, text):
    (folder.path / "model.safetensors.index.json").write_text(text)


@pytest.mark.parametrize(("name", "code", "words"), [
    *[(name, 5, "no name of a .safetensors file") for name in (
        "../in/model.safetensors", "/dev/zero", "./model.safetensors", "", "config.json")],
    ("model.safetensors\0.safetensors", 5, "NUL byte"),
    ("\x1b[31m.safetensors", 5, "\\x1b[31m.safetensors"),
    ("x" * 300 + ".safetensors", 5, "File name too long"),
    *[(name, 3, "not a string") for name in (1, None, ["model.safetensors"])]])
def test_an_index_that_names_no_file_of_the_folder_is_refused(folder, name, code, words):
    folder.file(weight())
    hostile_index(folder, json.dumps({"weight_map": {n: name for n in weight()}}))
    folder.refused(code, words)


@pytest.mark.parametrize("text", [
    "", "[]", "{}", '{"weight_map":[]}', '{"weight_map":null}', '{"weight_map":{}} x',
    '{"weight_map":{"a":"x.safetensors","\\u0061":"y.safetensors"}}',
    '{"weight_map":{}}', '{"weight_map":{},"weight_map":{}}',
    '{"weight_map":{"w.weight":"model.safetensors",'
    '"w.weight_scale_inv":"model.safetensors"}}\0x',
    '{"weight_map":{"\\ud800":"x.safetensors"}}',
    '{"metadata":' + "[" * 100_000, "{" * 100_000])
def test_an_index_that_is_no_map_of_names_is_refused(folder, text):
    folder.file(weight())
    hostile_index(folder, text)
    folder.refused(3, "model.safetensors.index.json")


@pytest.mark.parametrize("what", ["pipe", "device", "folder"])
def test_an_index_that_names_no_regular_file_is_refused_at_once(folder, what):
    path = folder.path / "x.safetensors"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    folder.index({"w.weight": "x.safetensors"})
    folder.refused(5, "x.safetensors")


def test_an_index_of_a_million_tensors_is_refused_in_little_memory(folder):
    folder.file(weight())
    sanitized = "DEQUANT_SANITIZED" in os.environ
    text = json.dumps({"weight_map": {f"layers.{i}": "model.safetensors"
                                      for i in range(10**5 if sanitized else 10**6)}})
    hostile_index(folder, text)
    started = time.monotonic()
    folder.refused(3, "tensor layers.0 is not in model.safetensors")
    assert time.monotonic() - started < 30
    if not sanitized:
        peak = peak_memory(folder.path, "convert", folder.path, "-o", folder.out)
        assert peak < 32 * MIB + 8 * len(text), f"{peak / len(text):.1f} bytes for each byte"


# Configurations.

@pytest.mark.parametrize(("text", "words"), [
    ("", "config.json"), ("[]", "not a JSON object"), ("{}{}", "config.json"),
    ("{}\0{}", "config.json"),
    ('{"a":' * 100_000, "deeper than 32"), ('{"a":1,"a":2}', "occurs twice"),
    ('{"a":"\\udc00"}', "config.json"), ("{" + " " * (17 * MIB) + "}", "config.json"),
    ('{"quantization_config":{"quant_method":"fp8","weight_block_size":[128]}}',
     "weight_block_size"),
    ('{"quantization_config":{"quant_method":"fp8","weight_block_size":[1e9,128]}}',
     "weight_block_size"),
    ("{" + ",".join(f'"k{i}":0' for i in range(10_001)) + "}", "10000 members"),
])
def test_a_configuration_that_is_none_is_refused(folder, text, words):
    folder.file(weight())
    (folder.path / "config.json").write_text(text)
    folder.refused(3, words)


@pytest.mark.parametrize(("method", "key"), [
    ("compressed-tensors", "config_groups"), ("modelopt", "quantized_layers"),
    ("quark", "layer_quant_config"), ("gptq", "dynamic")])
def test_keys_of_a_configuration_are_escaped(folder, method, key):
    folder.file(weight())
    numbers = {"bits": 4, "group_size": 32, "quant_algo": "MIXED_PRECISION"}
    section = {"quant_method": method, **numbers, key: {"\x1b[31m": 1}}
    folder.config({**CONFIG, "quantization_config": section})
    folder.refused(3, f"{key}: \\x1b[31m is 1, not an object")


@pytest.mark.parametrize("section", ["[]", "1", '"fp8"', "null"])
def test_a_section_that_is_no_object_does_not_hide_that_tensors_are_quantized(folder, section):
    """The tensors say what they are; nothing of the section is believed."""
    folder.file(weight())
    folder.config({**CONFIG, "quantization_config": json.loads(section)})
    folder.convert()
    assert tensors(folder.out)["w.weight"][0] == "BF16"


# Large headers.

@pytest.mark.skipif("DEQUANT_SANITIZED" in os.environ,
                    reason="SANITIZED: sanitizers take memory of their own")
def test_half_a_million_tensors_take_memory_in_proportion_to_their_header(folder):
    text = "{" + ",".join(f'"{i:06}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
                          for i in range(500_000)) + "}"
    (folder.path / "model.safetensors").write_bytes(file_of(text))
    started = time.monotonic()
    peak = peak_memory(folder.path, "convert", folder.path, "-o", folder.out, "--dry-run", "-q")
    assert peak < 32 * MIB + 12 * len(text), f"{peak / len(text):.1f} bytes for each byte"
    assert time.monotonic() - started < 30

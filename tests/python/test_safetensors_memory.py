"""Memory for the header of a safetensors file: 32 MiB and 4 bytes for each byte of the header at
most, the program included, whatever the header holds and also where it is refused."""

import itertools
import os
import string

import pytest

from safetensors_support import PROBE, file_of, verdicts
from support import peak_memory

if os.environ.get("DEQUANT_SANITIZED"):
    pytest.skip("SANITIZED: sanitizers take memory of their own", allow_module_level=True)

LETTERS = string.ascii_letters + string.digits + "-_"


def names(count, length):
    """Different names of that length."""
    return itertools.islice(map("".join, itertools.product(LETTERS, repeat=length)), count)


def metadata(count):
    return '{"__metadata__":{' + ",".join([f'"{n}":""' for n in names(count, 4)]) + "}}"


def scalars(count):
    """Entries as short as they can be."""
    return "{" + ",".join([f'"{n}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
                           for n in names(count, 4)]) + "}"


def long_shapes(count):
    shape = "0," * 63 + "1"
    return "{" + ",".join([f'"{n}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,0]}}'
                           for n in names(count, 4)]) + "}"


def one_range(count):
    return "{" + ",".join([f'"{n}":{{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}'
                           for n in names(count, 4)]) + "}"


def one_text(size):
    return '{"__metadata__":{"k":"' + "x" * size + '"}}'


def one_name(size):
    return '{"' + "n" * size + '":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'


def unfinished_text(size):
    return '{"__metadata__":{"k":"' + "x" * size


def digits(size):
    return '{"a":{"shape":[' + "9" * size


#: The text, the data, and the first word of the verdict. 2^26 bytes and a few more are the sizes at
#: which memory that doubles is twice as large as its content.
HEADERS = {
    "three million keys of metadata": (metadata, 2_900_000, b"", "ok"),
    "tensors without data": (scalars, 900_000, b"", "ok"),
    "shapes of 64 dimensions": (long_shapes, 250_000, b"", "ok"),
    "a hundred thousand tensors on one range": (one_range, 100_000, bytes(8), "malformed"),
    "one text": (one_text, (1 << 26) + 100, b"", "ok"),
    "one text of the greatest length": (one_text, 99_999_000, b"", "ok"),
    "one name": (one_name, (1 << 25) + 100, b"", "ok"),
    "a text that does not end": (unfinished_text, (1 << 26) + 100, b"", "malformed"),
    "one number": (digits, (1 << 25) + 100, b"", "malformed"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_memory_is_four_times_the_header(tmp_path, what):
    make, count, data, verdict = HEADERS[what]
    content = file_of(make(count), data)
    header = len(content) - len(data)
    assert header <= 100_000_008
    [said] = verdicts(tmp_path, [content])
    assert said.split(":")[0] == verdict
    (tmp_path / "a.safetensors").write_bytes(content)
    peak = peak_memory(tmp_path, "read", program=PROBE, input="a.safetensors\n")
    assert peak <= (32 << 20) + 4 * header, f"{peak / header:.2f} bytes for each byte"

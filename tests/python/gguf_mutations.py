"""Broken GGUF files, read by dequant and by gguf-py.

    gguf_mutations.py COUNT [SEED]      with DEQUANT_CLI set

What dequant reads, gguf-py reads, with the same tensors. What gguf-py reads and dequant refuses
breaks a rule that gguf-py does not check.
"""

import collections
import json
import os
import pathlib
import pickle
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np

from gguf_support import quantized, write

#: Words of the messages about rules that gguf-py does not check.
STRICTER = [
    r"its data begin at offset", r"its data are the bytes", r"bytes are wanted, and \d+ are left",
    r"has a zero byte", r"is not UTF-8", r"dimensions, more than 8", r"an empty key",
    r"array of arrays", r"rows of \d+ elements", r"more than 2\^63", r"was removed from GGUF",
    r"\d+ is no type of GGUF", r"pairs of metadata in a file", r"an array of \d+ elements",
    r"overflow|do not fit|too many", r"no part of a model", r"cannot be found",
    r"not a whole number from 0", r"in a big-endian file", r"no type of a value",
    r"more than 65535", r"has -?\d+ bytes of type|has \d+ numbers", r"rank",
]
EXTREMES = [0, 1, 2**31, 2**32 - 1, 2**63, 2**63 - 1, 2**64 - 1, 2**61, 2**32, 7, 8, 9, 13, 255]


def seeds(folder):
    rng = np.random.default_rng(3)
    kinds = gguf.GGUFValueType
    fields = [("x.text", "abc", kinds.STRING), ("x.list", ["a", "", "bc"], kinds.ARRAY),
              ("x.numbers", [1, 2, 3], kinds.ARRAY), ("x.u64", 5, kinds.UINT64),
              ("x.yes", True, kinds.BOOL), ("general.file_type", 7, kinds.UINT32)]
    blocks = {"a.weight": quantized("Q8_0", rng.normal(size=(2, 64))),
              "b.weight": quantized("Q4_0", rng.normal(size=(3, 32))),
              "norm": np.ones(5, np.float32)}
    plain = {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float16)}
    for i, (tensors, more) in enumerate([(blocks, {}), (blocks, {"alignment": 64}), (plain, {}),
                                         (plain, {"endianess": gguf.GGUFEndian.BIG})]):
        yield write(folder / f"seed{i}.gguf", tensors, fields, **more).read_bytes()


def mutated(rng, data):
    """The file with one to three changes, mostly of its header."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) if rng.random() < 0.1 else min(len(data), 520))
        kind = rng.randrange(7)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice([0, 1, 2, 255, 128, rng.randrange(256)])
        elif kind == 2:
            number = rng.choice(EXTREMES)
            data[at:at + 8] = struct.pack("<Q", number)
        elif kind == 3:
            data[at:at + 4] = struct.pack("<I", rng.choice(EXTREMES) % 2**32)
        elif kind == 4:
            del data[at:at + rng.choice([1, 4, 8, 32])]
        elif kind == 5:
            data[at:at] = bytes(rng.choice([1, 4, 8, 32]))
        elif rng.random() < 0.5:
            del data[at:]
        if len(data) < 30:
            break
    return bytes(data)


def by_gguf_py(path):
    """The tensors that gguf-py finds, or None where it fails, within 2 GiB and 5 seconds."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        signal.alarm(5)
        try:
            found = [(t.name, t.tensor_type.name, [int(n) for n in reversed(t.shape)],
                      int(t.data_offset)) for t in gguf.GGUFReader(path).tensors]
        except BaseException:  # noqa: any failure is one
            found = None
        with os.fdopen(written, "wb") as out:
            pickle.dump(found, out)
        os._exit(0)
    os.close(written)
    with os.fdopen(read, "rb") as into:
        data = into.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def by_dequant(path):
    """The tensors that dequant finds, or the message of its error."""
    done = subprocess.run([os.environ["DEQUANT_CLI"], "inspect", path, "--json"],
                          capture_output=True, timeout=20)
    if done.returncode == 0:
        j = json.loads(done.stdout)
        dense = [(d["names"], d["type"], d["shape"]) for d in j["dense"]]
        copied = [(d["names"], d["type"], d["shape"]) for d in j["copied"] + j["dropped"]]
        return sorted(dense + copied), None
    assert done.returncode in (3, 4, 5), (done.returncode, done.stderr)
    return None, done.stderr.decode()


def compare(path, counts):
    tensors, error = by_dequant(path)
    reference = by_gguf_py(path)
    if error is None:
        assert reference is not None, f"{path}: gguf-py does not read it"
        found = sorted((name, kind, str(shape)) for name, kind, shape, _ in reference)
        assert len(tensors) <= len(found)
        for name, kind, shape in tensors:
            if "{" in name:  # several names on one line
                continue
            assert any(kind == k and shape == s for _, k, s in found), (path, name, kind, shape)
        counts["both read it"] += 1
    elif reference is None:
        counts["both refuse it"] += 1
    else:
        rule = next((rule for rule in STRICTER if re.search(rule, error)), None)
        assert rule is not None, f"{path}: gguf-py reads it: {error}"
        counts["refused: " + rule] += 1


def run(count, seed=1):
    """Compares that many files; returns how many had each outcome."""
    counts = collections.Counter()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        originals = list(seeds(pathlib.Path(folder)))
        path = pathlib.Path(folder) / "m.gguf"
        for i in range(count):
            path.write_bytes(mutated(rng, rng.choice(originals)) if i >= len(originals)
                             else originals[i])
            try:
                compare(path, counts)
            except BaseException:
                kept = pathlib.Path(tempfile.gettempdir()) / f"gguf_finding_{seed}_{i}.gguf"
                kept.write_bytes(path.read_bytes())
                print(f"kept {kept}", file=sys.stderr)
                raise
    return counts


if __name__ == "__main__":
    for what, number in run(int(sys.argv[1]), int((sys.argv + ["1"])[2])).most_common():
        print(f"{number:8} {what}")

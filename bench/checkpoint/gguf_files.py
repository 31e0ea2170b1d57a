#!/usr/bin/env python3
"""Measures `dequant convert` of GGUF files beside a copy, and beside other programs that read them.

    bench/checkpoint/gguf_files.py --dequant build/release/dequant --in /dev/shm [--gib 1]

Writes a file of random blocks below --in for each of --types, --gib GiB of stored bytes. Then, in
turns: `dequant convert` to a safetensors file of float32, and a copy that reads and writes as many
bytes by as many threads (see folders.py). Prints medians, their ratio, and the peak of resident
memory. With --peers each of these makes the same floats once, in a process of its own whose imports
do not count:

- gguf-py: GGUFReader and quants.dequantize for each tensor, written to a file.
- ggml: a loop over the tensors that calls ggml's own C, compiled by bench/ggml/compare.py, with
  parts of each tensor on --threads threads, and writes its results to a file.
- transformers: load_gguf_checkpoint() into a state dict, which is not written.

Needs numpy; for --peers gguf, and for transformers tests/producers/requirements.txt.
"""

import argparse
import concurrent.futures
import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from folders import MIB, convert, copy, forget
from generated import GIB

ROWS, COLUMNS = 8192, 4096
#: Type -> its number, elements and bytes of a block, where the block has its float16 scales.
TYPES = {
    "Q4_0": (2, 32, 18, [0]),
    "Q8_0": (8, 32, 34, [0]),
    "Q4_K": (12, 256, 144, [0, 2]),
    "Q6_K": (14, 256, 210, [208]),
    "IQ4_XS": (23, 256, 136, [0]),
    "IQ3_S": (21, 256, 110, [0]),
}
ALIGNMENT = 32


def text(value):
    return len(value).to_bytes(8, "little") + value.encode()


def number(value, size=4):
    return value.to_bytes(size, "little")


def write_gguf(path, kind, gib):
    """Layers with one matrix each, of a llama. Returns their number."""
    numbered, elements, size, scales = TYPES[kind]
    blocks = np.random.default_rng(1).integers(0, 256, (ROWS * COLUMNS // elements, size), np.uint8)
    for at in scales:  # finite, as models have them
        blocks[:, at:at + 2] = np.frombuffer(np.float16(0.0123).tobytes(), np.uint8)
    tensors = max(1, round(gib * GIB / blocks.nbytes))
    pairs = (text("general.architecture") + number(8) + text("llama") + text("llama.block_count") +
             number(4) + number(tensors))
    header = b"GGUF" + number(3) + number(tensors, 8) + number(2, 8) + pairs
    for i in range(tensors):
        header += (text(f"blk.{i}.ffn_up.weight") + number(2) + number(COLUMNS, 8) +
                   number(ROWS, 8) + number(numbered) + number(i * blocks.nbytes, 8))
    with path.open("wb") as file:
        file.write(header + bytes(-len(header) % ALIGNMENT))
        for _ in range(tensors):
            file.write(blocks)
    return tensors


# The peers: each imports what it needs and returns a function of the input and the output.

def gguf_py(_):
    import gguf

    def run(source, target):
        with target.open("wb") as out:
            for tensor in gguf.GGUFReader(source).tensors:
                out.write(gguf.quants.dequantize(tensor.data, tensor.tensor_type))
    return run


def ggml(threads):
    import gguf
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "ggml"))
    import compare
    path = compare.libraries(["gcc"])[0]
    # What other files of ggml define, and rows do not call.
    symbols = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True,
                             check=True).stdout.split()
    stubs = path.with_name("stubs.so")
    text = "".join(f"void {s}(void) {{ __builtin_trap(); }}\n" for s in symbols
                   if s.startswith("ggml"))
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", stubs], input=text, text=True,
                   check=True)
    ctypes.CDLL(str(stubs), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(path))

    def run(source, target):
        with target.open("wb") as out, concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for tensor in gguf.GGUFReader(source).tensors:
                kind = tensor.tensor_type.name
                name = kind[:-1].lower() + "K" if kind.endswith("_K") else kind.lower()
                row = getattr(library, f"dequantize_row_{name}")
                row.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
                floats = np.empty((ROWS, COLUMNS), np.float32)
                part = -(-ROWS // threads)
                list(pool.map(lambda i, t=tensor, y=floats, f=row, n=part: f(
                    t.data[i:].ctypes.data, y[i:].ctypes.data, min(n, ROWS - i) * COLUMNS),
                    range(0, ROWS, part)))
                out.write(floats)
    return run


def transformers(_):
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    def run(source, _):
        layers = load_gguf_checkpoint(str(source))["config"]["num_hidden_layers"]
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(LlamaConfig(
                num_hidden_layers=layers, hidden_size=64, intermediate_size=64, vocab_size=32))
        loaded = load_gguf_checkpoint(str(source), return_tensors=True, model_to_load=model)
        assert len(loaded["tensors"]) == layers
    return run


PEERS = {"gguf-py": gguf_py, "ggml": ggml, "transformers": transformers}


def run_peer(name, source, target, threads):
    """In a process of its own: prints the seconds."""
    run = PEERS[name](threads)
    begin = time.monotonic()
    run(pathlib.Path(source), pathlib.Path(target))
    print(json.dumps(time.monotonic() - begin))


def hash_of(path, skip=0):
    with path.open("rb") as file:
        file.seek(skip)
        return hashlib.file_digest(file, "blake2b").digest()


def data_of(path):
    """Where the data of a safetensors file begin."""
    with path.open("rb") as file:
        return 8 + int.from_bytes(file.read(8), "little")


def measure_peers(kind, source, ours, wanted, a):
    for name in a.peers:
        target = source.parent.parent / "floats"
        forget(source.parent)
        command = [sys.executable, __file__, "--peer", name, str(source), str(target), "--threads",
                   str(a.threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=os.environ | {"OMP_NUM_THREADS": str(a.threads)})
        if done.returncode != 0:
            sys.exit(f"{name} failed: {done.stderr[-2000:]}")
        seconds = json.loads(done.stdout.splitlines()[-1])
        same = "" if not target.exists() else "equal" if hash_of(target) == wanted else "DIFFERENT"
        target.unlink(missing_ok=True)
        print(f"{kind:8} {name:12} {seconds:6.2f} s  {seconds / ours:5.1f} times as long  {same}",
              flush=True)


def measure(kind, a, program):
    with tempfile.TemporaryDirectory(dir=a.where) as temporary:
        folder = pathlib.Path(temporary, "in")
        source, target = folder / "m.gguf", pathlib.Path(temporary, "out.safetensors")
        copied = pathlib.Path(temporary, "copy")
        folder.mkdir()
        write_gguf(source, kind, a.gib)
        ours, copies, peak = [], [], 0
        for _ in range(a.rounds):
            forget(folder)
            (seconds, _, _), memory = convert(program, source, target, a.threads, "float32")
            ours.append(seconds)
            peak = max(peak, memory)
            size = target.stat().st_size
            wanted = hash_of(target, data_of(target)) if a.peers else None
            target.unlink()
            forget(folder)
            copies.append(copy([source], [size], copied, a.threads))
            shutil.rmtree(copied)
        mine, plain = statistics.median(ours), statistics.median(copies)
        print(f"{kind:8} convert {mine:6.2f} s  copy {plain:6.2f} s  ratio {mine / plain:5.2f}  "
              f"peak {peak / MIB:4.0f} MiB  {size / GIB / mine:5.2f} GiB/s written", flush=True)
        measure_peers(kind, source, mine, wanted, a)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dequant", help="the program")
    parser.add_argument("--in", dest="where", help="folder of a tmpfs or a disk")
    parser.add_argument("--gib", type=float, default=1.0, help="stored bytes of each file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--types", nargs="*", choices=TYPES, default=list(TYPES))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=[])
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.peer:
        return run_peer(*a.peer, a.threads)
    if not a.dequant or not a.where:
        parser.error("--dequant and --in are needed")
    print(f"{a.gib} GiB stored, {a.threads} threads, to float32, in {a.where}")
    for kind in a.types:
        measure(kind, a, str(pathlib.Path(a.dequant).resolve()))


if __name__ == "__main__":
    main()

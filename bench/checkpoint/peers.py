#!/usr/bin/env python3
"""Measures `dequant convert` beside the producers' own dequantizers, on the CPU.

    bench/checkpoint/peers.py --dequant build/release/dequant --in /dev/shm [--gib 2]

Writes a checkpoint of random codes below --in for each scheme, --gib GiB of stored bytes in files
of 1 GiB, and converts it: by dequant, and by each peer in a process of its own, whose imports do
not count. A peer that converts folders does it all; the functions of the others are called for each
weight of a file between safetensors' reader and writer, as scripts of users do. All have --threads
threads. Prints seconds, how many times as long as dequant the peer takes, the seconds within the
peer's function where it has one for weights, and whether all bits are equal. Needs
tests/producers/requirements.txt.
"""

import argparse
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

from folders import convert, forget
from generated import SCHEMES, write_checkpoint

#: Scheme -> the type of the dense weights, that of the peers' own functions.
DTYPES = {scheme: "bfloat16" for scheme in SCHEMES} | {"awq": "float16"}


def of_files(source, target, dense):
    """Converts files weight by weight; `dense` yields names and tensors. Seconds within it."""
    import safetensors.torch
    inside = 0.0
    target.mkdir()
    for path in sorted(source.glob("*.safetensors")):
        tensors = safetensors.torch.load_file(path)
        begin = time.monotonic()
        out = dict(dense(tensors))
        inside += time.monotonic() - begin
        safetensors.torch.save_file(out, target / path.name, {"format": "pt"})
    return inside


def modules(tensors, end):
    return [name.removesuffix(end) for name in tensors if name.endswith(end)]


# The peers: each imports what it needs and returns a function of two folders.

def transformers_fp8():
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    import torch
    op = Fp8Dequantize(None)
    return lambda source, target: of_files(source, target, lambda t: (
        (f"{m}.weight", op._dequantize_one(t[f"{m}.weight"], t[f"{m}.weight_scale_inv"],
                                           torch.bfloat16)) for m in modules(t, ".weight")))


def deepseek():
    """The formula of DeepSeek's kernel, y = x * s of the block, in torch."""
    import torch

    def dense(weight, scale):
        spread = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return (weight.float() * spread).to(torch.bfloat16)
    return lambda source, target: of_files(source, target, lambda t: (
        (f"{m}.weight", dense(t[f"{m}.weight"], t[f"{m}.weight_scale_inv"]))
        for m in modules(t, ".weight")))


def compressed_tensors(make):
    def peer():
        from compressed_tensors.entrypoints import convert as entry

        def run(source, target):
            entry.convert_checkpoint(str(source), str(target), make(entry, str(source)),
                                     max_workers=1, device="cpu")
        return run
    return peer


def gptqmodel():
    import torch
    from gptqmodel.utils.model_dequant import dequantize_model

    def run(source, target):
        dequantize_model(source, target, target_dtype=torch.bfloat16, device="cpu")
    return run


def transformers_mxfp4():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    return lambda source, target: of_files(source, target, lambda t: (
        (m, convert_moe_packed_tensors(t[f"{m}_blocks"], t[f"{m}_scales"]).contiguous())
        for m in modules(t, "_blocks")))


def autoawq():
    from awq.utils.packing_utils import dequantize_gemm
    return lambda source, target: of_files(source, target, lambda t: (
        (f"{m}.weight", dequantize_gemm(t[f"{m}.qweight"], t[f"{m}.qzeros"], t[f"{m}.scales"], 4,
                                        128).T.contiguous()) for m in modules(t, ".qweight")))


def bitsandbytes():
    from bitsandbytes.functional import QuantState, dequantize_4bit

    def dense(tensors):
        for name in modules(tensors, ".absmax"):
            parts = {k.removeprefix(name + "."): v for k, v in tensors.items()
                     if k.startswith(name + ".")}
            state = QuantState.from_dict(parts, device="cpu")
            yield name, dequantize_4bit(tensors[name], state)
    return lambda source, target: of_files(source, target, dense)


#: Scheme -> name of a peer -> the peer.
PEERS = {
    "fp8": {"transformers": transformers_fp8, "DeepSeek's formula in torch": deepseek,
            "compressed-tensors": compressed_tensors(
                lambda entry, source: entry.FP8BlockDequantizer.from_pretrained(source)),
            "GPTQModel": gptqmodel},
    "packed": {"compressed-tensors": compressed_tensors(
        lambda entry, source: entry.CompressedTensorsDequantizer(source))},
    "nvfp4": {"compressed-tensors": compressed_tensors(
        lambda entry, source: entry.CompressedTensorsDequantizer(source))},
    "gptoss": {"transformers": transformers_mxfp4},
    "gptq": {"GPTQModel": gptqmodel},
    "awq": {"AutoAWQ": autoawq},
    "nf4": {"bitsandbytes": bitsandbytes},
}


def run_peer(scheme, peer, source, target, threads):
    """In a process of its own: prints the seconds of all, and within the peer's function."""
    import torch
    torch.set_num_threads(threads)
    run = PEERS[scheme][peer]()
    begin = time.monotonic()
    inside = run(pathlib.Path(source), pathlib.Path(target))
    print(json.dumps([time.monotonic() - begin, inside]))


def measure_peer(scheme, peer, source, target, threads):
    command = [sys.executable, __file__, "--peer", scheme, peer, str(source), str(target),
               "--threads", str(threads)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{peer} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def digests(folder):
    """Name of each tensor -> type, shape and a hash of its bytes."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            start = 8 + int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(start - 8))
            header.pop("__metadata__", None)
            for name, entry in header.items():
                begin, end = entry["data_offsets"]
                file.seek(start + begin)
                data = hashlib.blake2b(file.read(end - begin)).hexdigest()
                found[name] = (entry["dtype"], entry["shape"], data)
    return found


def measure(scheme, a, program):
    with tempfile.TemporaryDirectory(dir=a.where) as temporary:
        source, target = pathlib.Path(temporary, "in"), pathlib.Path(temporary, "out")
        write_checkpoint(source, scheme, a.gib)
        seconds = []
        for i in range(a.rounds):
            forget(source)
            (clock, _, _), _ = convert(program, source, target, a.threads, DTYPES[scheme])
            seconds.append(clock)
            expected = digests(target) if i == 0 else expected
            shutil.rmtree(target)
        ours = statistics.median(seconds)
        for peer in PEERS[scheme]:
            forget(source)
            whole, inside = measure_peer(scheme, peer, source, target, a.threads)
            same = "yes" if digests(target) == expected else "NO"
            shutil.rmtree(target)
            within = f"{inside:.1f}" if inside else ""
            print(f"| {scheme} | {peer} | {ours:.2f} | {whole:.1f} | {whole / ours:.1f} | "
                  f"{within} | {same} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dequant", help="the program")
    parser.add_argument("--in", dest="where", help="folder of a tmpfs or a disk")
    parser.add_argument("--gib", type=float, default=2.0, help="stored bytes of each checkpoint")
    parser.add_argument("--rounds", type=int, default=3, help="of dequant; peers have one")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.peer:
        return run_peer(*a.peer, a.threads)
    if not a.dequant or not a.where:
        parser.error("--dequant and --in are needed")
    print(f"{a.gib} GiB stored, {a.threads} threads, in {a.where}\n")
    print("| checkpoint | peer | dequant s | peer s | times as long | in its function s | "
          "equal bits |\n|---|---|---:|---:|---:|---:|---|")
    for scheme in a.only:
        measure(scheme, a, str(pathlib.Path(a.dequant).resolve()))


if __name__ == "__main__":
    main()

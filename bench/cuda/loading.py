#!/usr/bin/env python3
"""Measures how fast a checkpoint comes from the page cache to a CUDA device, dequantized.

    loading.py --in /dev/shm                          20 GiB of FP8 blocks of random codes
    loading.py --in /tmp --gib 8 --scheme gptq --into docs/gpu.md
    loading.py --in /tmp --gib 0.03 --device cpu      the same on the CPU, to test it

Writes a checkpoint in files of 1 GiB below --in, and reads it once, so that the page cache has it.
Then, in turns, each in a process of its own, whose imports, start of the device and first tensor do
not count:

    reading   only reading all bytes of the files, by --threads threads, 8 MiB at a time
    copying   only copying as many bytes from pinned memory to the device, 8 MiB at a time
    ring      both at once, as dequant does: through its pinned buffers, without kernels
    memory    only allocating the dense tensors, as dequant and torch do
    dequant   dequant.safetensors.load_file(folder, device)
    torch     safetensors.torch.load_file(file, device) of each file, and torch's expression

The difference of `ring` from the first two is what memory of the host and calls of CUDA take; that
of `dequant` from `ring`, tensors and kernels, of which `memory` is a part. --slots, --slot-kib and
--tensors try other buffers, and other numbers of tensors side by side, than the package has. All
dense tensors of `dequant` and `torch` stay on the device until the last one is there. Prints the
medians; the share of the slower of reading and copying that `ring`, `dequant` and `torch` reach;
the peaks of memory over what was in use before: of the process, without files that are mapped and
without what a driver pins (dequant has 64 MiB of that), and of the whole device. In the end both
load file by file, and all bits are compared.

Exit codes: 0 done, 1 dequant reaches less than --share or bits differ, 2 usage, 5 the device or a
package is missing, or memory is too small for --gib.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "checkpoint")]
import tables  # noqa: E402

try:
    import generated
    import device as devices
    import dequant.safetensors
    import memory
    from dequant import _core, _device_load
    import safetensors.torch
    import schemes
    import torch
except ModuleNotFoundError as error:
    if {"-h", "--help"} & set(sys.argv):  # options need packages, the text above does not
        print(__doc__)
        raise SystemExit(0) from None
    print(f"loading: {error}: this comparison needs torch, safetensors, numpy, ml_dtypes and "
          f"dequant in the environment of {sys.executable}", file=sys.stderr)
    raise SystemExit(5) from None

STEP = 8 << 20
SLOTS = 8
#: Bytes of the dense weights for each stored byte, a little more than there are.
TIMES = {"fp8": 2.0, "gptq": 4.0}


def dense_fp8(tensors, name):
    return schemes.fp8_expression(tensors[f"{name}.weight"], tensors[f"{name}.weight_scale_inv"])


def dense_gptq(tensors, name):
    return schemes.gptq_expression(*(tensors[f"{name}.{part}"]
                                     for part in ("qweight", "qzeros", "scales", "g_idx")))


#: Scheme -> the tensor by which its modules are known, and torch's expression.
DENSE = {"fp8": (".weight_scale_inv", dense_fp8), "gptq": (".qweight", dense_gptq)}


def files_of(folder):
    return sorted(folder.glob("*.safetensors"))


def dense_of_file(path, device, scheme):
    """Name of a weight -> the floats that torch's expression gives."""
    end, dense = DENSE[scheme]
    tensors = safetensors.torch.load_file(path, device=device)
    modules = [name.removesuffix(end) for name in tensors if name.endswith(end)]
    return {f"{name}.weight": dense(tensors, name) for name in modules}


# Each way loads a folder, and returns what has to stay in memory until the time has been taken.

def reading(folder, a):
    parts = [(path, begin) for path in files_of(folder)
             for begin in range(0, path.stat().st_size, STEP)]

    def read(share):
        buffer, fd, last = bytearray(STEP), -1, None
        for path, begin in parts[share::a.threads]:
            if path != last:
                if fd >= 0:
                    os.close(fd)
                fd, last = os.open(path, os.O_RDONLY), path
            os.preadv(fd, [buffer], begin)
        if fd >= 0:
            os.close(fd)
    with concurrent.futures.ThreadPoolExecutor(a.threads) as pool:
        list(pool.map(read, range(a.threads)))


def copying(folder, a):
    size = sum(path.stat().st_size for path in files_of(folder))
    pinned = a.device != "cpu"
    sources = [torch.ones(STEP, dtype=torch.uint8, pin_memory=pinned) for _ in range(SLOTS)]
    targets = [torch.empty(STEP, dtype=torch.uint8, device=a.device) for _ in range(SLOTS)]
    a.begin()  # memory is not a part of copying
    for i, at in enumerate(range(0, size, STEP)):
        part = min(STEP, size - at)
        targets[i % SLOTS][:part].copy_(sources[i % SLOTS][:part], non_blocking=True)


def ring(folder, a):
    files = files_of(folder)
    target = torch.empty(max(path.stat().st_size for path in files), dtype=torch.uint8,
                         device=a.device)
    a.begin()
    for path in files:
        source, size = _core.file_for_device(path)
        _device_load.load_bytes(source, target[:size], a.threads)


def allocating(folder, a):
    with dequant.safetensors.safe_open(folder, "pt", a.device) as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]
    a.begin()
    return [torch.empty(shape, dtype=torch.bfloat16, device=a.device) for shape in shapes]


def by_dequant(folder, a):
    return dequant.safetensors.load_file(folder, device=a.device, threads=a.threads)


def by_torch(folder, a):
    torch.set_num_threads(a.threads)
    found = {}
    for path in files_of(folder):
        found |= dense_of_file(path, a.device, a.scheme)
    return found


WAYS = {"reading": reading, "copying": copying, "ring": ring, "memory": allocating,
        "dequant": by_dequant, "torch": by_torch}


def ways_of(device):
    return [way for way in WAYS if way != "ring" or device != "cpu"]  # which has none


def synchronize(device):
    if device != "cpu":
        torch.cuda.synchronize(device)


def warm_up(way, folder, a):
    """What a process does once: it starts the device, pins memory, loads kernels."""
    torch.zeros(1, device=a.device)
    if way in ("dequant", "ring"):
        with dequant.safetensors.safe_open(folder, "pt", a.device, threads=a.threads) as file:
            file.get_tensor(file.keys()[0])
    elif way == "torch":
        dense_of_file(files_of(folder)[0], a.device, a.scheme)
    if a.device != "cpu":
        torch.cuda.synchronize(a.device)
        torch.cuda.empty_cache()


def measured(way, folder, a):
    """Seconds, and peaks of memory, of one way in this process."""
    begin = 0.0

    def restart():
        nonlocal begin
        synchronize(a.device)
        begin = time.perf_counter()
    a.begin = restart
    with memory.Peaks(a.device) as peaks:
        warm_up(way, folder, a)
        restart()
        kept = WAYS[way](folder, a)
        synchronize(a.device)
        seconds = time.perf_counter() - begin
    del kept
    return {"way": way, "seconds": seconds, "host": peaks.host, "device": peaks.device}


def compared(folder, a):
    """The number of weights, and of those whose bits differ."""
    count = unequal = 0
    with dequant.safetensors.safe_open(folder, "pt", a.device, threads=a.threads) as ours:
        for path in files_of(folder):
            for name, theirs in dense_of_file(path, a.device, a.scheme).items():
                count += 1
                mine = ours.get_tensor(name)
                same = mine.dtype == theirs.dtype and mine.shape == theirs.shape
                unequal += not same or devices.differing(mine, theirs)[0] > 0
        assert count == len(ours.keys()), "each tensor has a counterpart"
    return {"weights": count, "unequal": unequal}


def in_a_process(way, folder, a):
    """The result of measured() or compared() from a process of its own."""
    command = [sys.executable, __file__, "--way", way, "--in", str(folder), "--device", a.device,
               "--scheme", a.scheme, "--threads", str(a.threads), "--slots", str(a.slots),
               "--slot-kib", str(a.slot_kib), "--tensors", str(a.tensors)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"loading: {way} failed")
    return json.loads(done.stdout.splitlines()[-1])


def all_ways(folder, a):
    """All results, in turns, and the comparison of bits."""
    for path in files_of(folder):  # into the page cache
        with path.open("rb") as file:
            while file.read(STEP):
                pass
    found = []
    for _ in range(a.rounds):
        for way in ways_of(a.device):
            found.append(in_a_process(way, folder, a))
            print(f"{way}: {found[-1]['seconds']:.2f} s", file=sys.stderr)
    return {"ways": found, "bits": in_a_process("compare", folder, a), "scheme": a.scheme,
            "threads": a.threads, "rounds": a.rounds, "device": devices.name_of(a.device),
            "bytes": sum(path.stat().st_size for path in files_of(folder))}


def medians(report):
    rows = report["ways"]
    seconds = {way: statistics.median(row["seconds"] for row in rows if row["way"] == way)
               for way in {row["way"] for row in rows}}
    slower = max(seconds["reading"], seconds["copying"])
    return seconds, {way: slower / seconds[way] for way in ("ring", "dequant", "torch")
                     if way in seconds}


def table(report):
    seconds, shares = medians(report)
    names = {"reading": "reading the bytes only", "copying": "copying pinned memory only",
             "ring": "both through dequant's buffers, without kernels",
             "memory": "allocating the dense tensors only",
             "dequant": "dequant.safetensors.load_file",
             "torch": "safetensors.torch.load_file and torch's expression"}
    heading = (f"{report['device']}, {report['scheme']}, {report['bytes'] / 1e9:.1f} GB stored, "
               f"{report['threads']} threads, medians of {report['rounds']}; the share is that of "
               "the slower of reading and copying:")
    lines = [textwrap.fill(heading, 100), "",
             "| what | s | GB/s stored | share | peak of the host, MiB | of the device, MiB |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for way, name in names.items():
        if way not in seconds:
            continue
        peaks = [max(row[where] for row in report["ways"] if row["way"] == way) >> 20
                 for where in ("host", "device")]
        share = f"{shares[way]:.2f}" if way in shares else ""
        lines.append(f"| {name} | {seconds[way]:.2f} | {report['bytes'] / seconds[way] / 1e9:.2f} "
                     f"| {share} | {peaks[0]} | {peaks[1]} |")
    bits = report["bits"]
    said = (f"{bits['unequal']} of {bits['weights']} weights differ" if bits["unequal"] else
            f"All {bits['weights']} weights have equal bits")
    return "\n".join([*lines, "", f"{said} by dequant and by torch's expression."])


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in", dest="where", type=pathlib.Path, required=True,
                        help="a folder for the checkpoint, with space for --gib")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu")
    parser.add_argument("--gib", type=float, default=20.0, help="stored bytes")
    parser.add_argument("--scheme", choices=DENSE, default="fp8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--slots", type=int, default=_device_load.SLOTS,
                        help="pinned buffers (default: %(default)s)")
    parser.add_argument("--slot-kib", type=int, default=_device_load.SLOT_BYTES >> 10,
                        help="KiB of each (default: %(default)s)")
    parser.add_argument("--tensors", type=int, default=_device_load.SIDE_BY_SIDE,
                        help="that dequant loads side by side (default: %(default)s)")
    parser.add_argument("--share", type=float, default=0.9, help="less has the exit code 1")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all results")
    parser.add_argument("--into", type=pathlib.Path,
                        help="a document in which to replace the table named loading")
    parser.add_argument("--way", choices=[*WAYS, "compare"], help=argparse.SUPPRESS)
    a = parser.parse_args(arguments)
    if min(a.slots, a.slot_kib, a.tensors) < 1:
        parser.error(f"--slots {a.slots}, --slot-kib {a.slot_kib} and --tensors {a.tensors}: each "
                     "is at least 1")
    return a


def main(arguments=None):
    a = parsed(arguments)
    _device_load.SLOTS, _device_load.SLOT_BYTES = a.slots, a.slot_kib << 10
    _device_load.SIDE_BY_SIDE = a.tensors
    if a.way:
        one = compared(a.where, a) if a.way == "compare" else measured(a.way, a.where, a)
        print(json.dumps(one))
        return 0
    if a.into:
        tables.replace(a.into.read_text(), "loading", "")  # no document without its lines
    if why := devices.missing(a.device) or memory.missing(a.device, a.gib, TIMES[a.scheme]):
        print(f"loading: {why}", file=sys.stderr)
        return 5
    with tempfile.TemporaryDirectory(dir=a.where) as temporary:
        folder = pathlib.Path(temporary, "model")
        generated.write_checkpoint(folder, a.scheme, a.gib)
        report = all_ways(folder, a)
    if a.json:
        a.json.write_text(json.dumps(report, indent=1) + "\n")
    if a.into:
        document = a.into.read_text()
        a.into.write_text(tables.replace(document, "loading", f"\n{table(report)}\n\n"))
    else:
        print(table(report))
    reached = medians(report)[1]["dequant"]
    if reached < a.share or report["bits"]["unequal"]:
        print(f"loading: a share of {reached:.2f}, and {a.share} is wanted; "
              f"{report['bits']['unequal']} weights differ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

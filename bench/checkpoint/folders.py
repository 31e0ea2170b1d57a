#!/usr/bin/env python3
"""Measures `dequant convert` of whole folders beside a copy of as many bytes.

    bench/checkpoint/folders.py --dequant build/release/dequant --in /dev/shm [--gib 2] [--rounds 5]

Writes checkpoints of random codes below --in, one for each scheme of SCHEMES, each of --gib GiB of
stored bytes in files of 1 GiB. Then, in turns: `dequant convert` of the folder, and a copy that
reads all files of the input and writes files as large as the output's by as many threads, 1 MiB at
a time, flushed to the disk as convert does. Before each of them the input leaves the page cache, if
it is on a disk, and memory for the output is taken once and given back. Prints the median and the
least of the seconds of both, the ratios of medians and of leasts, which other load changes less,
the least seconds of processors that dequant took outside of the operating system (user) and in it
(system), and the peak of its resident memory. Needs numpy.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from generated import GIB, SCHEMES, write_checkpoint

MIB = 1 << 20


def forget(folder):
    """Takes files out of the page cache, so that the next reader finds them on the disk."""
    os.sync()
    for path in folder.iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def fresh_memory(folder, size):
    """Takes memory for as many bytes and gives it back: a virtual machine may have returned free
    memory to its host, and whoever writes next would pay for getting it again.
    """
    path = folder / "memory"
    with path.open("wb") as file:
        for _ in range(0, size, MIB):
            file.write(bytes(MIB))
    path.unlink()


def convert(dequant, source, target, threads, dtype):
    """Seconds: of the clock, of processors outside of the operating system and in it; and the peak
    of resident memory in bytes."""
    command = [dequant, "convert", str(source), "-o", str(target), "--quiet", "-T", str(threads),
               "--dtype", dtype]
    begin = time.monotonic()
    _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
    if status != 0:
        sys.exit(f"dequant failed: {' '.join(command)}")
    seconds = time.monotonic() - begin, usage.ru_utime, usage.ru_stime
    return seconds, usage.ru_maxrss * 1024


def ranges(path, size, parts):
    """Equal ranges of a file."""
    step = -(-size // parts)
    return [(path, begin, min(begin + step, size)) for begin in range(0, size, step)]


def read(part):
    path, begin, end = part
    buffer = bytearray(MIB)
    with open(path, "rb", buffering=0) as file:
        file.seek(begin)
        while begin < end:
            begin += file.readinto(memoryview(buffer)[:min(MIB, end - begin)])


def write(part):
    path, begin, end = part
    buffer = bytes(MIB)
    fd = os.open(path, os.O_WRONLY)
    while begin < end:
        begin += os.pwrite(fd, memoryview(buffer)[:min(MIB, end - begin)], begin)
    os.fsync(fd)
    os.close(fd)


def copy(sources, sizes, target, threads):
    """Reads these files and writes files of these sizes. Seconds."""
    target.mkdir()
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for path in sources:
            list(pool.map(read, ranges(path, path.stat().st_size, threads)))
        for i, size in enumerate(sizes):
            path = target / str(i)
            with path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
            list(pool.map(write, ranges(path, size, threads)))
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dequant", required=True, help="the program")
    parser.add_argument("--in", dest="where", required=True, help="folder of a tmpfs or a disk")
    parser.add_argument("--gib", type=float, default=2.0, help="stored bytes of each checkpoint")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--only", nargs="*", choices=SCHEMES, default=list(SCHEMES))
    a = parser.parse_args()
    program = str(pathlib.Path(a.dequant).resolve())
    print(f"{a.gib} GiB stored, {a.threads} threads, to {a.dtype}, in {a.where}")
    for scheme in a.only:
        with tempfile.TemporaryDirectory(dir=a.where) as temporary:
            source, target = pathlib.Path(temporary, "in"), pathlib.Path(temporary, "out")
            write_checkpoint(source, scheme, a.gib)
            ours, copies, peak = [], [], 0
            user = system = float("inf")
            size = sum(path.stat().st_size for path in source.iterdir())
            for _ in range(a.rounds):
                forget(source)
                fresh_memory(source.parent, 4 * size)
                seconds, memory = convert(program, source, target, a.threads, a.dtype)
                ours.append(seconds[0])
                user, system = min(user, seconds[1]), min(system, seconds[2])
                peak = max(peak, memory)
                sizes = [path.stat().st_size for path in target.glob("*.safetensors")]
                shutil.rmtree(target)
                forget(source)
                fresh_memory(source.parent, 4 * size)
                copies.append(copy(sorted(source.glob("*.safetensors")), sizes, target, a.threads))
                shutil.rmtree(target)
            mine, copied = statistics.median(ours), statistics.median(copies)
            print(f"{scheme:8} convert {mine:6.2f} s  copy {copied:6.2f} s  "
                  f"ratio {mine / copied:5.2f}  least {min(ours):6.2f} {min(copies):6.2f} "
                  f"{min(ours) / min(copies):5.2f}  user {user:5.2f} system {system:5.2f}  "
                  f"peak {peak / MIB:6.0f} MiB", flush=True)


if __name__ == "__main__":
    main()

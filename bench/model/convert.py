#!/usr/bin/env python3
"""Compares the time of `dequant convert` for a whole model with the time of writing the same number
of bytes from memory to the same folder.

    bench/model/convert.py --dequant build/release/dequant
    bench/model/convert.py --dequant build/release/dequant --dir /dev/shm --size 1Gi --rounds 7

Makes an ONNX model with external data: weights of uint8 and int8 per tensor and per axis, and of
4-bit types in blocks, which are --size bytes as float32. Then alternately measures

  plain    writing the same number of bytes from a buffer in the cache to a preallocated file, in
           chunks of 256 KiB, and flushing the file like dequant
  convert  dequant convert, from start to end of the process

and prints the medians, their ratio, the time of each phase, and the peak of resident memory. The
model is in the page cache unless --cold. The folder needs free space of 1.3 times --size; all files
are removed. Needs the Python packages onnx and numpy.
"""

import argparse
import contextlib
import ctypes
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
COLUMNS = 4096
# Type of x; axis of the scales and zero points (None: per tensor); block length (0: not blocked).
KINDS = [("UINT8", None, 0), ("INT8", None, 0), ("UINT8", 0, 0), ("INT8", 0, 0), ("INT8", 1, 0),
         ("UINT4", 1, 32), ("INT4", 1, 32), ("INT4", 0, 128)]
CHUNK = MIB // 4  # bytes of one write, as in dequant
UNIT = 128 * COLUMNS * 4 * 2 * len(KINDS)  # the smallest --size
# Limit of dequant's memory besides tensor data: code, threads, the structure of the model.
BESIDES = 64 * MIB


def size(text):
    """512Mi, 4Gi or a number of bytes."""
    for suffix, unit in (("Ki", 1 << 10), ("Mi", MIB), ("Gi", 1 << 30)):
        if text.endswith(suffix):
            return int(float(text[: -len(suffix)]) * unit)
    return int(text)


class DataFile:
    """The external data file: one tensor after another, each at a multiple of 4096."""

    def __init__(self, path):
        import numpy as np
        self.name, self.file, self.rng = path.name, open(path, "wb"), np.random.default_rng(1)

    def add(self, name, element, shape, chunks):
        from onnx import TensorProto
        offset = -(-self.file.tell() // 4096) * 4096
        self.file.seek(offset)
        length = sum(self.file.write(memoryview(c).cast("B")) for c in chunks)
        tensor = TensorProto(name=name, data_type=TensorProto.DataType.Value(element), dims=shape,
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", self.name), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def codes(self, count, element):
        """Random codes of the type, in chunks of at most 16 MiB."""
        left = count // 2 if element.endswith("4") else count
        while left > 0:
            yield self.rng.bytes(min(left, 16 * MIB))
            left -= 16 * MIB

    def scales(self, count):
        return [self.rng.random(count, "float32") / 100 + 1e-4]


def make_model(path, float_bytes):
    """Makes a model of len(KINDS) * 2 weights whose DequantizeLinear outputs are float_bytes."""
    import onnx
    from onnx import TensorProto, helper
    data = DataFile(path.with_suffix(".weights"))
    rows = float_bytes // UNIT * 128
    nodes, tensors, outputs = [], [], []
    for i, (element, axis, block) in enumerate(2 * KINDS):
        scale_shape = [] if axis is None else [[rows, COLUMNS][axis]]
        if block:
            scale_shape = [rows // block, COLUMNS] if axis == 0 else [rows, COLUMNS // block]
        count = math.prod(scale_shape)
        tensors += [
            data.add(f"w{i}.x", element, [rows, COLUMNS], data.codes(rows * COLUMNS, element)),
            data.add(f"w{i}.scale", "FLOAT", scale_shape, data.scales(count)),
            data.add(f"w{i}.zero", element, scale_shape,
                     data.codes(max(count, 2), element) if count > 1 else [bytes(1)])]
        attributes = {} if axis is None else {"axis": axis,
                                              **({"block_size": block} if block else {})}
        nodes.append(helper.make_node("DequantizeLinear", [t.name for t in tensors[-3:]], [f"w{i}"],
                                      **attributes))
        outputs.append(helper.make_tensor_value_info(f"w{i}", TensorProto.FLOAT, [rows, COLUMNS]))
    data.file.close()
    graph = helper.make_graph(nodes, "weights", [], outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path)


def write_plain(folder, total):
    """Seconds to write `total` bytes from memory to a preallocated file without a name, in chunks,
    and to flush the file."""
    libc = ctypes.CDLL(None, use_errno=True)
    chunk = memoryview(os.urandom(CHUNK))
    started = time.perf_counter()
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR)
    try:
        # 1: FALLOC_FL_KEEP_SIZE, as in dequant
        libc.fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(total))
        at = 0
        while at < total:
            at += os.pwrite(fd, chunk[: total - at], at)
        os.fsync(fd)
        return time.perf_counter() - started
    finally:
        os.close(fd)


def convert(options, model, output):
    """Seconds of wall time, the report, and the peak of resident bytes."""
    command = [options.dequant, "convert", str(model), "-o", str(output),
               "--external-data", "--json", "--mem", str(options.mem), "-T", str(options.threads)]
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    report = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"dequant ended with exit code {child.returncode}")
    return wall, json.loads(report), usage.ru_maxrss * 1024


def forget(path):
    """Removes a file from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def measure(options, folder):
    model, output = folder / "model.onnx", folder / "float.onnx"
    # In a separate process: the peak of a child includes the memory of its parent at the fork.
    maker = multiprocessing.get_context("fork").Process(target=make_model,
                                                        args=(model, options.size))
    maker.start()
    maker.join()
    if maker.exitcode != 0:
        raise SystemExit("the model could not be made")
    os.sync()
    input_bytes = sum(path.stat().st_size for path in folder.iterdir())
    plain, walls, peaks, seconds, written = [], [], [], [], options.size

    def run_convert():
        nonlocal written
        for path in folder.glob("model.*"):
            if options.cold:
                forget(path)
        wall, report, peak = convert(options, model, output)
        written = report["totals"]["model_bytes_out"] + report["totals"]["data_bytes"]
        if report["totals"]["folded"] != 2 * len(KINDS) or written < options.size:
            raise SystemExit("not all of the model was converted")
        for path in folder.glob("float.*"):
            path.unlink()
        walls.append(wall)
        peaks.append(peak)
        seconds.append(report["seconds"])

    def run_plain():
        plain.append(write_plain(folder, written))

    for i in range(options.rounds + 1):  # convert and plain alternate in being first
        for run in (run_convert, run_plain) if i % 2 == 0 else (run_plain, run_convert):
            run()
    # The first round is not counted: writing the model still affects the file system.
    del plain[0], walls[0], seconds[0]
    middle = statistics.median
    return {
        "size": options.size, "written_bytes": written, "read_bytes": input_bytes,
        "cold": options.cold, "rounds": options.rounds, "threads": options.threads,
        "plain_seconds": plain, "convert_seconds": walls, "ratio": middle(walls) / middle(plain),
        "ratios": [c / p for c, p in zip(walls, plain)],
        "seconds": {key: middle(s[key] for s in seconds) for key in seconds[0]},
        "mem_bytes": options.mem, "peak_bytes": max(peaks),
        "peak_within_mem": max(peaks) <= options.mem + BESIDES}


def print_text(result):
    def rate(seconds):
        return f"{seconds:6.2f} s {result['written_bytes'] / seconds / 1e9:5.2f} GB/s"
    middle = statistics.median
    print(f"{result['size'] / 2**30:g} GiB of float32 from {result['read_bytes'] / 2**30:.2f} GiB"
          f"{', not in the page cache' if result['cold'] else ''}, median of {result['rounds']} "
          "rounds")
    print(f"plain    {rate(middle(result['plain_seconds']))}")
    print(f"convert  {rate(middle(result['convert_seconds']))}")
    print(f"ratio    {result['ratio']:.3f}, in the single rounds "
          f"{' '.join(f'{r:.2f}' for r in result['ratios'])}")
    print("phases   " + ", ".join(f"{k} {v:.2f} s" for k, v in result["seconds"].items()))
    print(f"peak     {result['peak_bytes'] / MIB:.0f} MiB resident, "
          f"{'within' if result['peak_within_mem'] else 'BEYOND'} --mem "
          f"{result['mem_bytes'] / MIB:.0f} MiB and {BESIDES // MIB} MiB for all but tensor data")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dequant", default="build/release/dequant",
                        help="the command line to measure")
    parser.add_argument("--dir", default=".", help="output folder; its file system is measured")
    parser.add_argument("--size", type=size, default=size("4Gi"), help="bytes of float32 (4Gi)")
    parser.add_argument("--rounds", type=int, default=5,
                        help="number of rounds, after one that is not counted (5)")
    parser.add_argument("--mem", type=size, default=size("1Gi"), help="--mem of dequant (1Gi)")
    parser.add_argument("--threads", type=int, default=0, help="-T of dequant (0: all)")
    parser.add_argument("--cold", action="store_true",
                        help="remove the model from the page cache first")
    parser.add_argument("--json", action="store_true", help="all numbers as one object")
    options = parser.parse_args()
    if options.size < UNIT or options.size % UNIT != 0:
        parser.error(f"--size: a multiple of {UNIT // MIB}Mi is needed")
    room, need = shutil.disk_usage(options.dir).free, int(1.35 * options.size) + MIB
    if room < need:
        raise SystemExit(f"{options.dir}: {room // MIB} MiB free, {need // MIB} MiB needed; see "
                         "--size")
    options.dequant = str(pathlib.Path(options.dequant).resolve())
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that the folder is removed
        signal.signal(number, lambda *_: sys.exit(1))
    with contextlib.suppress(KeyboardInterrupt), \
            tempfile.TemporaryDirectory(prefix="dequant-convert-", dir=options.dir) as folder:
        result = measure(options, pathlib.Path(folder))
        print(json.dumps(result, indent=2)) if options.json else print_text(result)
        return 0
    return 130


if __name__ == "__main__":
    sys.exit(main())

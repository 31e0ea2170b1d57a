#!/usr/bin/env python3
"""Compares dequant with its peers on the same tensors, and makes a table and a picture of ratios.

    compare.py                                      installs, builds, measures and prints everything
    compare.py --peers onnxruntime,numpy --sizes 256Mi --threads 1
    compare.py --render --picture docs/peers.svg    makes table and picture from stored results

A ratio is the time of the peer divided by the time of dequant: the median over pairs of consecutive
measurements. Results are stored, and only the selected peers, sizes, threads and cells are measured
again, so a comparison can be made in parts. Measurements of two threads in the caches are not
reliable under other load; the notes below the table have the load. The table is printed on stdout,
all other messages on stderr. Needs 6 GiB of memory, and for torch 8 GiB of disk.

Exit codes: 0 done, 1 dequant is slower than a peer in a cell or gives other bits, 2 usage, 5 a peer
could not be installed or failed (the other peers are measured).
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import install
import report

PEERS = ["onnxruntime", "numpy", "torch", "tensorflow", "gguf", "onednn", "xnnpack"]
ORDER = ["ONNX Runtime", "numpy", "torch dequantize", "torch decomposed", "torch compiled",
         "TensorFlow", "gguf", "oneDNN", "XNNPACK"]
SIZES = ["256Ki", "256Mi"]
COMMAND = "bench/peers/compare.py --picture docs/peers.svg"


def listed(known):
    def parse(text):
        values = text.split(",")
        for value in values:
            if value not in known:
                raise argparse.ArgumentTypeError(f"{value!r} is none of {', '.join(known)}")
        return values
    return parse


def pattern(text):
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text


def parsed():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=listed(PEERS), default=PEERS, metavar="NAME,...",
                        help=", ".join(PEERS))
    parser.add_argument("--sizes", type=listed(SIZES), default=SIZES, metavar="SIZE,...",
                        help="elements: " + ", ".join(SIZES))
    parser.add_argument("--threads", type=listed(["1", "2"]), default=["1", "2"], metavar="N,...")
    parser.add_argument("--cells", type=pattern, default="", metavar="PATTERN",
                        help="only cells whose name matches this regular expression")
    parser.add_argument("--seconds", type=float, default=3,
                        help="seconds for each cell; at least five pairs are measured (3)")
    parser.add_argument("--library", type=pathlib.Path, help="a libdequant.so, instead of a build")
    parser.add_argument("--results", type=pathlib.Path, default=install.FOLDER / "results.json",
                        help="file of stored results (build/peers/results.json)")
    parser.add_argument("--fresh", action="store_true", help="delete the stored results first")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--picture", type=pathlib.Path, default=install.FOLDER / "peers.svg")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args()


def machine(rows):
    """The processor as the system names it, and dequant's target."""
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    model = next((line.partition(":")[2].strip()
                  for line in lines if line.startswith("model name")),
                 os.uname().machine)
    target = next((row["target"] for row in rows if "target" in row), "")
    return f"{model}, {os.cpu_count()} processors, {target}"


def measure(options, python, peer, threads):
    """Measures a peer and stores each result immediately. Returns False if the peer failed."""
    command = [python, install.HERE / "measure.py", peer, "--threads", threads, "--sizes",
               ",".join(options.sizes), "--cells", options.cells, "--seconds", str(options.seconds)]
    environment = os.environ | {"OMP_NUM_THREADS": threads, "DEQUANT_PEERS": str(install.FOLDER)}
    if threads != "1":  # unbound, two threads of OpenMP may share a processor
        environment["OMP_PROC_BIND"] = "true"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            row = json.loads(line)
            said = report.ratio_text(row["ratio"]) if "ratio" in row else row["left_out"]
            print(f"{row['peer']}, {row['cell']}, {row['size']}, threads {row['threads']}: {said}",
                  file=sys.stderr)
            report.write(options.results, report.merged(report.read(options.results), [row]))
    return process.returncode == 0


def measure_all(options):
    """Measures all peers. Returns an error message for each peer that failed."""
    install.dequant(options.library)
    failed = []
    for peer in options.peers:
        try:
            python = install.python([peer])
            install.native(peer)
        except (OSError, subprocess.CalledProcessError) as error:
            failed.append(f"{peer} could not be installed: {error}")
            continue
        failed += [f"{peer} failed with {threads} threads" for threads in options.threads
                   if not measure(options, python, peer, threads)]
    return failed


def main():
    options = parsed()
    install.FOLDER.mkdir(parents=True, exist_ok=True)
    failed = []
    if options.fresh:
        options.results.unlink(missing_ok=True)
    if not options.render:
        failed = measure_all(options)
    rows = report.read(options.results)
    rows.sort(key=lambda row: (SIZES.index(row["size"]), row["threads"],
                               ORDER.index(row["peer"]) if row["peer"] in ORDER else len(ORDER)))
    measured = [row for row in rows if "ratio" in row]
    for line in failed:
        print(f"compare: {line}", file=sys.stderr)
    if not measured:
        print(f"compare: no results in {options.results}", file=sys.stderr)
        return 5
    import picture
    cells = [row["cell"] for row in sorted(rows, key=lambda row: row["place"])]
    options.picture.write_text(picture.svg(rows, cells, COMMAND, machine(rows)))
    if options.json:
        print(json.dumps({"machine": machine(rows), "rows": rows}, indent=1))
    else:
        print(report.table(rows, cells))
        print(report.notes(rows))
    worse = any(row["ratio"] < 1 or row.get("differing") for row in measured)
    return 5 if failed else 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

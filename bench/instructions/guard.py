#!/usr/bin/env python3
"""Counts the instructions of all cells under callgrind and compares them with counts.tsv.

    guard.py PROGRAM            compares; exit code 1 if a cell exceeds the margin
    guard.py PROGRAM --update   writes counts.tsv
    guard.py --self-test        tests the comparison

PROGRAM is instructions_bench. The counts do not depend on the load or the speed of the machine, so
the margin is narrow. They depend on the compiler: with another compiler than that of counts.tsv
nothing is compared. callgrind supports instructions up to AVX2, so AVX2 is the counted target.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

COUNTS = pathlib.Path(__file__).with_name("counts.tsv")
ELEMENTS = 1 << 16
MARGIN = 3.0  # percent


class Skip(Exception):
    """The reason why this machine or program cannot count instructions."""


def count(program: str) -> tuple[str, dict[str, float]]:
    """The compiler, and for each cell the instructions per element ("call/...": per call)."""
    if platform.machine() != "x86_64" or shutil.which("valgrind") is None:
        raise Skip("valgrind on x86-64 is needed; scripts/setup.sh ci installs it")
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder, "dump")
        command = ["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no",
                   "--combine-dumps=yes", f"--callgrind-out-file={dump}", program]
        run = subprocess.run(command, env=os.environ | {"DEQUANT_FORCE_TARGET": "avx2"}, text=True,
                             stdout=subprocess.PIPE, check=True)
        said = dict(line.split(" ", 1) for line in run.stdout.splitlines())
        if said["target"] != "avx2":
            raise Skip(f"the target here is {said['target']}, not avx2")
        cells = {}
        for part in dump.read_text().split("\npart: ")[1:]:
            name = re.search(r"^desc: Trigger: Client Request: (\S+)$", part, re.M)
            total = re.search(r"^(?:totals|summary): (\d+)", part, re.M)
            if name and total:
                cells[name[1]] = int(total[1]) / (1 if name[1].startswith("call/") else ELEMENTS)
    if not cells or not all(cells.values()):
        raise Skip(f"{program} was built without valgrind/callgrind.h")
    return said["compiler"], cells


def write(path: pathlib.Path, compiler: str, cells: dict[str, float]) -> None:
    lines = [f"# Instructions per element, of call/ in all; AVX2, compiler {compiler}"]
    lines += [f"{name}\t{value:.4f}" for name, value in sorted(cells.items())]
    path.write_text("\n".join(lines) + "\n")


def read(path: pathlib.Path) -> tuple[str, dict[str, float]]:
    head, *lines = path.read_text().splitlines()
    rows = (line.split("\t") for line in lines)
    return head.split("compiler ")[1], {name: float(value) for name, value in rows}


def compare(before: dict[str, float], now: dict[str, float]) -> tuple[list[str], list[str]]:
    """Messages about slower, missing and new cells, and about faster cells."""
    wrong = [f"{name}: not counted any more" for name in before.keys() - now.keys()]
    wrong += [f"{name}: not in {COUNTS.name}" for name in now.keys() - before.keys()]
    faster = []
    for name in before.keys() & now.keys():
        change = 100 * (now[name] / before[name] - 1)
        line = f"{name}: {before[name]:.3f} -> {now[name]:.3f} instructions, {change:+.1f} %"
        if change > MARGIN:
            wrong.append(line)
        elif change < -MARGIN:
            faster.append(line)
    return sorted(wrong), sorted(faster)


def self_test() -> int:
    before = {"slower": 1.0, "same": 1.0, "a little slower": 1.0, "faster": 1.0, "gone": 1.0}
    now = {"slower": 1.04, "same": 1.0, "a little slower": 1.02, "faster": 0.9, "new": 1.0}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "counts.tsv")
        write(path, "12.2.0 of a kind", before)
        compiler, before = read(path)
    wrong, faster = compare(before, now)
    found = [line.split(":")[0] for line in wrong], [line.split(":")[0] for line in faster]
    good = compiler == "12.2.0 of a kind" and found == (["gone", "new", "slower"], ["faster"])
    print("guard: self-test", "good" if good else f"found {found}")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", nargs="?", metavar="PROGRAM")
    parser.add_argument("--update", action="store_true",
                        help="write the file that is compared with")
    parser.add_argument("--against", type=pathlib.Path, default=COUNTS, metavar="FILE",
                        help="another file")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if options.program is None:
        parser.error("PROGRAM is missing")
    try:
        compiler, now = count(options.program)
        if options.update:
            write(options.against, compiler, now)
            print(f"guard: {len(now)} cells written to {options.against}")
            return 0
        made_by, before = read(options.against)
        if made_by != compiler:
            raise Skip(f"{options.against.name} is of compiler {made_by}, this is {compiler}")
    except Skip as why:
        print(f"guard: SKIPPED, nothing was compared: {why}", file=sys.stderr)
        return 1 if options.update else 0
    wrong, faster = compare(before, now)
    for line in faster:
        print(f"faster: {line}")
    for line in wrong:
        print(f"SLOWER: {line}" if "->" in line else f"WRONG: {line}")
    advice = ("; if that is meant, --update" if wrong
              else "; --update keeps the gain" if faster else "")
    print(
        f"guard: {len(now)} cells, {len(wrong)} beyond {MARGIN:g} %, {len(faster)} faster{advice}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

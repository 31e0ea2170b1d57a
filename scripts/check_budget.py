#!/usr/bin/env python3
"""Checks the limits of a build: the size of the library, and the time of each translation unit.

    check_budget.py [BUILD]        BUILD: folder of a Release build by Ninja; default build/
    check_budget.py --self-test

The check fails if code and constants of the library ("text" of `size`) exceed the limit. A
translation unit over its limit is a warning, because other programs on the machine slow the
compiler; with DEQUANT_BUDGET_STRICT=1 it is an error. Times are wall times of the last compilation
of each unit; a unit from ccache takes almost no time.
"""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

# About 60 % are kernels, each for five targets; 12 to 20 KB are one scheme of checkpoints.
TEXT_LIMIT = 2_500_000  # bytes
# On an idle machine the slowest unit takes half of this limit; the other half is for noise.
UNIT_LIMIT = 60.0  # seconds


def unit_seconds(log: str) -> dict[str, float]:
    """Object file -> seconds, from the text of a .ninja_log; the last line of a file counts."""
    seconds = {}
    for line in log.splitlines():
        fields = line.split("\t")
        if line.startswith("#") or len(fields) < 4 \
                or not fields[3].endswith((".o", ".gch", ".pch")):
            continue
        seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def text_bytes(size_output: str) -> int:
    """The sum of the text sizes of all objects, from the output of `size`."""
    return sum(int(line.split()[0]) for line in size_output.splitlines()[1:])


def check(library: str, text: int, seconds: dict[str, float], strict: bool) -> int:
    """Prints the result and returns the exit code."""
    slow = sorted((s, unit) for unit, s in seconds.items() if s > UNIT_LIMIT)
    longest = max(((s, unit) for unit, s in seconds.items()), default=(0.0, "none"))
    if text > TEXT_LIMIT:
        print(f"budget: {library} has {text} bytes of text, over {TEXT_LIMIT}", file=sys.stderr)
    for s, unit in reversed(slow):
        kind = "over budget" if strict else "WARNING"
        print(f"budget: {kind}: {unit} took {s:.1f} s, over {UNIT_LIMIT:.0f} s", file=sys.stderr)
    print(f"budget: {library} {text / 1e6:.2f} MB of {TEXT_LIMIT / 1e6:.1f} MB; {len(seconds)} "
          f"units, {sum(seconds.values()):.0f} s in all, the longest {longest[0]:.1f} s: "
          f"{longest[1]}")
    return 1 if text > TEXT_LIMIT or (strict and slow) else 0


def check_build(build: pathlib.Path, strict: bool) -> int:
    library = next((p for p in (build / "libdequant.a", build / "libdequant.so") if p.exists()),
                   None)
    if library is None or not (build / ".ninja_log").exists():
        print(f"budget: no build by Ninja in {build}", file=sys.stderr)
        return 2
    size = subprocess.run(["size", library], check=True, capture_output=True, text=True).stdout
    seconds = unit_seconds((build / ".ninja_log").read_text())
    # The log still has lines of deleted sources.
    seconds = {unit: s for unit, s in seconds.items() if (build / unit).exists()}
    return check(library.name, text_bytes(size), seconds, strict)


def self_test() -> None:
    """Tests the checks on an artificial build, with numbers at and above each limit."""
    log = ("# ninja log v5\n0\t65000\t1\ta.cc.o\tf\n5\t1005\t1\ta.cc.o\tf\n0\t60001\t1\tb.cc.o\tf\n"
           "0\t90000\t1\tgone.cc.o\tf\n0\t90000\t1\tlibdequant.a\tf\n")
    assert unit_seconds(log) == {"a.cc.o": 1.0, "b.cc.o": 60.001, "gone.cc.o": 90.0}
    size = ("   text\tdata\tbss\tdec\thex\tfilename\n"
            "  400\t1\t0\t401\t191\ta.o\n  600\t0\t0\t600\t258\tb.o\n")
    assert text_bytes(size) == 1000
    limit = {"a.cc.o": UNIT_LIMIT}
    assert check("l", TEXT_LIMIT, limit, True) == 0
    assert check("l", TEXT_LIMIT + 1, limit, False) == 1
    assert check("l", TEXT_LIMIT, {"b.cc.o": UNIT_LIMIT + 1}, False) == 0
    assert check("l", TEXT_LIMIT, {"b.cc.o": UNIT_LIMIT + 1}, True) == 1
    with tempfile.TemporaryDirectory() as root:
        build = pathlib.Path(root)
        assert check_build(build, True) == 2
        for name, text in ((".ninja_log", log), ("a.cc.o", ""), ("libdequant.a", "!<arch>\n")):
            (build / name).write_text(text)
        assert check_build(build, True) == 0
        (build / "b.cc.o").touch()
        assert check_build(build, True) == 1


def main() -> int:
    if "--self-test" in sys.argv[1:]:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self_test()
        print("budget: the self-test is good")
        return 0
    root = pathlib.Path(__file__).resolve().parent.parent
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build"
    return check_build(build, os.environ.get("DEQUANT_BUDGET_STRICT") == "1")


if __name__ == "__main__":
    sys.exit(main())

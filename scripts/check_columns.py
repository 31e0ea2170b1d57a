#!/usr/bin/env python3
"""No line of the tree has more than 100 columns, comments, docstrings and documents included.

    check_columns.py [FILE...]     all files that git knows or would take, unless some are given
    check_columns.py --self-test

Left out are files that are data (SUFFIXES), lines with an address on the web, and in Markdown what
cannot be wrapped: blocks of code and of output between ``` lines, and rows of tables.
"""

import pathlib
import subprocess
import sys

LIMIT = 100
#: JSON has no way to break a string; the others are not written by hand.
SUFFIXES = (".json", ".npy", ".onnx", ".svg")


def too_long(name: str, text: str) -> list[str]:
    """"NAME:LINE: how long it is", of each line that is over the limit."""
    found = []
    markdown = name.endswith(".md")
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if markdown and line.lstrip().startswith("```"):
            in_block = not in_block
        free = markdown and (in_block or line.lstrip().startswith(("|", "```")))
        if len(line) > LIMIT and not free and "://" not in line:
            found.append(f"{name}:{number}: {len(line)} columns, {LIMIT} at most")
    return found


def self_test() -> list[str]:
    """A long line is found in each kind of file, and only where it must not be."""
    long, block = "x " * 51, "```\n" + "x " * 51 + "\n```\n"
    cases = [("a.cc", long, 1), ("a.md", long, 1), ("a.md", block, 0), ("a.py", block, 1),
             ("a.md", block + long, 1), ("a.md", "| " + long, 0), ("a.h", "é" * 100, 0),
             ("a.sh", "# https://" + long, 0), ("CMakeLists.txt", "a\n" + long + "\n" + long, 2)]
    return [f"self-test: {len(too_long(name, text))} found in {name}, not {count}: {text!r}"
            for name, text, count in cases if len(too_long(name, text)) != count]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    names = sys.argv[1:]
    if names == ["--self-test"]:
        lines = self_test()
    else:
        if not names:
            listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
            git = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True)
            names = [name for name in git.stdout.split("\0") if name]
        lines = []
        for name in names:
            path = root / name
            if path.suffix not in SUFFIXES and path.is_file() and not path.is_symlink():
                lines += too_long(name, path.read_text())
    print("\n".join(lines) or "columns: good")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

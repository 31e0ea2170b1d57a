#!/usr/bin/env python3
"""Checks that no line of the repository has more than 100 columns.

    check_columns.py [FILE...]     without FILE: all tracked files and all untracked, unignored ones
    check_columns.py --self-test

Not checked: data files (SUFFIXES), lines with a URL, and in Markdown the lines that cannot be
wrapped: rows of tables, and blocks of code and output between ``` lines.
"""

import pathlib
import subprocess
import sys

LIMIT = 100
#: JSON strings cannot be broken into lines; the other files are not written by hand.
SUFFIXES = (".json", ".npy", ".onnx", ".svg")


def too_long(name: str, text: str) -> list[str]:
    """A message "NAME:LINE: length" for each line over the limit."""
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
    """Errors of the checker itself: each kind of file has a long line that is allowed or not."""
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

#!/usr/bin/env python3
"""Makes the command of repaired wheels find the program.

    find_program.py WHEEL...

auditwheel moves the program to the folder dequant.scripts beside the package, and leaves a script
in its place that looks for it where Python itself installs packages: not where `pip install --user`
and `--target` do.
"""

import pathlib
import sys

import wheel_files

SCRIPT = b'''#!python
"""Runs the program that is beside the package dequant."""
import os
import sys

# Of `pip install --target` the folder of packages has the folder of scripts.
target = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in [target, *sys.path]:
    program = os.path.join(folder, "dequant.scripts", "dequant")
    if os.access(program, os.X_OK):
        os.execv(program, ["dequant", *sys.argv[1:]])
sys.exit(f"dequant: no folder of sys.path has the package that {__file__} is of")
'''


def main() -> None:
    for wheel in map(pathlib.Path, sys.argv[1:]):
        name = wheel_files.folder_of(wheel, ".data/scripts/dequant")
        wheel_files.write(wheel, {name: SCRIPT})


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Adds the licenses of the libraries whose code is in a wheel to its dist-info/licenses.

    add_licenses.py WHEEL...

The texts are those of Debian's packages, which scripts/setup.sh installs, and that of nanobind,
which must be importable.
"""

import importlib.metadata
import pathlib
import sys

import wheel_files

#: Packages whose headers or libraries are compiled into, linked to, or copied into wheels.
PACKAGES = ("libcli11-dev", "libflatbuffers-dev", "libfmt-dev", "libhwy-dev", "libprotozero-dev",
            "libre2-dev", "libxxhash-dev", "nettle-dev", "nlohmann-json3-dev")
DOCUMENTS = pathlib.Path("/usr/share/doc")


def main() -> None:
    texts = {f"{name}.txt": (DOCUMENTS / name / "copyright").read_bytes() for name in PACKAGES}
    nanobind = importlib.metadata.distribution("nanobind").read_text("licenses/LICENSE")
    assert nanobind, "nanobind: no text of its license"
    texts["nanobind.txt"] = nanobind.encode()
    for wheel in map(pathlib.Path, sys.argv[1:]):
        folder = wheel_files.folder_of(wheel, ".dist-info/licenses")
        wheel_files.write(wheel, {f"{folder}/{name}": text for name, text in texts.items()})


if __name__ == "__main__":
    main()

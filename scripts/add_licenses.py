#!/usr/bin/env python3
"""Adds the licenses of the libraries whose code is in a wheel to its dist-info/licenses.

    add_licenses.py WHEEL...

The texts are those of Debian's packages, which scripts/setup.sh installs, and that of nanobind,
which must be importable.
"""

import base64
import hashlib
import importlib.metadata
import os
import pathlib
import sys
import zipfile

#: Packages whose headers or libraries are compiled into, linked to, or copied into wheels.
PACKAGES = ("libcli11-dev", "libflatbuffers-dev", "libfmt-dev", "libhwy-dev", "libprotozero-dev",
            "libre2-dev", "libxxhash-dev", "nettle-dev", "nlohmann-json3-dev")
DOCUMENTS = pathlib.Path("/usr/share/doc")


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel: pathlib.Path, texts: dict[str, bytes]) -> None:
    """Rewrites the wheel with these files."""
    changed = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, \
            zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        [record] = [name for name in old.namelist() if name.endswith(".dist-info/RECORD")]
        folder = record.removesuffix("RECORD") + "licenses/"
        lines = old.read(record).decode()
        for info in old.infolist():
            if info.filename != record:
                new.writestr(info, old.read(info), zipfile.ZIP_DEFLATED)
        for name, text in texts.items():
            new.writestr(folder + name, text)
            lines = record_line(folder + name, text) + lines
        new.writestr(old.getinfo(record), lines)
    os.replace(changed, wheel)


def main() -> None:
    texts = {f"{name}.txt": (DOCUMENTS / name / "copyright").read_bytes() for name in PACKAGES}
    nanobind = importlib.metadata.distribution("nanobind").read_text("licenses/LICENSE")
    assert nanobind, "nanobind: no text of its license"
    texts["nanobind.txt"] = nanobind.encode()
    for wheel in sys.argv[1:]:
        add(pathlib.Path(wheel), texts)


if __name__ == "__main__":
    main()

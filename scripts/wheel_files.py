"""Adds and replaces files in a wheel."""

import base64
import hashlib
import os
import pathlib
import zipfile


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def folder_of(wheel: pathlib.Path, ending: str) -> str:
    """The folder with the name and the version of the package that ends like that, as ".data"."""
    with zipfile.ZipFile(wheel) as file:
        [record] = [name for name in file.namelist() if name.endswith(".dist-info/RECORD")]
    return record.removesuffix(".dist-info/RECORD") + ending


def write(wheel: pathlib.Path, files: dict[str, bytes]) -> None:
    """Rewrites the wheel with these files. One that replaces another keeps its mode."""
    record = folder_of(wheel, ".dist-info/RECORD")
    changed = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, \
            zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        lines = [line for line in old.read(record).decode().splitlines(keepends=True)
                 if line.split(",")[0] not in files]
        for info in old.infolist():
            if info.filename in files:
                new.writestr(info, files[info.filename], zipfile.ZIP_DEFLATED)
            elif info.filename != record:
                new.writestr(info, old.read(info), zipfile.ZIP_DEFLATED)
        for name in files.keys() - set(old.namelist()):
            new.writestr(name, files[name])
        text = "".join([record_line(name, data) for name, data in files.items()] + lines)
        new.writestr(old.getinfo(record), text)
    os.replace(changed, wheel)

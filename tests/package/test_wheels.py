"""Wheels for other machines: what is done to them after auditwheel, where pip installs them, and
what the extension module shows to the process."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

import dequant

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
PROGRAM = b"#!/bin/sh\necho the program got \"$@\"\n"


@pytest.fixture(name="wheel")
def fixture_wheel(tmp_path):
    """A wheel as auditwheel leaves it, whose program is in a folder beside the package."""
    path = tmp_path / "dequant-0.1.0-py3-none-any.whl"
    files = {"dequant/__init__.py": b"", "dequant/__main__.py":
             pathlib.Path(dequant.__file__).with_name("__main__.py").read_bytes(),
             "dequant.scripts/dequant": PROGRAM,
             "dequant-0.1.0.data/scripts/dequant": b"#!python\nraise FileNotFoundError\n",
             "dequant-0.1.0.dist-info/METADATA":
             b"Metadata-Version: 2.1\nName: dequant\nVersion: 0.1.0\n",
             "dequant-0.1.0.dist-info/WHEEL":
             b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "dequant-0.1.0.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as file:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o100755 if data.startswith(b"#!") else 0o100644) << 16
            file.writestr(info, data)
        file.writestr(record, "".join(f"{name},,\n" for name in [*files, record]))
    subprocess.run([sys.executable, SCRIPTS / "find_program.py", path], check=True)
    return path


def said(*command, **env):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run([str(word) for word in command], env={**clean, **env}, check=True,
                          capture_output=True, text=True, cwd="/").stdout


def pip(*options, **env):
    said(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-index", "--no-warn-script-location", *options, **env)


def test_a_wheel_with_its_own_libraries_lost_its_program_with_target(wheel, tmp_path):
    target = tmp_path / "target"
    pip("--target", target, wheel)
    assert said(target / "bin/dequant", "a b") == "the program got a b\n"
    assert said(sys.executable, "-m", "dequant", "x", PYTHONPATH=str(target)) == \
        "the program got x\n"


def test_a_wheel_with_its_own_libraries_lost_its_program_with_user(wheel, tmp_path):
    """Python ignores the folder of a user in environments, so one is made by its path."""
    target = tmp_path / "lib"
    pip("--target", target, wheel)
    script = tmp_path / "bin/dequant"
    shutil.move(target / "bin", script.parent)
    assert said(script, "x", PYTHONPATH=str(target)) == "the program got x\n"


def test_the_extension_module_took_functions_of_a_library_in_the_process():
    """What it shows, another library can have first, of another version."""
    [module] = pathlib.Path(dequant.__file__).parent.glob("_core*.so")
    names = said("nm", "-DC", "--defined-only", module).splitlines()
    assert any(" PyInit__core" in line for line in names)
    assert not [line for line in names if "dequant" in line]

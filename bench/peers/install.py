"""Installs and builds dequant and its peers below build/: a separate Python environment, dequant as
a shared library, and a small library for each peer without a Python interface."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VENV = ROOT / "build" / "peers-venv"
FOLDER = ROOT / "build" / "peers"
DEBIAN = {"xnnpack": ["libxnnpack-dev", "libpthreadpool-dev"]}


def run(*command):
    """Runs a command with its output on stderr: stdout is for results."""
    subprocess.run(command, check=True, stdout=sys.stderr)


def requirements(peers):
    """The packages of requirements.txt for these peers. A comment after a package names the peer
    that needs it; a package without a comment is for all peers."""
    wanted = []
    for line in (HERE / "requirements.txt").read_text().splitlines():
        package, _, owner = (part.strip() for part in line.partition("#"))
        if package and (not owner or owner in peers):
            wanted.append(package)
    return wanted


def python(peers):
    """The interpreter of the environment, after installing the packages of these peers."""
    inside = VENV / "bin" / "python"
    if not inside.exists():
        run(sys.executable, "-m", "venv", str(VENV))
    wanted = requirements(peers)
    had = subprocess.run([inside, "-m", "pip", "list", "--format=freeze"], capture_output=True,
                         text=True, check=True).stdout.lower().replace("_", "-").splitlines()
    # A requirement has no local version, such as the CUDA version in the wheel of torch.
    had = [line.partition("+")[0] for line in had]
    missing = [package for package in wanted if package.lower().replace("_", "-") not in had]
    if missing:
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *missing)
    return inside


def version_of(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
                          capture_output=True, text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else ""


def debian(peer):
    """Installs the missing Debian packages of a peer."""
    missing = [package for package in DEBIAN.get(peer, []) if not version_of(package)]
    if missing:
        as_root = [] if os.geteuid() == 0 else ["sudo"]
        run(*as_root, "apt-get", "update", "-qq")
        run(*as_root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing)


def native(peer):
    """Builds the library of a peer in C or C++ if its source or its link flags have changed."""
    source, library = HERE / f"native_{peer}.cc", FOLDER / f"lib{peer}_peer.so"
    if not source.exists():
        return
    debian(peer)
    flags = {"onednn": [f"-I{VENV}/include", f"-L{VENV}/lib", "-ldnnl", f"-Wl,-rpath,{VENV}/lib"],
             "xnnpack": [f'-DXNNPACK_VERSION="{version_of("libxnnpack-dev")}"', "-lXNNPACK",
                         "-lpthreadpool"]}[peer]
    text = source.read_text() + (HERE / "native.h").read_text() + " ".join(flags)
    stamp, wanted = library.with_suffix(".stamp"), hashlib.sha256(text.encode()).hexdigest()
    if library.exists() and stamp.is_file() and stamp.read_text() == wanted:
        return
    run("g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", str(source), "-o",
        str(library), *flags)
    stamp.write_text(wanted)


def dequant(library):
    """Copies dequant's shared library: the given file, or a release build of this checkout."""
    if library is None:
        build = FOLDER / "dequant"
        run("cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            "-DBUILD_SHARED_LIBS=ON", "-DDEQUANT_TOOLS=OFF", "-DDEQUANT_INSTALL=OFF")
        run("cmake", "--build", str(build), "--target", "dequant")
        library = build / "libdequant.so"
    shutil.copy(library, FOLDER / "libdequant.so")

#!/usr/bin/env python3
"""Compares block types with ggml's own C: results bit by bit, and times in one run.

    compare.py bits  [--elements 100Mi] [TYPE ...]   random blocks of each type
    compare.py times [--pairs 15] [TYPE ...]         ggml's time divided by dequant's, as a table

ggml's source comes from the source package of llama-cpp-python on PyPI. It is downloaded to
build/ggml and compiled there by gcc and clang with -O3 -march=native, with and without fused
multiply-adds. --build names a folder with libdequant.a.
"""

import argparse
import pathlib
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "ggml"
PACKAGE = "llama-cpp-python==0.3.36"
INSIDE = "/vendor/llama.cpp/ggml/"
FLAGS = ["-O3", "-march=native", "-DNDEBUG", "-std=gnu11", "-fPIC", "-shared", "-w"]
VARIANTS = {"gcc": ["gcc"], "clang": ["clang"],
            "gcc without FMA": ["gcc", "-mno-fma"], "clang without FMA": ["clang", "-mno-fma"]}


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def source():
    """The folder with ggml's sources, after downloading it."""
    folder = FOLDER / "ggml"
    if not folder.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
            "llama-cpp-python", "--dest", FOLDER, PACKAGE)
        with tarfile.open(next(FOLDER.glob("llama_cpp_python-*.tar.gz"))) as archive:
            for member in archive:
                _, found, name = member.name.partition(INSIDE)
                if found and member.isfile() and name.startswith(("src/", "include/")):
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.extractfile(member).read())
    return folder


def libraries(names):
    """A shared library of ggml-quants.c for each of these variants."""
    ggml = source()
    built = []
    for name in names:
        compiler, *flags = VARIANTS[name]
        library = FOLDER / f"{name.replace(' ', '_')}.so"
        if not library.exists():
            run(compiler, *FLAGS, *flags, f"-I{ggml}/include", f"-I{ggml}/src",
                ggml / "src" / "ggml-quants.c", "-o", library, "-lm")
        built.append(library)
    return built


def program(build):
    """Compiles blocks.cc with the library under test."""
    out = FOLDER / "blocks"
    run("c++", "-std=c++20", "-O2", f"-I{ROOT}/include", HERE / "blocks.cc",
        build / "libdequant.a", "-o", out, "-ldl", "-lpthread")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["bits", "times"])
    parser.add_argument("types", nargs="*", metavar="TYPE")
    parser.add_argument("--elements", default="100Mi", help="of each type, for bits")
    parser.add_argument("--pairs", type=int, default=15, help="of measurements, for times")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_intermixed_args()
    names = list(VARIANTS) if options.what == "bits" else ["gcc", "clang"]
    built = libraries(names)
    number = options.elements.removesuffix("Mi")
    elements = int(number) << (20 if number != options.elements else 0)
    amount = elements if options.what == "bits" else options.pairs
    command = [program(options.build), options.what, amount, ",".join(options.types), *built]
    return subprocess.run([str(part) for part in command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the #include lines of the sources against the allowed dependencies of each folder.

    check_layering.py [--self-test]

ALLOWED lists the headers that the files of a folder may include besides those of the system. The
entry of the innermost folder applies; all folders of ALLOWED are checked. A new dependency needs a
change of ALLOWED.
"""

import pathlib
import re
import sys
import tempfile

COMMON = ("checked.h", "host_device.h", "text.h")
#: What a block type is: public, and inside the library.
BLOCK = ("dequant/block.h", "dequant/blocks.def", "block/")
ELEMENT = ("dequant/codes.h", "dequant/element.h", "dequant/elements.def", "element/")
#: Headers about model files for the command line and Python: no header of a single format.
FORMATS = ("format/formats.h", "format/io/", "format/json/", "format/model/", "format/npy/",
           "format/profile/")
TOOLS = ("dequant/", *FORMATS, "format/diff/", "conformance/", "bench/measure/", "tools/", "fmt/",
         "nettle/", "nlohmann/", "CLI/")
#: Folder or file -> beginnings of allowed headers.
ALLOWED = {
    "include": ("dequant.h", "dequant/version.h", "dequant/visibility.h"),
    "include/dequant": ("dequant/",),
    # Users have only this folder on their include path.
    "include/dequant/directml": ("own/", "DirectML.h"),
    "include/dequant/directml/own": ("enums.h", "structs.h", "types.h"),
    "src": ("dequant/", *COMMON),
    "src/element": (*ELEMENT, *COMMON),
    "src/block": (*BLOCK, *ELEMENT, *COMMON),
    "src/plan": (*ELEMENT, "dequant/block.h", "dequant/parameters.h", "dequant/plan.h",
                 "dequant/tensor.h", "plan/", *COMMON),
    "src/dialect": ("dequant/", "element/", "plan/", "dialect/", *COMMON),
    "src/kernel": (*ELEMENT, *BLOCK, "dequant/isa.h", "kernel/", "hwy/", *COMMON),
    # The only folder that includes both plan and kernel.
    "src/execute": (*ELEMENT, *BLOCK, "dequant/plan.h", "dequant/tensor.h", "dequant/executor.h",
                    "dequant/explain.h", "dequant/isa.h", "plan/", "kernel/", "execute/", *COMMON),
    # The C API wraps the public headers, and passes tasks to executors of its users.
    "src/c_api": ("dequant.h", "dequant/", "c_api/", "execute/tasks.h", *COMMON),
    # Kernels of devices share the arithmetic of the reference, but not the library's vector code.
    "cuda": ("dequant/", "dequant_cuda.h", *ELEMENT, *BLOCK, "plan/packing.h", "plan/ranges.h",
             "cuda/plan/", "cuda/thread/", "cuda/kernel_launch.cuh", "cuda/launch.h",
             "cuda_runtime_api.h", "cuda_bf16.h", "cuda_fp16.h", *COMMON),
    # formats.cc includes every format. Other folders include formats.h and FORMATS only.
    "format": ("dequant/", "format/"),
    "format/io": ("dequant/", "format/io/", "fmt/", "nettle/", "xxhash.h"),
    "format/json": ("dequant/", "format/io/", "format/json/", "fmt/", "nlohmann/"),
    "format/npy": ("dequant/", "format/io/", "format/npy/", "fmt/"),
    "format/safetensors": ("dequant/", "format/io/", "format/safetensors/", "fmt/"),
    "format/profile": ("dequant/", "format/io/", "format/profile/"),
    "format/model": ("dequant/", "format/io/", "format/json/", "format/model/",
                     "format/profile/", "fmt/", "nlohmann/"),
    "format/dense": ("dequant/", "format/io/", "format/json/", "format/model/",
                     "format/safetensors/", "format/dense/", "fmt/", "nlohmann/"),
    "format/checkpoint": ("dequant/", "format/dense/", "format/io/", "format/json/",
                          "format/model/",
                          "format/safetensors/", "format/checkpoint/", "fmt/", "nlohmann/", "re2/"),
    "format/gguf": ("dequant/", "format/dense/", "format/io/", "format/json/", "format/model/",
                    "format/safetensors/", "format/gguf/", "fmt/", "nlohmann/"),
    "format/tflite": ("dequant/", "format/dense/", "format/io/", "format/model/",
                      "format/profile/", "format/safetensors/", "format/tflite/", "flatbuffers/",
                      "fmt/", "nlohmann/"),
    "format/diff": ("dequant/", "format/diff/", "format/io/", "format/model/", "fmt/"),
    # A format includes the common interface, and no other format.
    "format/onnx": ("dequant/", "format/dense/", "format/io/", "format/model/", "format/profile/",
                    "format/onnx/", "fmt/", "nlohmann/", "protozero/", "xxhash.h"),
    # The library of model files wraps what all formats have; its C API checks arguments as the
    # core's does.
    "model_library": ("dequant.h", "dequant/", "c_api/boundary.h", "format/formats.h",
                      "format/io/", "format/model/", "model_library/"),
    # Conformance code reads and writes files; format/ does not include conformance/.
    "conformance": ("dequant/", "conformance/", "format/io/", "format/json/", "format/npy/", "fmt/",
                    "nlohmann/"),
    # Each node test of ONNX has a model, which is evaluated.
    "conformance/cases": ("dequant/", "conformance/cases/", "conformance/directml/", "format/io/",
                          "format/json/", "format/onnx/evaluate.h", "fmt/", "nlohmann/"),
    # Benchmarks include public headers only, as users do.
    "bench/measure": ("dequant/", "bench/measure/", "hwy/"),
    "bench": ("dequant/", "bench/measure/", "benchmark/"),
    "bench/cuda": ("dequant/", "bench/measure/", "copy.h", "cuda_runtime_api.h", "nlohmann/",
                   "CLI/"),
    "bench/instructions": ("dequant/", "valgrind/"),
    "bench/peers": ("native.h", "oneapi/", "xnnpack.h"),
    "bench/small": ("dequant/", "growth.h", "loops.h", "timing.h"),
    "tools": TOOLS,
    # `dequant run` evaluates ONNX nodes; no other format has nodes.
    "tools/run.cc": (*TOOLS, "format/onnx/evaluate.h"),
    "python/core": ("dequant/", *FORMATS, "conformance/directml/", "python/core/", "nanobind/"),
    # The module of CUDA devices; of the other module what both must agree on.
    "python/cuda": ("dequant/", "cuda/device/", "python/core/device_call.h", "python/core/dlpack.h",
                    "python/core/raise.h", "python/core/unlocked.h", "python/cuda/", "nanobind/"),
    "cuda/c_api.cc": ("dequant_cuda.h", "dequant/", "c_api/", *COMMON),
    # Operations of devices, and loading model files onto one, above the kernels.
    "cuda/device": ("dequant/", "cuda/device/", "cuda_runtime_api.h", "format/io/",
                    "format/model/"),
    # Fuzz targets include entry points for external data, not the functions behind these.
    "fuzz": ("dequant.h", "dequant/", "format/", "conformance/", "fuzz/", "flatbuffers/",
             "fmt/"),
}
SUFFIXES = (".h", ".hpp", ".c", ".cc", ".def", ".cu", ".cuh")
#: Headers of C, POSIX, Linux and the compiler that any file may include, like those of C++, which
#: have no ending.
SYSTEM = {"cpuid.h", "dlfcn.h", "fcntl.h", "fnmatch.h", "immintrin.h", "linux/openat2.h",
          "malloc.h", "pthread.h", "sched.h", "stddef.h", "stdint.h", "sys/auxv.h", "sys/file.h",
          "sys/ioctl.h", "sys/mman.h", "sys/resource.h", "sys/stat.h", "sys/statvfs.h",
          "sys/syscall.h", "unistd.h", "xmmintrin.h"}
CPP = re.compile(r"^[a-z_]+$")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def is_system(header: str) -> bool:
    return header in SYSTEM or CPP.match(header) is not None


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for folder in sorted({name.split("/")[0] for name in ALLOWED}):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            where = path.relative_to(root)
            home = next((str(p) for p in (where, *where.parents) if str(p) in ALLOWED), None)
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match is None or (match[1] == "<" and is_system(match[2])):
                    continue
                if home is None or not match[2].startswith(ALLOWED[home]):
                    found.append(f"{where}:{number}: {home or where.parent} may not include "
                                 f"{match[2]}")
    return found


def self_test() -> list[str]:
    """Files in which the checker is wrong: each has a forbidden and an allowed include."""
    cases = {
        "src/kernel/a.cc": ('#include "dequant/plan.h"', '#include "kernel/kernel.h"'),
        "src/kernel/b.cc": ('#include "plan/scale_spans.h"', "#include <vector>"),
        "src/kernel/c.cc": ("#include <xxhash.h>", "#include <immintrin.h>"),
        "src/plan/a.cc": ('#include "kernel/kernel.h"', '#include "element/codes.h"'),
        "src/element/a.h": ('#include "plan/scale_spans.h"', '#include "dequant/element.h"'),
        "src/dialect/a.cc": ('# include "execute/chunk.h"', '#include "dequant/onnx.h"'),
        "src/execute/a.cc": ('#include "dialect/axis.h"', '#include "kernel/kernel.h"'),
        "include/a.h": ('#include "dequant/plan.h"', '#include "dequant/version.h"'),
        "src/c_api/a.cc": ('#include "plan/scale_spans.h"', '#include "dequant.h"'),
        "src/a.cc": ("#include <fmt/format.h>", "#include <sys/stat.h>"),
        "src/new/a.cc": ('#include "kernel/kernel.h"', '#include "dequant/status.h"'),
        "cuda/a.cu": ('#include "kernel/kernel.h"', '#include "block/codecs.h"'),
        "format/a.cc": ('#include "element/codes.h"', '#include "format/io/file.h"'),
        "format/onnx/a.cc": (
            '#include "conformance/cases/cases.h"', '#include "format/io/file.h"'),
        "model_library/a.cc": ('#include "plan/scale_spans.h"', '#include "format/formats.h"'),
        "conformance/a.cc": ('#include "format/onnx/wire.h"', '#include "format/json/json.h"'),
        "conformance/cases/a.cc": (
            '#include "format/onnx/wire.h"', '#include "format/onnx/evaluate.h"'),
        "conformance/cases/b.cc": (
            '#include "conformance/vectors/vectors.h"', '#include "conformance/cases/cases.h"'),
        "fuzz/a.cc": ('#include "plan/scale_spans.h"', '#include "fuzz/support/cursor.h"'),
        "bench/measure/a.cc": ('#include "kernel/kernel.h"', '#include "hwy/highway.h"'),
        "format/model/a.cc": ('#include "format/onnx/model.h"', '#include "format/io/file.h"'),
        "format/onnx/a.cc": ('#include "format/gguf/read.h"', '#include "format/model/tensor.h"'),
        "tools/b.cc": ('#include "format/onnx/evaluate.h"', '#include "format/formats.h"'),
        "tools/run.cc": ('#include "format/onnx/model.h"', '#include "format/onnx/evaluate.h"'),
        "tools/a.cc": ('#include "plan/scale_spans.h"', "#include <CLI/CLI.hpp>"),
        "python/core/a.cc": ('#include "plan/scale_spans.h"', "#include <nanobind/nanobind.h>"),
        "include/dequant/a.hpp": ('#include "kernel/kernel.h"', '#include "dequant/plan.h"'),
        "bench/a.cc": ('#include "kernel/kernel.h"', "#include <benchmark/benchmark.h>"),
        "include/dequant/a.h": ('#include "text.h"', '#include "dequant/plan.h"'),
    }
    with tempfile.TemporaryDirectory() as root:
        for name, lines in cases.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines))
        found = [line.split(": ")[0] for line in violations(pathlib.Path(root))]
    expected = [f"{name}:1" for name in cases]
    return sorted(set(found) ^ set(expected))


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    lines = self_test() if "--self-test" in sys.argv[1:] else violations(root)
    print("\n".join(lines) or "layering: good")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

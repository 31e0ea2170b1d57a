"""include/dequant/directml/DirectML.h as users meet it: code written for DirectML compiles against
it unchanged, in C and C++, and it stands aside where DirectML's own header is."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
USERS = ROOT / "tests" / "install" / "directml"
INCLUDE = ROOT / "include"
OURS = INCLUDE / "dequant" / "directml"

C = [c for c in ("gcc", "clang-14") if shutil.which(c)]
CXX = [c for c in ("g++", "clang++-14") if shutil.which(c)]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

# What DirectML's own header is recognized by, and something that ours has not.
REAL = "#ifndef DIRECTML_H\n#define DIRECTML_H\n#define THE_REAL_ONE 1\n{}#endif\n"
PROBE = ("#if !defined(THE_REAL_ONE) || defined(DML_TARGET_VERSION)\n"
         "#error not the real one\n#endif\n")
OURS_PROBE = "#if defined(THE_REAL_ONE) || !defined(DML_TARGET_VERSION)\n#error not ours\n#endif\n"


def compiled(compiler, language, source, *flags):
    """The finished compiler process for a source text or file."""
    command = [compiler, f"-std={language}", *WARNINGS, *map(str, flags)]
    if isinstance(source, pathlib.Path):
        return subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True)
    kind = "c" if language.startswith("c1") else "c++"
    return subprocess.run([*command, "-fsyntax-only", "-x", kind, "-"], input=source,
                          capture_output=True, text=True)


def good(process):
    return process.returncode == 0 or pytest.fail(process.stderr, pytrace=False)


VERSIONS = ["", "-DDML_TARGET_VERSION=0x6400", "-DDML_TARGET_VERSION=0x6300",
            "-DDML_TARGET_VERSION=0x6200", "-DDML_TARGET_VERSION=0x3000"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compiler", C)
def test_c_users_compile(compiler, version, tmp_path):
    program = tmp_path / "fill"
    subprocess.run([compiler, "-std=c11", *WARNINGS, *version.split(), "-I", OURS, USERS / "fill.c",
                    "-o", program], check=True)
    subprocess.run([program], check=True)


@pytest.mark.parametrize("language, version",
                         [("c++14", ""), ("c++20", ""), *(("c++17", v) for v in VERSIONS)])
@pytest.mark.parametrize("compiler", CXX)
def test_cpp_users_compile(compiler, version, language, tmp_path):
    program = tmp_path / "fill"
    subprocess.run([compiler, f"-std={language}", *WARNINGS, *version.split(), "-I", OURS,
                    USERS / "fill.cc", "-o", program], check=True)
    subprocess.run([program], check=True)


@pytest.mark.parametrize("compiler", CXX)
@pytest.mark.parametrize("name", ["DML_TENSOR_DATA_TYPE_INT4", "DML_QUANTIZATION_TYPE_SCALE",
                                  "DML_OPERATOR_DEQUANTIZE",
                                  "sizeof(DML_DEQUANTIZE_OPERATOR_DESC)"])
def test_names_come_with_their_version(compiler, name):
    source = f"#include <DirectML.h>\nstatic_assert({name} > 0, \"\");\n"
    good(compiled(compiler, "c++17", source, "-I", OURS, "-DDML_TARGET_VERSION=0x6300"))
    old = compiled(compiler, "c++17", source, "-I", OURS, "-DDML_TARGET_VERSION=0x6200")
    assert old.returncode != 0


@pytest.mark.parametrize("compiler, language",
                         [(c, "c11") for c in C] + [(c, "c++17") for c in CXX])
class TestTheRealHeader:
    """A real header, which ours must give way to wherever it stands."""

    @pytest.fixture
    def real(self, tmp_path):
        (tmp_path / "DirectML.h").write_text(REAL.format(""))
        return tmp_path

    def test_wins_when_it_is_later_on_the_path(self, compiler, language, real):
        good(compiled(compiler, language, f"#include <DirectML.h>\n{PROBE}int used;\n",
                      "-I", OURS, "-I", real))

    def test_wins_when_it_is_earlier_on_the_path(self, compiler, language, real):
        good(compiled(compiler, language,
                      f'#include "dequant/directml/DirectML.h"\n{PROBE}int used;\n',
                      "-I", real, "-I", INCLUDE))

    def test_wins_when_it_was_included_before(self, compiler, language, real):
        source = (f'#include "{real}/DirectML.h"\n#include "dequant/directml/DirectML.h"\n'
                  f"{PROBE}int used;\n")
        good(compiled(compiler, language, source, "-I", INCLUDE))

    def test_is_not_looked_for_on_request(self, compiler, language, real):
        good(compiled(compiler, language, f"#include <DirectML.h>\n{OURS_PROBE}",
                      "-I", OURS, "-I", real, "-DDEQUANT_DIRECTML_OWN"))

    def test_is_not_needed(self, compiler, language, real):
        for source in ("<DirectML.h>", '"dequant/directml/DirectML.h"'):
            good(compiled(compiler, language, f"#include {source}\n{OURS_PROBE}",
                          "-I", OURS, "-I", INCLUDE))


@pytest.mark.parametrize("compiler, language",
                         [(c, "c11") for c in C] + [(c, "c++17") for c in CXX])
@pytest.mark.parametrize("before", [True, False])
def test_the_same_types_may_come_from_elsewhere(compiler, language, before):
    """As DirectX-Headers define them for Linux."""
    others = ("#include <stdint.h>\n"
              "typedef uint32_t UINT32, UINT, ULONG, DWORD;\ntypedef uint64_t UINT64, ULONG_PTR;\n"
              "#define interface struct\n"
              "#ifdef __cplusplus\ninterface ID3D12Resource;\n#endif\n"
              "typedef interface ID3D12Resource ID3D12Resource;\n"
              "#define DEFINE_ENUM_FLAG_OPERATORS(T)\n")
    include = "#include <DirectML.h>\n"
    good(compiled(compiler, language, others + include if before else include + others, "-I", OURS))


def test_the_library_compiles_the_same_beside_a_real_header(tmp_path):
    """The library's own sources never need the system's header, even an old one."""
    (tmp_path / "DirectML.h").write_text(REAL.format("#error the library must not read this\n"))
    for source in ("directml.cc", "directml_names.cc", "directml_operators.cc",
                   "directml_tensor.cc"):
        good(compiled(CXX[0], "c++20", ROOT / "src" / "dialect" / source,
                      "-I", tmp_path, "-I", INCLUDE, "-I", ROOT / "src"))

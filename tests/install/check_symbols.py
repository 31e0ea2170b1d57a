"""The shared library shows what the public headers mark with DEQUANT_EXPORT, and nothing else.

    check_symbols.py INCLUDE_DIR LIBRARY
"""

import pathlib
import re
import subprocess
import sys

NAMESPACE = re.compile(r"^namespace (dequant[\w:]*) \{")
FUNCTION = re.compile(r"^DEQUANT_EXPORT [^(]*?(\w+)\(")
CLASS = re.compile(r"^class DEQUANT_EXPORT (\w+)")
# Emitted wherever templates of the standard library are used; the linker merges them.
FOREIGN = re.compile(
    r"^(((typeinfo|typeinfo name|vtable|guard variable|VTT) for )?"
    r"(std|__gnu_cxx|void std|bool std|decltype)\b.*|_fini|_init)"
)


def promised(headers: pathlib.Path) -> tuple[set[str], set[str]]:
    """The functions and the classes that the headers mark, with their namespaces; C has none."""
    functions, classes = set(), set()
    for header in (headers / "dequant.h", *sorted(headers.glob("dequant/*.h"))):
        namespace = ""
        for line in header.read_text().splitlines():
            if match := NAMESPACE.match(line):
                namespace = match[1]
            elif match := FUNCTION.match(line):
                functions.add(f"{namespace}::{match[1]}".removeprefix("::"))
            elif match := CLASS.match(line):
                classes.add(f"{namespace}::{match[1]}")
    return functions, classes


def shown(library: str) -> set[str]:
    """The names that the library defines for others, without parameters and ABI tags."""
    output = subprocess.run(
        ["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    lines = (line.split(maxsplit=2) for line in output.splitlines())
    return {re.sub(r"(\[abi:\w+\])?(\(.*)?(@.*)?$", "", name) for _, _, name in lines}


def main() -> int:
    functions, classes = promised(pathlib.Path(sys.argv[1]))
    names = shown(sys.argv[2])
    missing = functions - names
    surplus = {
        name
        for name in names - functions
        if not FOREIGN.match(name)
        and not any(re.search(rf"\b{c}(::|$)", name) for c in classes)
    }
    for name in sorted(missing):
        print(f"promised but not shown: {name}")
    for name in sorted(surplus):
        print(f"shown but not promised: {name}")
    both = {"::" in name for name in functions} == {True, False}
    if not both:
        print("no DEQUANT_EXPORT found in the headers of C, or of C++")
    return 1 if missing or surplus or not both else 0


if __name__ == "__main__":
    sys.exit(main())

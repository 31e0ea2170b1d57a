"""The shared libraries show what the public headers mark with DEQUANT_EXPORT, and nothing else.

    check_symbols.py INCLUDE_DIR LIBRARY LIBRARY_OF_MODEL_FILES
"""

import pathlib
import re
import subprocess
import sys

NAMESPACE = re.compile(r"^namespace (dequant[\w:]*) \{")
FUNCTION = re.compile(r"^(?:\[\[noreturn\]\] )?DEQUANT_EXPORT [^(]*?(\w+)\(")
CLASS = re.compile(r"^class DEQUANT_EXPORT (\w+)")
# Emitted wherever templates of the standard library are used; the linker merges them.
FOREIGN = re.compile(
    r"^(((typeinfo|typeinfo name|vtable|guard variable|VTT) for )?"
    r"(std|__gnu_cxx|void std|bool std|decltype)\b.*|_fini|_init)"
)


#: Functions of dequant.h in the library of model files.
OF_MODELS = re.compile(r"^dequant_(model_\w+|text_free)$")


def promised(headers: list[pathlib.Path]) -> tuple[set[str], set[str]]:
    """The functions and the classes that the headers mark, with their namespaces; C has none."""
    functions, classes = set(), set()
    for header in headers:
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


def differences(functions: set[str], classes: set[str], library: str) -> bool:
    """Prints what a library lacks of these, and what it shows beside them."""
    names = shown(library)
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
    return bool(missing or surplus or not both)


def main() -> int:
    headers = pathlib.Path(sys.argv[1])
    model = headers / "dequant/model.h"
    others = [h for h in sorted(headers.glob("dequant/*.h")) if h != model]
    in_c, _ = promised([headers / "dequant.h"])
    in_core, classes = promised(others)
    in_model, model_classes = promised([model])
    of_models = {name for name in in_c if OF_MODELS.match(name)}
    core = differences(in_core | in_c - of_models, classes, sys.argv[2])
    # The classes of the core are inline, so that the library of model files has parts of them too.
    model_differs = differences(in_model | of_models, model_classes | classes, sys.argv[3])
    return 1 if core or model_differs else 0


if __name__ == "__main__":
    sys.exit(main())

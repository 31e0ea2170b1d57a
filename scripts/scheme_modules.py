#!/usr/bin/env python3
"""Writes the Python module and the stub of every scheme of checkpoints but those of OWN, from the
package's list.

    scheme_modules.py [--check]    --check: writes nothing; fails if a file would change

Run it with build/venv/bin/python after scripts/wheel.sh, when a scheme is new or has another tensor
or option.
"""

import pathlib
import sys

from dequant._core import SCHEMES

#: Schemes whose modules are written by hand.
OWN = ["gguf"]

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "python" / "dequant"

MODULE = '''"""Checkpoints of {summary}

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("{scheme}")
'''

STUB = '''# Written by scripts/scheme_modules.py.
from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy.typing as npt
import torch

from ._typing import DType, Option, Tensor, Writable

__all__ = ["dequantize"]

_Out = TypeVar("_Out", bound=Writable)
'''

OVERLOAD = '''
@overload
def dequantize(
{parameters}
    dtype: DType | None = None,
    out: {out},
    threads: SupportsIndex | None = None,
    like: {like},
) -> {result}: ...
'''

#: Type of `out`, type of `like`, type of the result.
RESULTS = [("_Out", "None = None", "_Out"),
           ("None = None", 'Literal["torch"]', "torch.Tensor"),
           ("None = None", 'Literal["numpy"] | None = None', "npt.NDArray[Any]")]


def parameters(scheme: str) -> str:
    """The lines of the tensors and options of a scheme."""
    tensors, required, options, _ = SCHEMES[scheme]
    lines = [f"    {name}: Tensor," if name in required else f"    {name}: Tensor | None = None,"
             for name in tensors]
    lines += ["    *,", *(f"    {name}: Option | None = None," for name in options)]
    return "\n".join(lines)


def texts() -> dict[pathlib.Path, str]:
    """Every file with its text."""
    out = {}
    for scheme, (_, _, _, description) in SCHEMES.items():
        if scheme in OWN:
            continue
        summary = description.splitlines()[0]
        out[FOLDER / f"{scheme}.py"] = MODULE.format(scheme=scheme, summary=summary)
        stub = STUB
        for result_type, like, result in RESULTS:
            stub += OVERLOAD.format(parameters=parameters(scheme), out=result_type, like=like,
                                    result=result)
        out[FOLDER / f"{scheme}.pyi"] = stub
    return out


def main() -> int:
    different = [path for path, text in texts().items()
                 if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in different:
            print(f"{path.name}: is not what scripts/scheme_modules.py writes", file=sys.stderr)
        return 1 if different else 0
    for path in different:
        path.write_text(texts()[path])
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

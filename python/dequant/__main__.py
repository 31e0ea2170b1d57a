"""`python -m dequant` runs the program dequant, which is installed in the folder of scripts, or by
wheels with their own libraries beside the package."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata


def _candidates() -> Iterator[str]:
    """Possible paths of the program: beside the package, the path in the package's metadata, then
    the folders of scripts."""
    name = "dequant" + (sysconfig.get_config_var("EXE") or "")
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(packages, "dequant.scripts", name)
    try:
        files = metadata.files("dequant") or ()
        yield from (str(file.locate()) for file in files if file.name == name)
    except metadata.PackageNotFoundError:
        pass
    yield os.path.join(sysconfig.get_path("scripts"), name)
    yield os.path.join(os.path.dirname(sys.executable), name)


def main() -> None:
    for path in _candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            os.execv(path, ["dequant", *sys.argv[1:]])
    sys.exit("dequant: the command is not installed with this package")


if __name__ == "__main__":
    main()

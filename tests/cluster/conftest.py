"""Tests of recipes and of Ray on real engines; scripts/cluster_test.sh runs them."""

import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "python"))

from cluster_support import Place  # noqa: E402


@pytest.fixture(name="place")
def place(tmp_path):
    cli = pathlib.Path(sys.executable).parent / "dequant"
    return Place(tmp_path, cli if cli.exists() else shutil.which("dequant"))

"""What is tested here is the installed package, never the folder that it is made from."""

import pathlib
import sys

import numpy as np
import pytest

import dequant
from device_support import fixture_cuda, fixture_fake_torch, fixture_host  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "python"

# The formulas that the tests of the command line use, written independently of dequant.
sys.path.append(str(HERE.parent / "python"))


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run what takes a minute or more, too")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="SLOW: it runs with --slow"))


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes a minute or more; runs with --slow")
    if SOURCE in pathlib.Path(dequant.__file__).resolve().parents:
        pytest.exit(f"{dequant.__file__} is the source of the package: install it, and take "
                    "python/ off the path", 2)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch",
                               reason="NO TORCH: what is said of its tensors is not tested")


@pytest.fixture(scope="session")
def onnxruntime():
    return pytest.importorskip("onnxruntime", reason="NO ONNX RUNTIME: its bits are not compared")

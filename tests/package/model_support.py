"""What the tests of model files share: models made by hand, numpy formulas, the shared models."""

import os
import pathlib
import shutil
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/python"))  # whose models and formulas know nothing of the package

SHARED = pathlib.Path(os.environ.get("DEQUANT_SHARED", ROOT.parent / "shared"))
MODELS = sorted((SHARED / "models").glob("*.onnx"))
CLI = os.environ.get("DEQUANT_CLI") \
    or shutil.which("dequant", path=os.path.dirname(sys.executable)) or "dequant"

MISSING = pytest.mark.skip(reason=f"SHARED FILES MISSING: no models in {SHARED}")
shared_models = pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem) for p in MODELS] or [pytest.param(None, marks=MISSING)])




def assert_same_bits(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()

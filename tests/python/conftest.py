"""Fixtures: files of ../shared, which not every checkout has."""

import os
import pathlib

import pytest

SHARED = os.environ.get("DEQUANT_SHARED", "")


@pytest.fixture(scope="session")
def shared():
    """The folder of shared models and conformance cases; tests that need it are skipped without
    it."""
    folder = pathlib.Path(SHARED)
    if not SHARED or not folder.is_dir():
        pytest.skip(f"SHARED FILES MISSING: DEQUANT_SHARED={SHARED!r} is no folder")
    return folder

"""Fixtures: files of ../shared, which not every checkout has."""

import os
import pathlib

import pytest

SHARED = os.environ.get("DEQUANT_SHARED", "")

# These judge numbers and texts on plain input, which no sanitizer changes, and take a slow program
# minutes; what reads hostile input runs under sanitizers too.
if os.environ.get("DEQUANT_SANITIZED"):
    collect_ignore = ["test_bench.py", "test_bench_model.py", "test_bench_tables.py", "test_convert_large.py",
                      "test_convert_types.py", "test_directml_header.py", "test_docs.py",
                      "test_inspect_browser.py", "test_lossless.py", "test_op_directml.py",
                      "test_op_tensorflow.py", "test_peers.py", "test_readme_table.py",
                      "test_tensorflow.py", "test_tensorflow_documented.py", "test_vectors.py",
                      "test_vectors_catch.py"]


def pytest_collection_modifyitems(items):
    """Graphs of 10^5 nodes and more show that time and memory grow as a line, which sanitizers change;
    smaller ones go the same ways."""
    if os.environ.get("DEQUANT_SANITIZED"):
        items[:] = [i for i in items
                    if not i.name.startswith(("test_large_graphs_take_seconds[10^5",
                                              "test_large_graphs_take_seconds[10^6"))]


@pytest.fixture(scope="session")
def shared():
    """The folder of shared models and conformance cases; tests that need it are skipped without
    it."""
    folder = pathlib.Path(SHARED)
    if not SHARED or not folder.is_dir():
        pytest.skip(f"SHARED FILES MISSING: DEQUANT_SHARED={SHARED!r} is no folder")
    return folder

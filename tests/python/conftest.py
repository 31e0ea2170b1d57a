"""Fixtures: files of ../shared, which not every checkout has."""

import os
import pathlib
import signal

import pytest

SHARED = os.environ.get("DEQUANT_SHARED", "")

# Shells let what runs in the background ignore these signals; programs that tests start would
# inherit that.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

# nohup lets a process ignore SIGHUP. A handler that does nothing keeps that for this process, and
# programs that tests start have the default action, as handlers are not inherited by exec().
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)

# Under sanitizers, which make programs slow, only those run that read what is hostile or odd: all
# others judge numbers, texts and what is left on the disk, which no sanitizer changes.
if os.environ.get("DEQUANT_SANITIZED"):
    READERS = {"test_checkpoints.py", "test_checkpoints_refused_compressed_tensors.py",
               "test_checkpoints_refused_fields.py", "test_checkpoints_refused_gptq.py",
               "test_checkpoints_refused_modelopt.py", "test_checkpoints_refused_quark.py",
               "test_checkpoints_refused_tables.py", "test_checkpoints_unclaimed.py",
               "test_convert_external.py", "test_convert_graph.py", "test_extract.py",
               "test_hostile_checkpoints.py", "test_hostile_external.py", "test_hostile_graph.py",
               "test_hostile_tensor.py", "test_hostile_tflite.py",
               "test_hostile_tflite_tensors.py", "test_hostile_wire.py", "test_inspect.py",
               "test_inspect_page.py", "test_inspect_truth.py", "test_safetensors.py",
               "test_tflite.py", "test_tflite_buffers.py"}
    collect_ignore = [path.name for path in pathlib.Path(__file__).parent.glob("test_*.py")
                      if path.name not in READERS]


def pytest_collection_modifyitems(items):
    """Large graphs show that time and memory grow as a line, which sanitizers change; smaller ones
    go the same ways."""
    if os.environ.get("DEQUANT_SANITIZED"):
        items[:] = [i for i in items
                    if not i.name.startswith(("test_large_graphs_take_seconds[200000",
                                              "test_large_graphs_take_seconds[30000",
                                              "test_large_graphs_take_seconds[5000 Identity"))]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A single process runs all tests of TensorFlow's kernel, and one all tests in a browser, as
    both take seconds of a processor to start. (Groups by marks, of xdist 3.8, have no effect beside
    pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            if "/test_tensorflow.py::" in nodeid or "::test_tensorflow_agrees" in nodeid:
                return "kernel"
            return "browser" if "/test_inspect_browser.py::" in nodeid else nodeid

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def kernel():
    """TensorFlow's Dequantize."""
    from tensorflow_support import TensorFlow
    with TensorFlow() as running:
        yield running


@pytest.fixture(scope="session")
def shared():
    """The folder of shared models and conformance cases; tests that need it are skipped without
    it."""
    folder = pathlib.Path(SHARED)
    if not SHARED or not folder.is_dir():
        pytest.skip(f"SHARED FILES MISSING: DEQUANT_SHARED={SHARED!r} is no folder")
    return folder

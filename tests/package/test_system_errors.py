"""OSErrors with the library's sentences."""

import concurrent.futures
import copy
import errno
import os
import pathlib
import pickle
import traceback

import pytest

import dequant
from dequant._errors import system_error

MODEL = str(pathlib.Path(__file__).resolve().parents[2] / "examples/digits_qdq_int4.onnx")
NUMBERS = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.ENOENT, errno.EACCES,
           errno.ETIMEDOUT, errno.ECONNRESET, errno.EEXIST]


def copies(error):
    yield copy.copy(error)
    yield copy.deepcopy(error)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        once = pickle.loads(pickle.dumps(error, protocol))
        yield once
        yield pickle.loads(pickle.dumps(once, protocol))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_errno_of_an_error_was_lost_in_copies_and_pickles(number):
    error = system_error(number, f"f0: {os.strerror(number)}")
    error.note = "of the caller"
    for found in (error, *copies(error)):
        assert found.errno == number and str(found) == f"f0: {os.strerror(number)}"
        assert isinstance(found, type(OSError(number, ""))) and found.note == "of the caller"
        assert found.args == (number, str(found))


def test_a_traceback_has_the_class_of_python_and_the_sentence():
    error = system_error(errno.ENOENT, "cannot open f0")
    assert traceback.format_exception_only(error) == ["FileNotFoundError: cannot open f0\n"]
    assert repr(error) == "FileNotFoundError(2, 'cannot open f0')"


def into_no_folder(output):
    dequant.convert(MODEL, output)


def test_a_pool_of_processes_delivered_errors_of_the_system_without_errno(tmp_path):
    """Of the extension module, whose str() is still the sentence alone."""
    output = tmp_path / "no" / "x.onnx"
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        with pytest.raises(FileNotFoundError, match="^cannot open the folder") as caught:
            pool.submit(into_no_folder, output).result()
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(FileNotFoundError, match="^cannot open the folder") as caught:
        into_no_folder(output)
    assert copy.copy(caught.value).errno == errno.ENOENT

"""Models as arguments: paths, bytes, and onnx.ModelProto, for which onnx is not imported."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ._typing import ModelSource


#: "s3://...", and protocols in a chain: "simplecache::s3://...".
_URL = re.compile(r"[A-Za-z][\w+.-]*(::[A-Za-z][\w+.-]*)*://")

_FILE = re.compile(r"(file|local)://(?!.*::)")


def is_url(path: object) -> bool:
    """True for text that names a file system of fsspec; all else is a local path."""
    return isinstance(path, str) and _URL.match(path) is not None


def without_file(path: Any) -> Any:
    """The path in a URL of the protocol "file"; other arguments as they are."""
    found = _FILE.match(path) if isinstance(path, str) else None
    return path if found is None else os.path.abspath(os.path.expanduser(path[found.end():]))


class Source(NamedTuple):
    """A model to read."""

    path: str | os.PathLike[str]  #: with contents: a name for messages
    contents: Any  #: a buffer with the bytes of the file; None: the file is read
    folder: str | os.PathLike[str] | None  #: of the files that a model in memory names
    result: Callable[[bytes], Any]  #: a converted model as an object of the argument's class


def source_of(model: ModelSource, base_dir: str | os.PathLike[str] | None) -> Source:
    """Raises TypeError for an object that is no model, and FileNotFoundError for a missing file."""
    if isinstance(model, (str, os.PathLike)):
        if base_dir is not None:
            raise ValueError("base_dir: only a model in memory has one; a file names files of its "
                             "own folder")
        return Source(model, None, None, bytes)
    folder = None if base_dir is None else os.fspath(base_dir) or os.curdir
    memory: Any = model
    name = _message_name(memory)
    if name == "onnx.ModelProto":
        return Source(f"<{name}>", _serialized(memory), folder, type(memory).FromString)
    if name is not None:
        raise TypeError(f"{name} is no model; an onnx.ModelProto is wanted")
    try:
        memoryview(memory)
    except TypeError:
        raise TypeError("a path, bytes or an onnx.ModelProto is wanted, not "
                        f"{type(memory).__name__}") from None
    return Source(f"<{type(memory).__name__}>", memory, folder, bytes)


def _message_name(model: Any) -> str | None:
    """The name of a message of protobuf; None for every other object."""
    name = getattr(getattr(type(model), "DESCRIPTOR", None), "full_name", None)
    return name if isinstance(name, str) else None


def _serialized(model: Any) -> bytes:
    try:
        data: bytes = model.SerializeToString()
    except MemoryError:
        raise
    except Exception as error:  # of the package protobuf, which is not imported
        raise ValueError(f"the onnx.ModelProto cannot be serialized: {error}; one of 2 GiB or more "
                         "needs its tensors in external data") from error
    return data

"""Files behind URLs: the file systems of fsspec, which is imported only for URLs."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._source import is_url

StorageOptions = Mapping[str, Any] | None

#: Where file systems say that a file changed, in the order of preference.
_TAGS = ("ETag", "etag", "generation", "md5Hash", "content_hash", "checksum", "blob_id", "oid",
         "mtime", "LastModified", "last_modified", "updated", "modified", "created")
#: What else is read of a model that is a single file: format/checkpoint/names.h.
_BESIDE_SAFETENSORS = ("config.json", "hf_quant_config.json", "quantize_config.json",
                       "quant_config.json")
_INDEX = ".safetensors.index.json"
_SPLIT = re.compile(r"(.*)-\d{5}-of-(\d{5})\.gguf", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """path: of its file system; tag: other contents have another tag"""

    path: str
    size: int
    tag: str


class Place:
    """A file or a folder behind a URL, or at a local path."""

    def __init__(self, url: str, options: StorageOptions) -> None:
        try:
            from fsspec.core import url_to_fs
            from fsspec.implementations.local import LocalFileSystem
        except ImportError as error:
            raise ImportError(f"{url}: URLs need the package fsspec and that of the protocol, such "
                              "as s3fs: pip install fsspec s3fs") from error
        self.url = url.rstrip("/")
        self.fs, path = (url_to_fs(url, **(options or {})) if is_url(url)
                         else (LocalFileSystem(), os.path.abspath(url)))
        self.path: str = path.rstrip("/")
        self._is_local = isinstance(self.fs, LocalFileSystem)
        self.name = self.path.rpartition("/")[2]
        if self.name in ("", ".", ".."):
            raise ValueError(f"{url}: the name of a file or a folder is missing")

    def beside(self, name: str) -> str:
        """The path of a file in the same folder."""
        folder = self.path.rpartition("/")[0]
        return f"{folder}/{name}"

    def real(self, path: str) -> str:
        """The path by which the file system knows a file that has several."""
        return os.path.realpath(path) if self._is_local else path

    def files(self, path: str | None = None) -> dict[str, RemoteFile]:
        """The files of a folder, also those in its folders, by their names relative to it."""
        root = self.path if path is None else path
        self.fs.invalidate_cache()
        with os_errors(self.url):
            found: Mapping[str, Mapping[str, Any]] = self.fs.find(root, detail=True)
        files = {}
        for full, info in found.items():
            if not full.startswith(root + "/") or info["type"] != "file" or full.endswith("/"):
                continue
            name = full[len(root) + 1:]
            if any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
                raise ValueError(f"{self.url}: {name!r} is no name of a file")
            files[name] = _file_of(full, info)
        return files

    def file(self, path: str) -> RemoteFile | None:
        """None where there is none."""
        try:
            with os_errors(self.url):
                info = self.fs.info(path)
        except FileNotFoundError:
            return None
        return _file_of(path, info) if info["type"] == "file" else None

    def read(self, path: str) -> bytes | None:
        """The contents of a small file; None where there is none."""
        try:
            with os_errors(self.url):
                data: bytes = self.fs.cat_file(path)
        except FileNotFoundError:
            return None
        return data

    def model_files(self) -> tuple[bool, dict[str, RemoteFile]]:
        """Whether the model is a folder, and its files; those of a model that is a file are named
        relative to its folder."""
        self.fs.invalidate_cache()
        with os_errors(self.url):
            is_folder = self.fs.info(self.path)["type"] == "directory"
        if is_folder:
            return True, _without_dots(self.files())
        if self.name.endswith(_INDEX):  # it stands for its folder
            return False, _without_dots(self.files(self.path.rpartition("/")[0]))
        names: Iterable[str] = (self.name,)
        split = _SPLIT.fullmatch(self.name)
        if split:
            count = int(split[2])
            names = [f"{split[1]}-{i + 1:05}-of-{count:05}.gguf" for i in range(count)]
        elif self.name.endswith(".safetensors"):
            names = (self.name, *_BESIDE_SAFETENSORS)
        files = {name: self.file(self.beside(name)) for name in names}
        return False, {name: file for name, file in files.items() if file is not None}


def _without_dots(files: Mapping[str, RemoteFile]) -> dict[str, RemoteFile]:
    """Files and folders with a dot are not converted and not copied."""
    return {name: file for name, file in files.items()
            if not any(part.startswith(".") for part in name.split("/"))}


def _file_of(path: str, info: Mapping[str, Any]) -> RemoteFile:
    size = info.get("size")
    if not isinstance(size, int):
        raise ValueError(f"{path}: the file system does not say how many bytes the file has")
    tag = next((str(info[key]) for key in _TAGS if info.get(key) is not None), "")
    return RemoteFile(path, size, hashlib.sha256(f"{size} {tag}".encode()).hexdigest()[:16])


@contextlib.contextmanager
def os_errors(what: str) -> Iterator[None]:
    """Errors of packages of protocols as OSError with EIO: some have classes of their own for a
    network that fails."""
    try:
        yield
    except (OSError, ValueError, MemoryError):
        raise
    except Exception as error:
        raise OSError(errno.EIO, f"{what}: {type(error).__name__}: {error}") from error


def tags_of(files: Mapping[str, RemoteFile]) -> dict[str, str]:
    return {name: file.tag for name, file in files.items()}


def check_tags(url: str, files: Mapping[str, RemoteFile], tags: Mapping[str, str]) -> None:
    """Demands the files of the plan, as they were then."""
    for name, tag in tags.items():
        if name not in files:
            raise ValueError(f"{url}: {name} was there when the conversion was planned, and is not "
                             "there any more")
        if files[name].tag != tag:
            raise ValueError(f"{url}: {name} changed since the conversion was planned: plan it "
                             "again")


def options_for(side: str, options: StorageOptions) -> StorageOptions:
    """Those of the side "input" or "output"; options without these keys are for both."""
    if options and set(options) <= {"input", "output"}:
        own: StorageOptions = options.get(side)
        return own
    return options

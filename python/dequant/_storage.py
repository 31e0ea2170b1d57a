"""Files behind URLs: the file systems of fsspec, which is imported only for URLs."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._errors import UnsupportedError
from ._http import has_ranges, is_http, ranges
from ._source import is_url
from ._storage_errors import os_errors, without_query

StorageOptions = Mapping[str, Any] | None

#: Where file systems say that a file changed, in the order of preference.
_TAGS = ("ETag", "etag", "generation", "md5Hash", "content_hash", "checksum", "blob_id", "oid",
         "sha", "Content-MD5", "Digest", "CRC", "mtime", "LastModified", "Last-Modified",
         "last_modified", "updated", "modified", "modify", "modificationTime", "date_time",
         "created")
#: What else is read of a checkpoint that is a single file: format/checkpoint/names.h.
_BESIDE = ("config.json", "params.json", "hf_quant_config.json", "quantize_config.json",
           "quant_config.json", "quanto_qmap.json")
#: Files of which nothing else is read, unless they are parts.
_ALONE = (".gguf", ".tflite")
_INDEX = ".safetensors.index.json"
#: Of GitHub and git, what stands there is no password.
_PASSWORD = re.compile(r"(?<!github)(?<!git)://[^/?#]*:[^/?#]*@")
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
        self.url = without_query(url).rstrip("/")
        if is_url(url) and _PASSWORD.search(url):
            raise ValueError(f"{_PASSWORD.sub('://', self.url)}: a password in a URL would be "
                             "stored with the output and printed; storage_options has a place "
                             "for it")
        try:
            from fsspec.core import url_to_fs
            from fsspec.implementations.local import LocalFileSystem
        except ImportError as error:
            raise ImportError(f"{self.url}: URLs need the package fsspec and that of the protocol, "
                              "such as s3fs: pip install fsspec s3fs") from error
        self.fs, path = (url_to_fs(url, **(options or {})) if is_url(url)
                         else (LocalFileSystem(), os.path.abspath(url)))
        self.is_http = is_http(path)
        self.path: str = path.partition("#")[0] if self.is_http else path.rstrip("/")
        self._is_local = isinstance(self.fs, LocalFileSystem)
        bare = self.path.partition("?")[0] if self.is_http else self.path
        self._has_query = bare != self.path
        self._folder: str = bare.rpartition("/")[0]
        self.name: str = bare.rpartition("/")[2]
        if self.name in ("", ".", ".."):
            raise ValueError(f"{self.url}: the name of a file or a folder is missing"
                             + (", and HTTP has no folders" if self.is_http else ""))

    def beside(self, name: str) -> str:
        """The path of a file in the same folder."""
        return self.path if name == self.name else f"{self._folder}/{name}"

    def real(self, path: str) -> str:
        """The path by which the file system knows a file that has several."""
        return os.path.realpath(path) if self._is_local else path

    def files(self, path: str | None = None) -> dict[str, RemoteFile]:
        """The files of a folder, also those in its folders, by their names relative to it."""
        root = self.path if path is None else path
        return {name: _file_of(full, info) for name, full, info in self._entries(root, True)}

    def _checkpoint(self, root: str) -> dict[str, RemoteFile]:
        """The files of a folder that is converted: those without a dot."""
        files = {}
        for name, full, info in self._entries(root, False):
            if info["type"] != "file" and not self._is_local:  # there the core follows links
                raise ValueError(f"{self.url}: {name} is neither a file nor a folder, but of type "
                                 f"{info['type']!r}; links are followed at local paths alone")
            files[name] = _file_of(full, info)
        for name in files:
            parts = name.split("/")
            for i in range(1, len(parts)):
                if (parent := "/".join(parts[:i])) in files:
                    raise ValueError(f"{self.url}: {parent} is a file, and a folder with {name}: "
                                     "remove one of them")
        return files

    def _entries(self, root: str, hidden: bool) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """What lies below a folder and is no folder: its name, its path and what is known of it.
        hidden: also that whose name, or that of a folder, begins with a dot"""
        self.fs.invalidate_cache()
        with os_errors(self.url):
            found = (list(self.fs.find(root, detail=True).items()) if _has_find(self.fs)
                     else self._walk(root, hidden))
        for full, info in found:
            name = full[len(root) + 1:]
            if not full.startswith(root + "/") or name == "" or name.endswith("/"):
                continue  # object stores have empty objects for folders
            parts = name.split("/")
            if any(part in ("", ".", "..") for part in parts) or "\0" in name:
                raise ValueError(f"{self.url}: {name!r} is no name of a file")
            if info["type"] != "directory" and (hidden or not any(
                    part.startswith(".") for part in parts)):
                yield name, full, info

    def _walk(self, root: str, hidden: bool) -> list[tuple[str, Mapping[str, Any]]]:
        """find() of fsspec leaves out folders that it cannot list; here they are errors."""
        found = []
        folders = [root]
        while folders:
            folder = folders.pop()
            try:
                entries = self.fs.ls(folder, detail=True)
            except FileNotFoundError:
                if not hidden:
                    raise
                continue  # an output that is not there yet, or a folder that somebody removed
            for info in entries:
                path = info["name"].rstrip("/")
                name = path.rpartition("/")[2]
                if info["type"] != "directory" or name in (".", ".."):
                    found.append((path, info))
                elif path != folder and (hidden or not name.startswith(".")):
                    folders.append(path)
        return found

    def file(self, path: str) -> RemoteFile | None:
        """None where there is none."""
        name = path.rpartition("/")[2]
        try:
            with os_errors(self.url if path == self.path
                           else f"{self.url}: it is not known whether there is a {name}"):
                info = self.fs.info(path)
        except FileNotFoundError:
            return None
        return _file_of(path, info) if info["type"] == "file" else None

    def read(self, path: str) -> bytes | None:
        """The contents of a small file; None where there is none."""
        try:
            with os_errors(f"{self.url}: {path}"):
                data: bytes = self.fs.cat_file(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return data

    def ranges(self, wanted: Iterable[tuple[RemoteFile, int, int]]) -> list[bytes | BaseException]:
        """Gets bytes of files: (file, begin, end)."""
        if has_ranges(self.fs, self.path):
            return ranges(self.fs, [(file.path, begin, end, file.size)
                                    for file, begin, end in wanted])
        files, begins, ends = zip(*wanted, strict=True)
        parts: list[bytes | BaseException] = self.fs.cat_ranges(
            [file.path for file in files], list(begins), list(ends), on_error="return")
        return parts

    def model_files(self) -> tuple[bool, dict[str, RemoteFile]]:
        """Whether the model is a folder, and its files; those of a model that is a file are named
        relative to its folder."""
        self.fs.invalidate_cache()
        with os_errors(self.url):
            info = self.fs.info(self.path)
        if self.is_http:
            self._check_http(info)
        if info["type"] == "directory":
            return True, self._checkpoint(self.path)
        if self.name.endswith(_INDEX):  # it stands for its folder
            return False, self._checkpoint(self._folder)
        files = {name: self.file(self.beside(name)) for name in self._names()}
        return False, {name: file for name, file in files.items() if file is not None}

    def _check_http(self, info: Mapping[str, Any]) -> None:
        """Demands a model of which all files have URLs that are known."""
        if info.get("mimetype") == "text/html":
            raise UnsupportedError(f"{self.url}: an HTML page, and no model; HTTP has no folders: "
                                   "give the URL of a file")
        if self.name.endswith(_INDEX):
            raise UnsupportedError(f"{self.url}: HTTP has no folders, whose files an index lists: "
                                   "download the checkpoint, or give the URL of one of its "
                                   ".safetensors files")
        other = next((name for name in self._names() if name != self.name), None)
        if self._has_query and other is not None:
            raise UnsupportedError(
                f"{self.url}: a URL with a query is that of one file, and {other} may belong to "
                "the model: give a URL without a query, or download the model")

    def _names(self) -> tuple[str, ...]:
        """The files that a model is read from."""
        split = _SPLIT.fullmatch(self.name)
        if split:
            count = int(split[2])
            return tuple(f"{split[1]}-{i + 1:05}-of-{count:05}.gguf" for i in range(count))
        return (self.name,) if self.name.endswith(_ALONE) else (self.name, *_BESIDE)


def _has_find(fs: Any) -> bool:
    """Whether the file system lists a folder with all of its folders in its own way."""
    from fsspec import AbstractFileSystem
    from fsspec.asyn import AsyncFileSystem
    from fsspec.implementations.cached import CachingFileSystem
    from fsspec.implementations.dirfs import DirFileSystem
    if isinstance(fs, (CachingFileSystem, DirFileSystem)):
        return _has_find(fs.fs)
    kind = type(fs)
    return (kind.find is not AbstractFileSystem.find
            or getattr(kind, "_find", AsyncFileSystem._find) is not AsyncFileSystem._find)


def _file_of(path: str, info: Mapping[str, Any]) -> RemoteFile:
    size = info.get("size")
    if not isinstance(size, int):
        raise ValueError(f"{path}: the file system does not say how many bytes the file has")
    tag = next((str(info[key]) for key in _TAGS if info.get(key) is not None), "")
    return RemoteFile(path, size, hashlib.sha256(f"{size} {tag}".encode()).hexdigest()[:16])


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

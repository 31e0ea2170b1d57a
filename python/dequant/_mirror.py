"""Local copies of remote files, which have the bytes that somebody has asked for."""

from __future__ import annotations

import bisect
import os
import shutil
import struct
from collections.abc import Iterable, Mapping

from ._storage import Place, RemoteFile
from ._storage_errors import os_errors

#: Bytes that are asked for at once, at the most, and of all requests together.
_PIECE = 16 << 20
_BATCH = 256 << 20
_LEAST_BATCH = 1 << 20
_REQUESTS = 512
#: Bytes that are fetched with those that nobody had announced: the more, the longer the file has
#: been read from front to back.
_LEAST_AHEAD = 64 << 10
_MOST_AHEAD = 8 << 20
_MOST_HEADER = 100_000_000  # of safetensors

Range = tuple[int, int]


class _Ranges:
    """Ranges of a file, none of which touches another."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def around(self, begin: int, end: int) -> Range | None:
        """The range that contains all of these bytes."""
        i = bisect.bisect_right(self._begins, begin) - 1
        return (self._begins[i], self._ends[i]) if i >= 0 and self._ends[i] >= end else None

    def before(self, at: int) -> int:
        """How many bytes up to `at` are there."""
        i = bisect.bisect_right(self._begins, at) - 1
        return at - self._begins[i] if i >= 0 and self._ends[i] >= at else 0

    def missing(self, begin: int, end: int) -> list[Range]:
        gaps = []
        i = max(bisect.bisect_right(self._begins, begin) - 1, 0)
        for there, until in zip(self._begins[i:], self._ends[i:], strict=True):
            if there >= end:
                break
            if begin < there:
                gaps.append((begin, there))
            begin = max(begin, until)
        return [*gaps, (begin, end)] if begin < end else gaps

    def add(self, begin: int, end: int) -> None:
        first = bisect.bisect_left(self._ends, begin)
        last = bisect.bisect_right(self._begins, end)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last], self._ends[first:last] = [begin], [end]


class Mirror:
    """Files in a local folder with the names and the sizes of remote files."""

    def __init__(self, place: Place, files: Mapping[str, RemoteFile], folder: str,
                 mem: int | None = None) -> None:
        """mem: bytes; the requests at one time are for a quarter of them at most"""
        self.folder = folder
        self.bytes_fetched = 0
        self._place = place
        self._url = place.url
        self._batch = _BATCH if mem is None else min(max(mem // 4, _LEAST_BATCH), _BATCH)
        self._files = files
        self._there = {name: _Ranges() for name in files}
        for name, file in files.items():
            path = os.path.join(folder, name)
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "xb") as made:
                    made.truncate(file.size)
            except OSError as error:
                raise OSError(error.errno, f"{self._url}: no local file can stand for {name}: "
                              f"{error.strerror}") from error

    def fetch(self, wanted: Iterable[tuple[str, int, int]]) -> None:
        """Gets bytes of files: (name, begin, end)."""
        gaps = [(name, *gap) for name, begin, end in wanted
                for gap in self._there[name].missing(begin, min(end, self._files[name].size))]
        room = shutil.disk_usage(self.folder).free
        needed = sum(end - begin for _, begin, end in gaps)
        if needed > room:
            raise OSError(f"{self.folder}: {needed} bytes of {self._url} are needed there and "
                          f"{room} are free; TMPDIR names a folder with more room")
        most = min(_PIECE, self._batch)
        pieces = [(name, at, min(at + most, end)) for name, begin, end in gaps
                  for at in range(begin, end, most)]
        batch: list[tuple[str, int, int]] = []
        for piece in pieces:
            if len(batch) == _REQUESTS or sum(e - b for _, b, e in [*batch, piece]) > self._batch:
                self._get(batch)
                batch = []
            batch.append(piece)
        if batch:
            self._get(batch)

    def _get(self, pieces: list[tuple[str, int, int]]) -> None:
        with os_errors(self._url):
            parts = self._place.ranges((self._files[name], begin, end)
                                       for name, begin, end in pieces)
        for (name, begin, end), part in zip(pieces, parts, strict=True):
            if isinstance(part, BaseException):
                one = self._url.endswith(f"/{name}")
                with os_errors(self._url if one else f"{self._url}: {name}"):
                    raise part
            if len(part) != end - begin:
                raise OSError(f"{self._url}: {name}: {len(part)} bytes came for bytes {begin} to "
                              f"{end}: the file changed, or its server has no ranges")
            descriptor = os.open(os.path.join(self.folder, name), os.O_WRONLY)
            try:
                at = 0
                while at < len(part):
                    at += os.pwrite(descriptor, part[at:], begin + at)
            finally:
                os.close(descriptor)
            self._there[name].add(begin, end)
            self.bytes_fetched += len(part)

    def fetch_headers(self) -> None:
        """Those of all safetensors files, in two rounds of requests."""
        lengths = [(name, 0, 8) for name in self._files if name.endswith(".safetensors")]
        self.fetch(lengths)
        headers = []
        for name, _, begin in lengths:
            with open(os.path.join(self.folder, name), "rb") as file:
                text = file.read(begin)
            length = struct.unpack("<Q", text)[0] if len(text) == begin else 0
            if length <= _MOST_HEADER:  # else the core refuses the file
                headers.append((name, begin, begin + length))
        self.fetch(headers)

    def serve(self, requests: list[tuple[str, int, int]]) -> list[Range]:
        """Gets bytes that are to be read, by paths, and bytes behind these. Returns ranges around
        them that are there; files that are none of the mirror have all."""
        named = [(os.path.relpath(path, self.folder), begin, end) for path, begin, end in requests]
        known = [(name, begin, self._ahead(name, begin, end)) for name, begin, end in named
                 if name in self._files]
        self.fetch(known)
        return [self._there[name].around(begin, end) or (begin, end) if name in self._files
                else (begin, end) for name, begin, end in named]

    def _ahead(self, name: str, begin: int, end: int) -> int:
        there = self._there[name]
        if there.around(begin, end):
            return end
        ahead = min(max(there.before(begin), _LEAST_AHEAD), _MOST_AHEAD)
        return min(max(end, begin + ahead), self._files[name].size)

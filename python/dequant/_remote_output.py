"""Outputs behind URLs, which tasks write: the same files as those of local outputs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Mapping
from glob import has_magic
from typing import Any

from ._storage import Place
from ._storage_errors import os_errors

_FOLDER = ".dequant-tasks"
_TEXT = "conversion.json"


class RemoteOutput:
    """An output, of which nothing but the folder of its tasks is there before finalize().

    inside  the output is a folder, and the folder of the tasks is in it; else it is beside
    """

    def __init__(self, place: Place, inside: bool) -> None:
        self.place = place
        self.inside = inside
        self.work = place.path + ("/" if inside else "") + _FOLDER
        self._fs = place.fs

    def final(self, name: str) -> str:
        return f"{self.place.path}/{name}" if self.inside else self.place.beside(name)

    def local_work(self, output: str) -> str:
        """The folder of the tasks of a local output."""
        return output + ("/" if self.inside else "") + _FOLDER

    def text(self) -> dict[str, Any] | None:
        """The conversion; None where none was begun, or where it is complete."""
        self._fs.invalidate_cache()  # other machines write it
        data = self.place.read(f"{self.work}/{_TEXT}")
        if data is None:
            return None
        try:
            text = json.loads(data)
        except ValueError:
            text = None
        if not isinstance(text, dict) or not isinstance(text.get("fingerprint"), str):
            raise ValueError(f"{self.place.url}: {_FOLDER}/{_TEXT} is no text of a conversion")
        return text

    def is_begun(self, fingerprint: str) -> bool:
        """False where there is no text; demands that a text has the same fingerprint."""
        text = self.text()
        if text is not None and text["fingerprint"] != fingerprint:
            raise ValueError(
                f"{self.place.url} has the tasks of another conversion: the input, the options or "
                f"the version of dequant are not the same; remove {_FOLDER} to begin again")
        return text is not None

    def others(self, files: tuple[str, ...]) -> list[str]:
        """The files of the output that are there before the first task. `files`: those that are
        looked for where the output is no folder."""
        if not self.inside:
            return [name for name in files if self.place.file(self.final(name))]
        if self.place.file(self.place.path):
            raise FileExistsError(errno.EEXIST, "a file, and a folder is wanted", self.place.url)
        return [name for name in self.place.files() if name.split("/")[0] != _FOLDER]

    def is_done(self, fingerprint: str, number: int, file: str, size: int) -> bool:
        """True where there is a record of the task, and its file has its size."""
        data = self.place.read(self._record(fingerprint, number))
        try:
            record = json.loads(data or b"")
        except ValueError:
            return False
        facts = {"fingerprint": fingerprint, "task": number, "file": file, "begin": 0, "end": size}
        if not isinstance(record, dict) or any(record.get(k) != v for k, v in facts.items()):
            return False
        found = self.place.file(self._data(fingerprint, file))
        return found is not None and found.size == size

    def put(self, output: str, text: dict[str, Any], begun: bool, number: int, file: str,
            size: int) -> None:
        """Writes the text, unless the conversion was begun, the file of a task that the local
        output has, and then the record."""
        fingerprint = text["fingerprint"]
        if not self.is_begun(fingerprint):
            if begun:
                raise FileNotFoundError(
                    errno.ENOENT, "the conversion was completed or removed while task "
                    f"{number} was carried out", self.place.url)
            self._pipe(json.dumps(text, indent=2).encode() + b"\n", f"{self.work}/{_TEXT}")
        work = self.local_work(output)
        for path in (self._data(fingerprint, file), self._record(fingerprint, number)):
            self.put_file(work + path[len(self.work):], path)
        self._fs.invalidate_cache()
        found = self.place.file(self._data(fingerprint, file))
        if found is None or found.size != size:
            raise OSError(f"{self.place.url}: {file} was written with {size} bytes, and has "
                          f"{found.size if found else 'none'}")

    def put_file(self, local: str, path: str) -> None:
        """In parts, where the file system has such uploads."""
        self._in_folder(path, lambda: self._fs.put_file(local, path))

    def _pipe(self, data: bytes, path: str) -> None:
        self._in_folder(path, lambda: self._fs.pipe_file(path, data))

    def _in_folder(self, path: str, write: Any) -> None:
        """Object stores have no folders to be made first; others say that they are missing."""
        with os_errors(f"{self.place.url}: {path}"):
            try:
                write()
            except FileNotFoundError:
                self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                write()

    def complete(self, output: str, fingerprint: str, data: Mapping[str, int],
                 replace: bool) -> None:
        """Gives the files of tasks their names, and writes the other files of the local output:
        those that make it a model last. `data`: files of tasks -> bytes"""
        folder = output if self.inside else os.path.dirname(output)
        others = {} if not self.inside else {
            os.path.relpath(os.path.join(at, name), folder): os.path.getsize(f"{at}/{name}")
            for at, _, names in os.walk(folder) for name in names}
        if replace:
            self._withdraw({"config.json", *others} if self.inside else ())
        else:
            self._check_replaced({**others, **data})
        with os_errors(self.place.url):
            self._fs.copy([self._data(fingerprint, name) for name in data],
                          [self.final(name) for name in data], on_error="raise")
        for name in sorted(set(others) - set(data),
                           key=lambda n: (n == "config.json", n.endswith(".index.json"), n)):
            self.put_file(os.path.join(folder, name), self.final(name))
        self.remove()

    def _check_replaced(self, sizes: Mapping[str, int]) -> None:
        """Demands that no file of another size is replaced: one of the same size is that of a
        finalize() which was interrupted."""
        found = self.place.files() if self.inside else {
            name: file for name in sizes if (file := self.place.file(self.final(name)))}
        for name, size in sizes.items():
            if name in found and found[name].size != size:
                raise FileExistsError(errno.EEXIST, f"{name} appeared since the tasks began",
                                      self.place.url)

    def _withdraw(self, others: Iterable[str]) -> None:
        """Takes the files from a model that is to be replaced without which it does not load."""
        for name in others:
            if name == "config.json" or name.endswith(".index.json"):
                self._remove_file(self.final(name))

    def _remove_file(self, path: str) -> None:
        with os_errors(self.place.url), contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(path)

    def remove(self) -> None:
        """Removes the folder of the tasks, its text first."""
        self._fs.invalidate_cache()
        self._remove_file(f"{self.work}/{_TEXT}")
        with os_errors(self.place.url), contextlib.suppress(FileNotFoundError):
            self._remove_folder(self.work)
        self._fs.invalidate_cache()

    def _remove_folder(self, path: str) -> None:
        if not has_magic(path):
            self._fs.rm(path, recursive=True)
            return
        # rm() would take the name for a pattern, and remove folders that it matches.
        for name, info in sorted(self._fs.find(path, withdirs=True, detail=True).items(),
                                 reverse=True):
            if info["type"] == "file":
                self._fs.rm_file(name)
            else:
                with contextlib.suppress(OSError):  # object stores have no folders
                    self._fs.rmdir(name)

    def _data(self, fingerprint: str, file: str) -> str:
        return f"{self.work}/data-{fingerprint}/{file}"

    def _record(self, fingerprint: str, number: int) -> str:
        return f"{self.work}/records-{fingerprint}/{number:06}.json"

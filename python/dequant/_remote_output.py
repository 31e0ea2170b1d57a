"""Outputs behind URLs, which tasks write: the same files as those of local outputs."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from typing import Any

from ._storage import Place, os_errors

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

    def begin(self, conversion: str, fingerprint: str, count: int, files: tuple[str, ...],
              overwrite: bool) -> None:
        """Writes the text, or demands that it has the same fingerprint."""
        text = self.text()
        if text is None:
            if not overwrite:
                self.check_others(files)
            text = {**json.loads(conversion), "fingerprint": fingerprint, "tasks": count}
            self._fs_put(json.dumps(text, indent=2).encode() + b"\n", f"{self.work}/{_TEXT}")
        elif text["fingerprint"] != fingerprint:
            raise ValueError(
                f"{self.place.url} has the tasks of another conversion: the input, the options or "
                f"the version of dequant are not the same; remove {_FOLDER} to begin again")

    def check_others(self, files: tuple[str, ...]) -> None:
        """Demands that the output has no files of another model. `files`: of an output that is no
        folder."""
        self._fs.invalidate_cache()
        if self.inside:
            taken = any(name.split("/")[0] != _FOLDER for name in self.place.files())
        else:
            taken = any(self.place.file(self.final(name)) for name in files)
        if taken or self.place.file(self.place.path):
            raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}, and overwrite is "
                                  "False", self.place.url)

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

    def put(self, output: str, fingerprint: str, number: int, file: str, size: int) -> None:
        """Writes the file of a task that the local output has, and then the record."""
        if self.text() is None:
            raise FileNotFoundError(errno.ENOENT, "the conversion was completed or removed while "
                                    f"task {number} was carried out", self.place.url)
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

    def _fs_put(self, data: bytes, path: str) -> None:
        self._in_folder(path, lambda: self._fs.pipe_file(path, data))

    def _in_folder(self, path: str, write: Any) -> None:
        """Object stores have no folders to be made first; others say that they are missing."""
        with os_errors(f"{self.place.url}: {path}"):
            try:
                write()
            except FileNotFoundError:
                self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                write()

    def complete(self, output: str, fingerprint: str, data: Mapping[str, int]) -> None:
        """Gives the files of tasks their names, and writes the other files of the local output:
        those that make it a model last. `data`: files of tasks -> task"""
        with os_errors(self.place.url):
            self._fs.copy([self._data(fingerprint, name) for name in data],
                          [self.final(name) for name in data], on_error="raise")
        folder = output if self.inside else os.path.dirname(output)
        others = [] if not self.inside else [
            os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder) for name in names]
        for name in sorted(set(others) - set(data),
                           key=lambda n: (n == "config.json", n.endswith(".index.json"), n)):
            self.put_file(os.path.join(folder, name), self.final(name))
        self.remove()

    def remove(self) -> None:
        """Removes the folder of the tasks, its text first."""
        self._fs.invalidate_cache()
        try:
            self._fs.rm_file(f"{self.work}/{_TEXT}")
        except FileNotFoundError:
            pass
        try:
            self._fs.rm(self.work, recursive=True)
        except FileNotFoundError:
            pass
        self._fs.invalidate_cache()

    def _data(self, fingerprint: str, file: str) -> str:
        return f"{self.work}/data-{fingerprint}/{file}"

    def _record(self, fingerprint: str, number: int) -> str:
        return f"{self.work}/records-{fingerprint}/{number:06}.json"

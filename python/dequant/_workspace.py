"""The temporary folder of a conversion with URLs."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._errors import system_error
from ._mirror import Mirror
from ._storage import Place, StorageOptions, check_tags, options_for, tags_of


class Workspace:
    """A temporary folder, and what lies in it for whom. Its messages have URLs in place of it."""

    def __init__(self, folder: str, mem: int | None) -> None:
        self.folder = folder
        self._mem = mem
        self.mirrors: list[Mirror] = []
        self._names: dict[str, str] = {}

    def input(self, url: str, options: StorageOptions,
              tags: Mapping[str, str] | None) -> tuple[Place, str, dict[str, str]]:
        """Mirrors a model; with `tags` these files alone, if they are as they were then. Returns
        its path and its tags."""
        place = Place(url, options_for("input", options))
        to_folder, files = place.model_files()
        if tags is not None:
            check_tags(place.url, files, tags)
            files = {name: files[name] for name in tags}
        path = self._place("in", "" if to_folder else place.name, place.url)
        mirror = Mirror(place, files, self._below("in"), self._mem)
        self.mirrors.append(mirror)
        mirror.fetch_headers()
        return place, path, tags_of(files)

    def output(self, place: Place) -> str:
        return self._place("out", place.name, place.url)

    def fetched(self) -> tuple[str, Callable[[list[tuple[str, int, int]]], Any]] | None:
        """What the core calls for bytes; None: nothing is fetched."""
        if not self.mirrors:
            return None
        only = self.mirrors[0].folder if len(self.mirrors) == 1 else self.folder
        return only, self._serve

    def _serve(self, requests: list[tuple[str, int, int]]) -> list[tuple[int, int]]:
        got = {(path, begin, end): (begin, end) for path, begin, end in requests}
        for mirror in self.mirrors:
            own = [r for r in got if r[0].startswith(mirror.folder + "/")]
            got.update(zip(own, mirror.serve(own), strict=True))
        return [got[request] for request in requests]

    def _below(self, name: str) -> str:
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        return folder

    def _place(self, side: str, name: str, url: str) -> str:
        path = os.path.join(self._below(side), name) if name else self._below(side)
        self._names[path] = url
        return path

    @contextlib.contextmanager
    def messages(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            system = getattr(error, "errno", None)
            old = getattr(error, "strerror", None) or str(error)
            new = self._renamed(old, system)
            if new == old:
                raise
            made = type(error)(new) if system is None else system_error(system, new)
            raise made from error

    def _renamed(self, message: str, system: int | None) -> str:
        if system == errno.ENOSPC and self.folder in message:  # there is room behind the URL
            return f"{message}; TMPDIR names a folder with more room"
        for path, url in self._names.items():
            message = message.replace(path, url)
        return message


@contextlib.contextmanager
def workspace(mem: int | None = None) -> Iterator[Workspace]:
    folder = os.path.realpath(tempfile.mkdtemp(prefix="dequant-"))
    try:
        made = Workspace(folder, mem)
        with made.messages():
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""Ranges of files by HTTP. Each answer is compared with the range that was requested: fsspec takes
the bytes of any answer."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterable
from typing import Any

#: Seconds until a connection, and the next bytes of one, must be there. A slow link may take as
#: long as it needs in all.
_CONNECT = 60
_SILENCE = 300


def is_http(path: str) -> bool:
    return path.startswith(("http://", "https://"))


def has_ranges(fs: Any, path: str) -> bool:
    """False for a file system that reads URLs of HTTP by another one, such as a cache."""
    if not is_http(path):
        return False
    from fsspec.implementations.http import HTTPFileSystem
    return isinstance(fs, HTTPFileSystem)


def ranges(fs: Any, wanted: Iterable[tuple[str, int, int, int]]) -> list[bytes | BaseException]:
    """Gets (URL, begin, end, size of the file), all at once."""
    from fsspec.asyn import sync

    async def get() -> list[bytes | BaseException]:
        session = await fs.set_session()
        return await asyncio.gather(*(_range(fs, session, *one) for one in wanted),
                                    return_exceptions=True)
    parts: list[bytes | BaseException] = sync(fs.loop, get)
    return parts


async def _range(fs: Any, session: Any, url: str, begin: int, end: int, size: int) -> bytes:
    import aiohttp
    options = dict(fs.kwargs)
    if "timeout" not in {**options, **fs.client_kwargs}:
        options["timeout"] = aiohttp.ClientTimeout(sock_connect=_CONNECT, sock_read=_SILENCE)
    options["headers"] = {**options.get("headers", {}), "Accept-Encoding": "identity",
                          "Range": f"bytes={begin}-{end - 1}"}
    async with session.get(fs.encode_url(url), **options) as answer:
        answer.raise_for_status()
        wrong = _wrong(answer, begin, end, size)
        if wrong:
            answer.close()  # the rest may be a whole model
            raise OSError(errno.ENOTSUP, f"the server answers bytes {begin} to {end} with {wrong}")
        data: bytes = await answer.read()
        return data


def _wrong(answer: Any, begin: int, end: int, size: int) -> str | None:
    """What an answer has in place of the bytes."""
    encoding = answer.headers.get("Content-Encoding", "identity")
    if encoding not in ("", "identity"):
        return f"Content-Encoding {encoding}"
    if answer.status == 206:
        given = answer.headers.get("Content-Range", "")
        wanted = f"bytes {begin}-{end - 1}/"
        return None if given.startswith(wanted) else f"Content-Range {given!r}"
    length = answer.headers.get("Content-Length")
    if answer.status == 200 and (begin, end, str(end)) == (0, size, length):
        return None
    return f"the whole file (HTTP {answer.status}, {length} bytes): it has no ranges"

"""Errors of fsspec and of the packages of its protocols as OSErrors with the URL and the reason."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
from collections.abc import Iterator

from ._http import is_http

#: Of URLs in messages: signatures and keys are there.
_QUERY = re.compile(r"(https?://[^\s?'\"]*)\?[^\s'\")]*")
#: Of errors without a number. Those of all other classes get EIO.
_NUMBERS = ((FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES),
            (FileExistsError, errno.EEXIST), (NotADirectoryError, errno.ENOTDIR),
            (IsADirectoryError, errno.EISDIR), (TimeoutError, errno.ETIMEDOUT),
            (asyncio.TimeoutError, errno.ETIMEDOUT), (ConnectionError, errno.ECONNRESET),
            (InterruptedError, errno.EINTR))
#: Of answers of HTTP: 404 and 410 alone say that a file is not there.
_STATUS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}


def without_query(text: str) -> str:
    """URLs of HTTP in a text lose what follows "?"."""
    return _QUERY.sub(r"\1", text)


@contextlib.contextmanager
def os_errors(what: str) -> Iterator[None]:
    """FileNotFoundError means that a file is absent, and nothing else."""
    try:
        yield
    except (ValueError, MemoryError) as error:
        if not _is_of_http(error):
            raise
        raise _os_error(error, what) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and what in str(error):
            raise
        # Tracebacks print causes, and these have whole URLs.
        raise _os_error(error, what) from (None if _QUERY.search(str(error)) else error)


def _os_error(error: Exception, what: str) -> OSError:
    failed: BaseException = error
    if isinstance(error, FileNotFoundError) and error.__cause__ and is_http(str(error)):
        failed = error.__cause__  # fsspec's HTTP raises FileNotFoundError(URL) from whatever failed
    status = getattr(failed, "status", None)
    if isinstance(status, int) and _is_of_http(failed):
        number = _STATUS.get(status, errno.EIO)
        reason = f"HTTP {status} {getattr(failed, 'message', '')}".rstrip()
    else:
        number = getattr(failed, "errno", None) or next(
            (n for kind, n in _NUMBERS if isinstance(failed, kind)), errno.EIO)
        text = getattr(failed, "strerror", None)
        name = getattr(failed, "filename", None)
        reason = without_query(str(failed) if text is None else
                               text if name is None else f"{text}: {name}")
        if isinstance(failed, FileNotFoundError) and reason in what:
            reason = os.strerror(number)
        elif not isinstance(failed, OSError) or not reason:
            reason = f"{type(failed).__name__}: {reason or os.strerror(number)}"
    return OSError(number, f"{what}: {reason}")


def _is_of_http(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] == "aiohttp" for kind in type(error).__mro__)

"""The exception that dequant adds to Python's built-in exceptions, and OSErrors with sentences."""

from __future__ import annotations

from typing import Any


class UnsupportedError(ValueError, NotImplementedError):
    """A specification allows the arguments or the file, but dequant cannot compute the result
    exactly. dequant never approximates a result."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)


def system_error(number: int, text: str) -> OSError:
    """An OSError for `number`, an errno, of the subclass that Python has for it.

    Its str() is `text` alone: Python's own form, "[Errno 2] ...", is for texts without a reason.
    Pickled and copied, it keeps the number, the text and the notes. The extension module calls this
    function, too.
    """
    base = type(OSError(number, ""))
    if base not in _classes:
        # Tracebacks show the name of `base`. The class is not found under that name, so
        # __reduce__() names this function.
        _classes[base] = type(base.__name__, (base,), {
            "__module__": base.__module__, "__doc__": base.__doc__, "__str__": _text_of,
            "__reduce__": _reduced})
    return _classes[base](number, text)


#: An OSError or a subclass of Python's -> the subclass of it that is raised.
_classes: dict[type[OSError], type[OSError]] = {}


def _text_of(error: OSError) -> str:
    return str(error.strerror)


def _reduced(error: OSError) -> tuple[Any, ...]:
    return system_error, (error.errno, error.strerror), vars(error)

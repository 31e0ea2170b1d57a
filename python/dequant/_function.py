"""Functions of the extension module as functions of Python, which inspect and pickle know."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any


def _signature(text: str) -> inspect.Signature:
    """The signature of a `def` with types and without a body; its types stay texts."""
    function: Any = ast.parse(f"{text}: ...").body[0]
    arguments = function.args
    required = [None] * (len(arguments.args) - len(arguments.defaults))
    kind = inspect.Parameter
    rows = [*((kind.POSITIONAL_OR_KEYWORD, *row)
              for row in zip(arguments.args, [*required, *arguments.defaults], strict=True)),
            *((kind.KEYWORD_ONLY, *row)
              for row in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))]
    return inspect.Signature(
        [inspect.Parameter(argument.arg, of, annotation=ast.unparse(argument.annotation),
                           default=kind.empty if value is None else ast.literal_eval(value))
         for of, argument, value in rows],
        return_annotation=ast.unparse(function.returns))


def public(function: Any, module: str) -> Callable[..., Any]:
    """A function of the module that calls one of the extension module."""
    (text, doc, _), = function.__nb_signature__

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = function.__name__
    call.__module__ = module
    call.__doc__ = doc
    call.__signature__ = _signature(text)  # type: ignore[attr-defined]
    return call

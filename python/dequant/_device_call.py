"""Calls whose tensors are on a CUDA device.

A call computes on the stream of its first tensor. That stream waits for the streams of the other
tensors before, and those wait for it afterwards, so that all memory may be used again in the order
of its own stream.
"""

from __future__ import annotations

from typing import Any

from . import _device
from ._device_results import Result, new_result

#: Libraries that use memory again in the order of the stream that they say.
_ORDERED = ("torch", "cupy", "dequant")


def run(call: Any, views: list[tuple[str, _device.View]], of_host: list[str], element: str,
        shape: tuple[int, ...], out: Any, like: Any) -> Any:
    """Runs a plan of the extension module on the device of its tensors.

    call     the plan and the addresses of its tensors
    views    name and memory of each tensor, at least one
    of_host  names of tensors in memory of the host: these are refused
    """
    first_name, first = views[0]
    where = f"{first_name} is on cuda:{first.device}"
    for name in of_host:
        raise ValueError(f"{name}: on the CPU, and {where}; the tensors of a call must be on one "
                         "device")
    for name, view in views:
        if view.device != first.device:
            raise ValueError(f"{name}: on cuda:{view.device}, and {where}; the tensors of a call "
                             "must be on one device")
    if like is not None and like != "torch":
        raise ValueError(f"like: {like!r:.100} is neither None nor 'torch', and {where}")
    result = _result(first, element, shape, out, like, where)
    others = {view.stream for _, view in views} | {result.view.stream}
    wait = any(view.library not in _ORDERED and not _says_stream(view.value) for _, view in views)
    _device.module().run(call, result.view.address, result.view.nbytes, first.device, first.stream,
                         sorted(others - {first.stream}), wait)
    return result.finish()


def _says_stream(value: Any) -> bool:
    """Whether memory stays as it is until the work of a stream that it names is done."""
    facts = getattr(value, "__cuda_array_interface__", None)
    return facts is not None and facts.get("stream") is not None


def _result(first: _device.View, element: str, shape: tuple[int, ...], out: Any, like: Any,
            where: str) -> Result:
    if out is None:
        return new_result(like or first.library, element, shape, first.device, first.stream)
    if like is not None:
        raise ValueError("like: out says already where the result goes")
    view = _device.view_of_out(out, element, shape, where)
    if view.device != first.device:
        raise ValueError(f"out: on cuda:{view.device}, and {where}; the tensors of a call must be "
                         "on one device")
    return Result(view, lambda: out)

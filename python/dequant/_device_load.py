"""Tensors of model files on a CUDA device: packed bytes cross the bus, and become floats there."""

from __future__ import annotations

import concurrent.futures
import importlib
import importlib.util
import threading
from collections.abc import Callable, Iterable
from typing import Any

from . import _device
from ._core import ModelFile
from ._device_results import LIBRARIES, Result, new_result

#: Pinned memory of each device from its first load on: buffers of that many bytes, and as many on
#: the device. Each is read by one thread, so that many small ones keep all threads at work.
SLOTS = 32
SLOT_BYTES = 2 << 20
#: Tensors that are loaded side by side: the next one is allocated and read while the last bytes of
#: one are.
SIDE_BY_SIDE = 4

_loaders: dict[tuple[int, int, int], Any] = {}
_lock = threading.Lock()


def is_built() -> bool:
    """Whether this package has the module of CUDA devices."""
    return importlib.util.find_spec("dequant._cuda") is not None


def index_of(device: Any) -> int | None:
    """The number of a device argument: an int, "cuda:1", or a device of torch. None for "cuda", the
    current device."""
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return device
    kind, _, index = str(device).partition(":")
    if kind != "cuda" or (index and not index.isdecimal()):
        raise ValueError(f"device: {device!r:.100} is no CUDA device, as 'cuda', 'cuda:1' or 1 is")
    return int(index) if index else None


def is_cuda(device: Any) -> bool:
    """Whether a device argument says a CUDA device."""
    try:
        index_of(device)
    except ValueError:
        return False
    return True


def _loader_of(device: int) -> Any:
    key = device, SLOTS, SLOT_BYTES
    with _lock:
        if key not in _loaders:
            _loaders[key] = _device.module().Loader(*key)
        return _loaders[key]


def _current_device(library: str) -> int:
    if library == "torch":
        return int(importlib.import_module("torch").cuda.current_device())
    if library == "cupy":
        return int(importlib.import_module("cupy").cuda.runtime.getDevice())
    current: int = _device.module().current_device()
    return current


def threads_of(threads: int | None) -> int:
    if threads is not None and threads < 0:
        raise ValueError(f"threads: {threads} is no number of threads; 0 is one for each processor")
    return threads or 0


def load(file: ModelFile, index: int, dtype: str, shape: tuple[int, ...], wanted: Any, device: Any,
         out: Any, threads: int | None, like: str | None) -> Any:
    """A tensor of a file as `dtype`, which is the name of `wanted` or of the tensor's own type."""
    _device.module()  # which says how to get it, where it is missing
    number = index_of(device)
    tensor = file.for_device(index, wanted)
    if out is None:
        if like is not None and like not in LIBRARIES:
            raise ValueError(f"like: {like!r:.100} is none of None, 'torch', 'cupy', 'jax'")
        library = like or ""
        if number is None:
            number = _current_device(library)
        result = new_result(library, dtype, shape, number, _device.DEFAULT_STREAM)
    else:
        view = _device.view_of_out(out, dtype, shape, "the tensor is for a CUDA device")
        if number is not None and number != view.device:
            raise ValueError(f"out: on cuda:{view.device}, and device is cuda:{number}")
        number = view.device
        result = Result(view, lambda: out)
    _loader_of(number).load(tensor, result.view.address, result.view.nbytes, result.view.stream,
                            threads_of(threads))
    return result.finish()


def load_bytes(source: Any, tensor: Any, threads: int | None) -> None:
    """Bytes of an open file, a capsule of the core, into a contiguous tensor of torch of just that
    size."""
    torch = importlib.import_module("torch")
    device = tensor.device.index
    stream = torch.cuda.current_stream(device).cuda_stream
    _loader_of(device).load_bytes(source, tensor.data_ptr(),
                                  tensor.numel() * tensor.element_size(), stream,
                                  threads_of(threads))


def side_by_side(names: Iterable[str], load_one: Callable[[str], Any],
                 device: Any) -> dict[str, Any]:
    """Name -> tensor of torch, each by load_one(name) on a thread whose current stream is that of
    the caller. The first failure ends all."""
    torch = importlib.import_module("torch")
    number = index_of(device)
    stream = torch.cuda.current_stream(_current_device("torch") if number is None else number)

    def on_stream(name: str) -> Any:
        with torch.cuda.stream(stream):
            return load_one(name)
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        futures = {name: pool.submit(on_stream, name) for name in names}
        try:
            return {name: future.result() for name, future in futures.items()}
        finally:
            for future in futures.values():
                future.cancel()

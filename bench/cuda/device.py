"""A device as the comparisons of this folder see it: its clock, and whether bits are equal. The
device "cpu" runs the same comparisons with dequant's functions for the CPU, to test them."""

import contextlib
import importlib.util
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import measure  # noqa: E402

WARM = 3  # calls before a measurement
PART = 1 << 24  # elements whose bits are compared at a time
BITS = {2: torch.int16, 4: torch.int32}


def missing(device):
    """Why nothing can be compared on a device, and what to do; empty if it can."""
    if device == "cpu":
        return ""
    if not torch.cuda.is_available():
        return "this torch sees no CUDA device: it needs one, a driver, and a build with CUDA"
    if importlib.util.find_spec("dequant._cuda") is None:
        return ("this package of dequant was built without CUDA: in the root of the repository, "
                "pip install . --config-settings=cmake.define.DEQUANT_CUDA=ON builds one with it")
    return ""


def name_of(device):
    return "CPU" if device == "cpu" else torch.cuda.get_device_name(device)


@contextlib.contextmanager
def stream_of(device):
    """A stream of its own is the current one: dequant, torch, bitsandbytes and ONNX Runtime all
    compute there, so that events on it measure each of them."""
    if device == "cpu":
        yield
        return
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream()):
        yield
        torch.cuda.synchronize()


def timed(run, count):
    """Seconds per call of so many calls on the current stream, between two events."""
    for _ in range(WARM):
        run()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / count


def timer_of(device):
    return measure.timed if device == "cpu" else timed


def differing(ours, theirs):
    """The number of elements with different bits, and the largest of the differences in units in
    the last place: 0 if only signs of zeros differ. All NaN are equal; NaN beside a number counts
    as a difference of None."""
    kind = BITS[ours.element_size()]
    count, largest, only_one = 0, 0, False
    for a, b in zip(ours.flatten().split(PART), theirs.flatten().split(PART), strict=True):
        unequal = a.view(kind) != b.view(kind)
        unequal &= ~(a.isnan() & b.isnan())
        found = int(unequal.sum())
        if not found:
            continue
        count += found
        a, b = a[unequal], b[unequal]
        only_one |= bool((a.isnan() | b.isnan()).any())
        steps = (in_order(a, kind) - in_order(b, kind)).abs()
        largest = max(largest, int(steps.max()))
    return count, None if only_one else largest


def in_order(values, kind):
    """Integers in the order of the floats, neighbours one apart."""
    bits = values.view(kind).long()
    return torch.where(bits < 0, torch.iinfo(kind).min - bits, bits)

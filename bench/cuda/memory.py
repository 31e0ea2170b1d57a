"""Peaks of memory while a checkpoint is loaded, and whether there is enough of it."""

import pathlib
import threading

import torch

EVERY = 0.02  # seconds between looks at the memory
GIB = 1 << 30


def host_bytes():
    """Memory of this process without mapped files: those are in the page cache anyway. Memory that
    a driver pins may be counted as shared, so that this is counted, too."""
    found = dict.fromkeys(("RssAnon", "RssShmem"), 0)
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in found:
            found[name] = int(value.split()[0]) * 1024
    return sum(found.values())


def device_bytes(device):
    """Memory in use on the whole device, by all processes."""
    if device == "cpu":
        return 0
    free, total = torch.cuda.mem_get_info(device)
    return total - free


class Peaks:
    """The peaks within a `with` block over what was in use at its start: `host` and `device`."""

    def __init__(self, device):
        self._device, self._stop = device, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._first = host_bytes(), device_bytes(self._device)
        self.host = self.device = 0
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._look()

    def _look(self):
        self.host = max(self.host, host_bytes() - self._first[0])
        self.device = max(self.device, device_bytes(self._device) - self._first[1])

    def _watch(self):
        while not self._stop.wait(EVERY):
            self._look()


def available():
    """Memory of the host that is free or that the system can free."""
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def missing(device, gib, times):
    """Why a checkpoint of `gib` GiB, dense `times` as large, is too large; empty if it is not."""
    dense, stored = gib * times, gib
    host = stored + (dense if device == "cpu" else 0)
    if host * GIB > available():
        return (f"--gib {gib}: {host:.1f} GiB of memory are needed for the page cache and "
                f"{available() / GIB:.1f} are available")
    if device != "cpu":
        free = torch.cuda.mem_get_info(device)[0] / GIB
        # Of the expression a file of 1 GiB is there as well, and what it computes on the way.
        needed = dense + 2 + 2 * times
        if needed > free:
            return (f"--gib {gib}: {needed:.1f} GiB are needed on the device, and {free:.1f} are "
                    "free")
    return ""

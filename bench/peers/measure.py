#!/usr/bin/env python3
"""Measures dequant and one peer alternately in one process; prints a line of JSON for each cell.

    measure.py PEER --threads N [--sizes 256Ki,256Mi] [--cells PATTERN] [--seconds S]

compare.py starts this in the Python environment of the peers.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

import cells
import engine

TURN = 0.02  # seconds of a measurement; a longer call is measured once
WARM = 0.005  # seconds of untimed calls before short timed calls
SETTLE = 0.02  # seconds of pause in which waiting threads stop spinning
PAIRS = (5, 15)
COMPARED = 1 << 22  # elements at the end of the output whose bits are compared


def timed(run, count, clock=time.perf_counter):
    """Seconds per call. Untimed calls before short calls warm the caches and wake the threads."""
    time.sleep(SETTLE)
    warm = clock() + WARM
    while count > 1 and clock() < warm:
        run()
    start = clock()
    for _ in range(count):
        run()
    return (clock() - start) / count


def calls(run, timer=timed):
    """The number of calls in a measurement of TURN seconds, with warm caches."""
    count = 1
    while (once := timer(run, count)) * count < TURN / 2:
        count *= 2
    return max(1, int(TURN / once))


def interleaved(ours, theirs, seconds, timer=timed):
    """Pairs of seconds per call; dequant and the peer alternate in being first. `timer(run, count)`
    gives the seconds per call of so many calls."""
    counts = calls(ours, timer), calls(theirs, timer)
    pairs, end = [], time.perf_counter() + seconds
    while len(pairs) < PAIRS[0] or (len(pairs) < PAIRS[1] and time.perf_counter() < end):
        if len(pairs) % 2 == 0:
            first = timer(ours, counts[0])
            pairs.append((first, timer(theirs, counts[1])))
        else:
            first = timer(theirs, counts[1])
            pairs.append((timer(ours, counts[0]), first))
    return pairs


def summary(pairs):
    """The median and the quartiles of the ratios: time of the peer divided by time of dequant."""
    ratios = [theirs / ours for ours, theirs in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return {"ratio": middle, "low": low, "high": high, "pairs": len(pairs),
            "seconds": statistics.median(ours for ours, _ in pairs),
            "peer_seconds": statistics.median(theirs for _, theirs in pairs)}


def compared(ours, task, y, cell):
    """The number of differing elements at the end of the output; empty if the peer has another
    formula."""
    if task.result is None:
        return {}
    width = cells.FLOATS[cell.y].itemsize
    y[:] = 0
    task.run()
    theirs = task.result()[-COMPARED * width:].copy()
    y[:] = 0
    ours.run()
    end = y[-COMPARED * width:]
    return {"compared": end.size // width, "differing": cells.differing(end, theirs, cell.y)}


def start_threads(lib, threads):
    """Starts dequant's threads before OpenMP binds this thread to a processor: threads inherit the
    binding of the thread that starts them."""
    cell = cells.CELLS[0]
    tensors, y = cells.Tensors(cell, 1 << 20), cells.output(cell, 1 << 20)
    warm = engine.Dequant(lib, cell, tensors, y, threads)
    warm.run()
    warm.close()


def measured(lib, peer, cell, size, threads, seconds):
    row = {"peer": peer.name, "cell": cell.name, "size": size, "threads": threads,
           "place": cells.CELLS.index(cell)}
    tensors = cells.Tensors(cell, cells.SIZES[size])
    y = cells.output(cell, cells.SIZES[size])
    try:
        task = peer.task(cell, tensors, y, threads)
        task.run()
    except Exception as error:  # each peer raises its own exceptions for missing operators
        return row | {"left_out": (str(error).strip() or repr(error)).splitlines()[-1][:200]}
    ours = engine.Dequant(lib, cell, tensors, y, threads)
    row |= summary(interleaved(ours.run, task.run, seconds)) | compared(ours, task, y, cell)
    ours.close()
    gelements = cells.SIZES[size] / row["seconds"] * 1e-9
    return row | {"gelements": gelements, "load": os.getloadavg()[0], "note": task.note}


def main():
    import peers
    parser = argparse.ArgumentParser(description="measures dequant and one peer alternately")
    parser.add_argument("peer", choices=peers.NAMES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", default=",".join(cells.SIZES))
    parser.add_argument("--cells", default="", help="regular expression of names")
    parser.add_argument("--seconds", type=float, default=3, help="for each cell, at least")
    options = parser.parse_args()
    lib = engine.library()
    start_threads(lib, options.threads)
    for peer in peers.load(options.peer, options.threads):
        for size in options.sizes.split(","):
            for cell in cells.CELLS:
                if re.search(options.cells, cell.name) and peer.can(cell, options.threads):
                    row = measured(lib, peer, cell, size, options.threads, options.seconds)
                    row |= {"version": peer.version, "target": lib.dequant_active_target().decode()}
                    print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

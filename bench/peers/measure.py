#!/usr/bin/env python3
"""Measures dequant and one peer, turn by turn, in one process; a line of JSON for each cell.

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

TURN = 0.02  # seconds that a turn takes, or one call if that is longer
WARM = 0.005  # seconds of calls before those that are timed
SETTLE = 0.02  # seconds in which the waiting threads of the other side stop spinning
PAIRS = (5, 15)
COMPARED = 1 << 22  # elements at the end of the output whose bits are compared


def timed(run, count, clock=time.perf_counter):
    """Seconds per call. Short calls follow others that warm the caches and wake the threads."""
    time.sleep(SETTLE)
    warm = clock() + WARM
    while count > 1 and clock() < warm:
        run()
    start = clock()
    for _ in range(count):
        run()
    return (clock() - start) / count


def calls(run):
    """How many calls make a turn: as many as a turn's time has room for, once they go fast."""
    count = 1
    while (once := timed(run, count)) * count < TURN / 2:
        count *= 2
    return max(1, int(TURN / once))


def interleaved(ours, theirs, seconds):
    """Pairs of seconds per call; who begins changes with every pair."""
    counts = calls(ours), calls(theirs)
    pairs, end = [], time.perf_counter() + seconds
    while len(pairs) < PAIRS[0] or (len(pairs) < PAIRS[1] and time.perf_counter() < end):
        if len(pairs) % 2 == 0:
            first = timed(ours, counts[0])
            pairs.append((first, timed(theirs, counts[1])))
        else:
            first = timed(theirs, counts[1])
            pairs.append((timed(ours, counts[0]), first))
    return pairs


def summary(pairs):
    """How many times as long the peer takes: the median of the pairs' ratios, and their
    quartiles."""
    ratios = [theirs / ours for ours, theirs in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return {"ratio": middle, "low": low, "high": high, "pairs": len(pairs),
            "seconds": statistics.median(ours for ours, _ in pairs),
            "peer_seconds": statistics.median(theirs for _, theirs in pairs)}


def compared(ours, task, y, cell):
    """Differing elements at the end of the output, or nothing where the peer computes something
    else."""
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
    """dequant's threads, before OpenMP binds this one to a processor, and with it all that it
    starts."""
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
    except Exception as error:  # what a peer lacks shows in its own way
        return row | {"left_out": (str(error).strip() or repr(error)).splitlines()[-1][:200]}
    ours = engine.Dequant(lib, cell, tensors, y, threads)
    row |= summary(interleaved(ours.run, task.run, seconds)) | compared(ours, task, y, cell)
    ours.close()
    gelements = cells.SIZES[size] / row["seconds"] * 1e-9
    return row | {"gelements": gelements, "load": os.getloadavg()[0], "note": task.note}


def main():
    import peers
    parser = argparse.ArgumentParser(description="dequant and one peer, turn by turn")
    parser.add_argument("peer", choices=peers.NAMES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", default=",".join(cells.SIZES))
    parser.add_argument("--cells", default="", help="a regular expression of names")
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

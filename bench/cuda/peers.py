#!/usr/bin/env python3
"""Compares dequant on a CUDA device with torch, bitsandbytes and ONNX Runtime on the same tensors.

    peers.py                                      all cells and peers, 256Mi elements
    peers.py --cells 'FP8|GPTQ' --peers torch,compile --elements 16777216
    peers.py --into docs/gpu.md                   replaces the tables of docs/gpu.md
    peers.py --device cpu --elements 524288       the same comparison on the CPU, to test it

dequant and a peer are measured in turns, by events on one stream; a ratio is the time of the peer
divided by that of dequant, the median over pairs. dequant and ONNX Runtime write into existing
memory, the other peers allocate their results, as their interfaces have it. Peers that are not
installed, and cells that a peer refuses, are left out and named on stderr.

Exit codes: 0 done, 1 dequant is slower than a peer or bits differ for no known reason, 2 usage,
5 the device or a package is missing.
"""

import argparse
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import tables  # noqa: E402

try:
    import device
    import others
    import schemes
    import torch
except ModuleNotFoundError as error:
    if {"-h", "--help"} & set(sys.argv):  # options need packages, the text above does not
        print(__doc__)
        raise SystemExit(0) from None
    print(f"peers: {error}: this comparison needs torch, numpy, ml_dtypes and dequant in the "
          f"environment of {sys.executable}", file=sys.stderr)
    raise SystemExit(5) from None

#: Name of a peer, pattern of cells, by how many units in the last place bits may differ, and why.
REASONS = [
    # A difference that cancels to almost zero differs by as many units as there are.
    ("torch.compile", "Q4_K", 1 << 16, "the compiler may contract a product and a difference into "
     "one operation, which rounds once instead of twice"),
    ("bitsandbytes", "FP4", 0, "some kernels of bitsandbytes give +0 for code 8 of FP4, others -0"),
]


def reason(row):
    """Why bits differ; empty for differences that no reason covers."""
    for peer, pattern, most, text in REASONS:
        if row["peer"] == peer and re.search(pattern, row["cell"]) \
                and row["largest"] is not None and row["largest"] <= most:
            return text
    return ""


def compared(cell, peer, rows, where, seconds):
    """A row of the report: None if the peer has no such operator, `left_out` says why it failed."""
    row = {"cell": cell.name, "peer": peer.name, "version": peer.version}
    tensors = cell.make(schemes.Random(where), rows)
    ours, theirs = (torch.empty(rows, schemes.COLUMNS, dtype=schemes.FLOATS[cell.output],
                                device=where) for _ in range(2))
    try:
        task = peer.task(cell, tensors, theirs)
        if task is None:
            return None
        found = task()
    except Exception as error:  # each peer raises its own exceptions for missing operators
        lines = str(error).strip().splitlines() or [repr(error)]
        return row | {"left_out": lines[-1][:200]}

    def run():
        cell.dequant(ours, **tensors)
    run()
    assert found.shape == ours.shape and found.dtype == ours.dtype, (cell.name, found.shape)
    row["differing"], row["largest"] = device.differing(ours, found)
    row["elements"], row["bytes"] = ours.numel(), moved(cell, tensors, ours)
    del found
    pairs = device.measure.interleaved(run, task, seconds, device.timer_of(where))
    return row | device.measure.summary(pairs)


def moved(cell, tensors, out):
    """Bytes that are read and written, without tensors that only the expression has."""
    return sum(t.nbytes for name, t in tensors.items()
               if name not in ("values", "shifts")) + out.nbytes


def bits_text(row):
    if not row["differing"]:
        return "equal"
    what = {None: "NaN beside numbers", 0: "signs of zeros"}.get(
        row["largest"], f"at most {row['largest']} ulp")
    return f"{row['differing']} of {row['elements']} differ, {what}: {reason(row) or 'UNEXPLAINED'}"


def left_out(rows):
    """A line for each peer and each reason why it computes no such cells."""
    found = {}
    for row in rows:
        if "left_out" in row:
            found.setdefault((row["peer"], row["left_out"]), []).append(row["cell"])
    return [textwrap.fill(f"* {peer} has no {'; '.join(cells)}: {why}", 100, subsequent_indent="  ")
            for (peer, why), cells in found.items()]


def table(every, where):
    """The table, the versions of the peers, and the cells that they do not have."""
    rows = [row for row in every if "ratio" in row]
    elements = rows[0]["elements"]
    heading = (f"{device.name_of(where)}, {tables.count(elements)} elements; a ratio is the time "
               "of the peer divided by that of dequant:")
    lines = [textwrap.fill(heading, 100), "",
             "| cell | dequant µs | GB/s | peer | peer µs | ratio | bits |",
             "| --- | ---: | ---: | --- | ---: | ---: | --- |"]
    for row in rows:
        lines.append(f"| {row['cell']} | {row['seconds'] * 1e6:.0f} | "
                     f"{row['bytes'] / row['seconds'] / 1e9:.0f} | {row['peer']} | "
                     f"{row['peer_seconds'] * 1e6:.0f} | {row['ratio']:.2f} | {bits_text(row)} |")
    versions = dict.fromkeys((row["peer"], row["version"]) for row in rows)
    said = "Versions: " + ", ".join(" ".join(pair) for pair in versions) + "."
    lines += ["", textwrap.fill(said, 100)]
    if without := left_out(every):
        lines += ["", *without]
    return "\n".join(lines)


def started(names, where):
    """The peers that are installed."""
    found = []
    for name in names:
        kind, package = others.PEERS[name]
        try:
            found.append(kind(where))
        except Exception as error:  # whatever an import of a package raises
            print(f"peers: {kind.name} is left out: {error}; pip install {package}",
                  file=sys.stderr)
    return found


def measured(options):
    """The rows of all cells and peers."""
    rows = []
    with device.stream_of(options.device):
        peers = started(options.peers, options.device)
        for cell in schemes.CELLS:
            for peer in peers if re.search(options.cells, cell.name) else []:
                row = compared(cell, peer, options.elements // schemes.COLUMNS, options.device,
                               options.seconds)
                if row is None:
                    continue
                said = row.get("left_out") or f"{row['ratio']:.2f}, bits: {bits_text(row)}"
                print(f"{row['cell']}, {row['peer']}: {said}", file=sys.stderr)
                rows.append(row)
                if options.device != "cpu":
                    torch.cuda.empty_cache()
    return rows


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu")
    parser.add_argument("--elements", type=int, default=1 << 28,
                        help=f"of each cell, a multiple of {schemes.STEP}")
    parser.add_argument("--cells", default="", metavar="PATTERN")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(others.PEERS),
                        help=",".join(others.PEERS))
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="for each cell and peer; at least five pairs are measured")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all rows")
    parser.add_argument("--into", type=pathlib.Path,
                        help="a document in which to replace the table named peers")
    options = parser.parse_args(arguments)
    if options.elements <= 0 or options.elements % schemes.STEP:
        parser.error(f"--elements: {options.elements} is no multiple of {schemes.STEP}")
    if unknown := set(options.peers) - set(others.PEERS):
        parser.error(f"--peers: {unknown.pop()!r} is none of {', '.join(others.PEERS)}")
    return options


def main(arguments=None):
    options = parsed(arguments)
    if options.into:
        tables.replace(options.into.read_text(), "peers", "")  # no document without its lines
    if why := device.missing(options.device):
        print(f"peers: {why}", file=sys.stderr)
        return 5
    every = measured(options)
    rows = [row for row in every if "ratio" in row]
    if options.json:
        options.json.write_text(json.dumps(every, indent=1) + "\n")
    if not rows:
        print("peers: no cell was compared", file=sys.stderr)
        return 5
    text = table(every, options.device)
    if options.into:
        document = options.into.read_text()
        options.into.write_text(tables.replace(document, "peers", f"\n{text}\n\n"))
    else:
        print(text)
    worse = [row for row in rows if row["ratio"] < 1 or (row["differing"] and not reason(row))]
    for row in worse:
        print(f"peers: {row['cell']}: the time of {row['peer']} is {row['ratio']:.2f} of that of "
              f"dequant, bits: {bits_text(row)}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

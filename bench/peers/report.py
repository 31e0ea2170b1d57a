"""Results as rows of a file and as tables. A row is the output of measure.py for one cell."""

import json

KEY = ("peer", "cell", "size", "threads")


def key(row):
    return tuple(row[name] for name in KEY)


def merged(old, new):
    """The rows of both; a new row replaces the old row of the same cell and peer."""
    rows = {key(row): row for row in old}
    rows.update({key(row): row for row in new})
    return list(rows.values())


def read(path):
    return json.loads(path.read_text())["rows"] if path.is_file() else []


def write(path, rows):
    path.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


def in_order(values, order):
    """Each value once: first in the order of `order`, then the other values in their own order."""
    found = dict.fromkeys(values)
    return list(dict.fromkeys([*(v for v in order if v in found), *found]))


def ratio_text(ratio):
    """The ratio with two significant digits: the measurements are not more precise."""
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def heading(size, threads):
    where = {"256Ki": "In the caches", "256Mi": "Beyond the caches"}.get(size, size)
    return f"{where} ({size} elements), {threads} thread{'s' if threads > 1 else ''}"


def table(rows, cell_order):
    """A Markdown table for each size and number of threads; a blank if a peer was not measured or
    has no such operator."""
    rows = [row for row in rows if "ratio" in row]
    lines = []
    for size, threads in dict.fromkeys((row["size"], row["threads"]) for row in rows):
        here = [row for row in rows if (row["size"], row["threads"]) == (size, threads)]
        peers = list(dict.fromkeys(row["peer"] for row in here))
        found = {(row["cell"], row["peer"]): row for row in here}
        lines += [heading(size, threads), ""]
        lines.append("| cell | dequant Gelements/s | " + " | ".join(peers) + " |")
        lines.append("|---" + "|---:" * (len(peers) + 1) + "|")
        for cell in in_order((row["cell"] for row in here), cell_order):
            speeds = [row["gelements"] for row in here if row["cell"] == cell]
            texts = [ratio_text(found[cell, peer]["ratio"]) if (cell, peer) in found else ""
                     for peer in peers]
            lines.append(f"| {cell} | {max(speeds):.2f} | " + " | ".join(texts) + " |")
        lines.append("")
    return "\n".join(lines)


def notes(rows):
    """Remarks below the tables: versions, notes, slower cells, differing bits."""
    rows = [row for row in rows if "ratio" in row]
    lines = []
    for peer in dict.fromkeys(row["peer"] for row in rows):
        mine = [row for row in rows if row["peer"] == peer]
        said = "; ".join(dict.fromkeys(row["note"] for row in mine if row["note"]))
        lines.append(f"{peer} {mine[-1]['version']}" + (f": {said}" if said else ""))
    loads = [row["load"] for row in rows if "load" in row]
    if loads:
        lines.append(f"Load average while measuring: {min(loads):.1f} to {max(loads):.1f}")
    same = [row for row in rows if row.get("differing") == 0]
    lines.append(f"The same bits in {len(same)} of the {sum('differing' in r for r in rows)} "
                 "measurements whose bits were compared")
    for row in rows:
        what = f"{row['peer']}, {row['cell']}, {row['size']}, threads {row['threads']}"
        if row.get("differing"):
            lines.append(f"{row['differing']} of {row['compared']} elements differ: {what}")
        if row["ratio"] < 1:
            lines.append(f"dequant is slower: {row['ratio']:.2f} ({row['low']:.2f} to "
                         f"{row['high']:.2f}): {what}")
    return "\n".join(f"* {line}" for line in lines)

#!/usr/bin/env python3
"""Makes Markdown tables from the output of `dequant bench --json`.

    dequant bench --elements 256Mi --json > native.json
    bench/tables.py native.json
    bench/tables.py native.json --into docs/measurements.md --name beyond

A table of cells has percentages of the ceiling, with a row for each input and output and a column
for each granularity, placement or rule; one of checkpoints has a row for each shape and a column
for each output, one of blocks a row for each type of GGUF.
A table of cliffs has the neighbour's percentage divided by
that of the cliff. If a file has measurements with one thread and with several, the last table has
the speedup of the cells and of their ceilings. With --into, the tables replace the lines between
`<!-- tables: NAME -->` and `<!-- end of tables -->` in a document.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

COLUMNS = {  # name in the report -> heading
    "per_tensor": "tensor", "per_axis_first": "axis first", "per_axis_middle": "axis middle",
    "per_axis_last": "axis last", "blocked_16_last": "block 16", "blocked_32_last": "block 32",
    "blocked_128_last": "block 128", "blocked_32_middle": "block 32 middle",
    "padded_x_scale_per_row": "strided, row", "padded_x_scale_per_column": "strided, column",
    "padded_x_scale_but_for_middle": "strided, middle", "padded_x": "strided x",
    "padded_y": "strided y", "padded_x_of_64": "strided x, rows of 64",
    "nhwc_to_nchw": "NHWC to NCHW", "nchw_to_nhwc": "NCHW to NHWC",
}
UNITS = ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


def count(elements):
    for unit, suffix in UNITS:
        if elements % unit == 0:
            return f"{elements // unit}{suffix}"
    return str(elements)


def place(cell):
    """The table, the row and the column of a cell."""
    row = f"{cell['input']} -> {cell['output']}"
    kind, *rest = cell["cell"].split("/")
    if kind == "cliff":
        return "cliffs", f"{cell['input']}, {rest[-1]}", cell["output"]
    if kind == "checkpoint":
        return "checkpoints", f"{cell['input']}, {rest[-1]}", cell["output"]
    if kind == "gguf":
        return "blocks", rest[-1], cell["output"]
    if kind == "ranges":
        return "ranges", row, " ".join(rest[2:]).replace("_", " ")
    name = rest[-1]
    return "cells", row, COLUMNS.get(name, name)


def table(cells, value):
    """Rows and columns in the order of the cells; a blank for a cell that was not measured."""
    rows, columns = {}, {}
    for cell in cells:
        _, row, column = place(cell)
        columns[column] = None
        rows.setdefault(row, {})[column] = value(cell)
    lines = [["cell", *columns], ["---", *["---:"] * len(columns)]]
    lines += [[row, *(values.get(column, "") for column in columns)]
              for row, values in rows.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(cell):
    return f"{cell['percent_of_ceiling']:.0f}"


def neighbours(cell):
    return f"{cell['times_neighbour']:.1f}"


def sizes(cells):
    """Groups of cells with about the same size: some shapes round the requested size."""
    groups = {}
    for cell in cells:
        groups.setdefault(round(math.log2(cell["elements"]) / 10), []).append(cell)
    return groups.values()


def tables(report):
    """Pairs of a heading and a table."""
    cells = report["cells"]
    threads = list(dict.fromkeys(cell["threads"] for cell in cells))
    for of_size in sizes(cells):
        elements = count(statistics.mode(cell["elements"] for cell in of_size))
        for number in threads:
            of_threads = [cell for cell in of_size if cell["threads"] == number]
            by = report["target"] if report.get("device") else \
                f"threads {number}, {report['target']}"
            size = (f"{count(report['output_bytes'])}B of output" if "output_bytes" in report
                    else f"{elements} elements")
            where = f"{size}, {by}"
            for kind, unit, value in (("cells", "percent of the ceiling", percent),
                                      ("ranges", "percent of the ceiling", percent),
                                      ("checkpoints", "percent of the ceiling", percent),
                                      ("blocks", "percent of the ceiling", percent),
                                      ("cliffs", "how many times as much of its ceiling the "
                                                 "neighbour reaches", neighbours)):
                chosen = [cell for cell in of_threads if place(cell)[0] == kind]
                if chosen:
                    yield f"{where}, {unit}:", table(chosen, value)
        if len(threads) > 1:
            yield from speedups(of_size, threads[-1], f"{elements} elements")


def speedups(cells, most, where):
    """The speedup by several threads, and in brackets the speedup of the ceiling."""
    def times(cell):
        one = alone[cell["cell"]]
        return (f"{one['seconds'] / cell['seconds']:.2f} "
                f"({one['ceiling_seconds'] / cell['ceiling_seconds']:.2f})")
    alone = {cell["cell"]: cell for cell in cells if cell["threads"] == 1}
    several = [cell for cell in cells if cell["threads"] == most and cell["cell"] in alone
               and place(cell)[0] != "cliffs"]
    if several:
        yield f"{where}, times as fast on {most} threads as on one (the ceiling):", \
            table(several, times)


def replace(document, name, text):
    """The document with `text` between the two lines for `name`."""
    begin, end = f"<!-- tables: {name} -->\n", "<!-- end of tables -->"
    before, found, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"tables: no lines '{begin.strip()}' and '{end}' in that document")
    return before + begin + text + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path, nargs="+",
                        help="an output of dequant bench --json")
    parser.add_argument("--into", type=pathlib.Path, help="a document in which to replace tables")
    parser.add_argument("--name", default="cells", help="name of the tables to replace")
    options = parser.parse_args()
    text = ""
    for path in options.report:
        for heading, lines in tables(json.loads(path.read_text())):
            text += f"\n{heading}\n\n{lines}\n"
    if options.into:
        options.into.write_text(replace(options.into.read_text(), options.name, text + "\n"))
    else:
        sys.stdout.write(text.lstrip("\n"))


if __name__ == "__main__":
    main()

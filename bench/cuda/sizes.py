#!/usr/bin/env python3
"""Makes the table of sizes of docs/gpu.md from the output of `device_bench --sizes`.

    sizes.py sizes.json --into docs/gpu.md

A row has the time of a call, the bytes that it reads and writes in a second, and the percentage of
the ceiling: the smallest size that is worth a launch is where the time begins to grow.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tables  # noqa: E402


def table(report):
    lines = [f"{report['target']}, {report['cells'][0]['cell']}:", "",
             "| elements | µs | GB/s | percent of the ceiling |", "| ---: | ---: | ---: | ---: |"]
    for cell in report["cells"]:
        lines.append(f"| {tables.count(cell['elements'])} | {cell['seconds'] * 1e6:.1f} | "
                     f"{cell['bytes_per_second'] / 1e9:.0f} | {cell['percent_of_ceiling']:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path,
                        help="a document in which to replace the table")
    options = parser.parse_args()
    text = "\n" + table(json.loads(options.report.read_text())) + "\n\n"
    if options.into:
        document = options.into.read_text()
        options.into.write_text(tables.replace(document, "sizes", text))
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()

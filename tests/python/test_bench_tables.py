"""bench/tables.py: every number of a report stands in the table, row and column that it belongs
to."""

import json
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "tables.py"


GROUPS = ("cliff", "ranges", "strided", "checkpoint", "gguf")


def cell(name, elements, threads, seconds, percent, times=None):
    kind = name.split("/")
    x, y = kind[1:3] if kind[0] in GROUPS else kind[:2]
    return {"cell": name, "input": x, "output": y, "elements": elements, "threads": threads,
            "seconds": seconds, "ceiling_seconds": seconds * percent / 100,
            "percent_of_ceiling": percent, "times_neighbour": times}


def report(tmp_path, *cells):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"target": "avx2", "cells": cells}))
    return path


def tables(*arguments, code=0):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == code, done.stderr
    return done


def test_cells_go_to_tables_of_their_kind_size_and_threads(tmp_path):
    path = report(
        tmp_path,
        cell("uint8/float32/per_tensor", 1 << 28, 1, 0.06, 101.6),
        cell("uint8/float32/per_tensor", 1 << 28, "all", 0.03, 97.2),
        cell("strided/uint8/float32/padded_x_scale_per_row", 1 << 28, 1, 0.07, 88.4),
        cell("ranges/int8/bfloat16/min_combined/per_axis_last", 1 << 28, 1, 0.1, 72.0),
        cell("checkpoint/uint8/float16/as_columns", 1 << 28, 1, 0.1, 33.0),
        cell("gguf/uint8/bfloat16/Q4_K", 1 << 28, 1, 0.1, 51.0),
        cell("cliff/uint8/float32/rank_8", (1 << 28) - 7, 1, 0.1, 30.0, 2.94),
        cell("int4/float16/blocked_32_last", 1 << 18, 1, 0.1, 41.0))
    assert tables(path).stdout == """\
256Mi elements, threads 1, avx2, percent of the ceiling:

| cell | tensor | strided, row |
| --- | ---: | ---: |
| uint8 -> float32 | 102 | 88 |

256Mi elements, threads 1, avx2, percent of the ceiling:

| cell | min combined per axis last |
| --- | ---: |
| int8 -> bfloat16 | 72 |

256Mi elements, threads 1, avx2, percent of the ceiling:

| cell | float16 |
| --- | ---: |
| uint8, as_columns | 33 |

256Mi elements, threads 1, avx2, percent of the ceiling:

| cell | bfloat16 |
| --- | ---: |
| Q4_K | 51 |

256Mi elements, threads 1, avx2, how many times as much of its ceiling the neighbour reaches:

| cell | float32 |
| --- | ---: |
| uint8, rank_8 | 2.9 |

256Mi elements, threads all, avx2, percent of the ceiling:

| cell | tensor |
| --- | ---: |
| uint8 -> float32 | 97 |

256Mi elements, times as fast on all threads as on one (the ceiling):

| cell | tensor |
| --- | ---: |
| uint8 -> float32 | 2.00 (2.09) |

256Ki elements, threads 1, avx2, percent of the ceiling:

| cell | block 32 |
| --- | ---: |
| int4 -> float16 | 41 |
"""


def test_a_document_gets_them_between_its_lines(tmp_path):
    path = report(tmp_path, cell("int4/float16/per_tensor", 1024, 1, 1, 55.0))
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- tables: one -->\nold\n<!-- end of tables -->\nafter\n"
                        "<!-- tables: two -->\nkept\n<!-- end of tables -->\n")
    for _ in range(2):  # the second time changes nothing
        tables(path, "--into", document, "--name", "one")
        text = document.read_text()
        assert text.startswith("before\n<!-- tables: one -->\n\n1Ki elements, threads 1")
        assert "| int4 -> float16 | 55 |\n\n<!-- end of tables -->\nafter\n" in text
        assert "old" not in text and text.count("| int4") == 1
        assert text.endswith("<!-- tables: two -->\nkept\n<!-- end of tables -->\n")


def test_a_document_without_these_lines_is_left_alone(tmp_path):
    path = report(tmp_path, cell("int4/float16/per_tensor", 1024, 1, 1, 55.0))
    document = tmp_path / "page.md"
    document.write_text("nothing here\n")
    done = tables(path, "--into", document, "--name", "one", code=1)
    assert "<!-- tables: one -->" in done.stderr
    assert document.read_text() == "nothing here\n"


def test_tables_of_a_device_say_bytes_of_output(tmp_path):
    path = tmp_path / "report.json"
    cells = [cell("uint8/float32/per_tensor", 1 << 28, 1, 0.06, 99.0),
             cell("uint8/float16/per_tensor", 1 << 29, 1, 0.06, 98.0)]
    path.write_text(json.dumps({"target": "GPU", "device": True, "output_bytes": 1 << 30,
                                "cells": cells}))
    assert tables(path).stdout == """\
1GiB of output, GPU, percent of the ceiling:

| cell | tensor |
| --- | ---: |
| uint8 -> float32 | 99 |
| uint8 -> float16 | 98 |
"""

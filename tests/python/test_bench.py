"""`dequant bench`: what it selects, reports and refuses. How fast the cells are is no test's
business."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import pytest

from support import dequant

SMALL = ("--elements", "4Ki", "--repeat", "1")


def bench(*arguments):
    return json.loads(dequant("bench", *SMALL, "--json", *arguments).stdout)


def listed(*arguments):
    return dequant("bench", "--list", *arguments).stdout.split()


def names(report):
    return [cell["cell"] for cell in report["cells"]]


def test_lists_select_what_matches_all_of_them():
    assert listed("--input", "uint8,int4", "--output", "b*", "--granularity", "per_axis_*") == [
        f"{x}/bfloat16/per_axis_{where}" for x in ("uint8", "int4")
        for where in ("first", "middle", "last")]


def test_without_options_the_usual_cells_are_meant_and_a_cell_glob_means_all():
    usual = listed()
    assert len(usual) == 99
    assert {name.split("/")[0] for name in usual} == {"uint8", "int4", "float8e4m3fn", "strided"}
    everything = listed("--cell", "*")
    assert set(usual) < set(everything)
    assert {name.split("/")[0] for name in everything} > {"ranges", "cliff", "uint32", "float4e2m1"}


def test_a_rule_means_all_its_inputs():
    assert listed("--rule", "documented_min_first") == [
        f"ranges/{x}/float32/documented_min_first"
        for x in ("uint8", "int8", "uint16", "int16", "int32")]


def test_json_has_the_documented_keys_and_they_agree():
    report = bench("--cell", "int4/float16/blocked_32_last", "--elements", "256Ki,512Ki",
                   "--threads", "1,all", "--target", "reference")
    assert list(report) == ["target", "processors", "last_level_cache_bytes", "cells", "threshold",
                            "below"]
    assert report["target"] == "reference"
    assert report["threshold"] is None and report["below"] == []
    assert [(c["elements"], c["threads"]) for c in report["cells"]] == [
        (4096, 1), (4096, "all"), (1 << 18, 1), (1 << 18, "all"), (1 << 19, 1), (1 << 19, "all")]
    for c in report["cells"]:
        assert list(c) == ["cell", "input", "output", "granularity", "rule", "elements", "threads",
                           "bytes", "seconds", "elements_per_second", "bytes_per_second", "ceiling",
                           "ceiling_seconds", "percent_of_ceiling", "way", "neighbour",
                           "times_neighbour"]
        assert (c["input"], c["output"], c["granularity"], c["rule"]) == (
            "int4", "float16", "blocked_32_last", "subtract_then_scale")
        # Codes, scales of two bytes, packed zero points, and the output.
        assert c["bytes"] == c["elements"] * (1 / 2 + 2 / 32 + 1 / 64 + 2)
        assert c["elements_per_second"] == pytest.approx(c["elements"] / c["seconds"])
        assert c["bytes_per_second"] == pytest.approx(c["bytes"] / c["seconds"])
        assert c["percent_of_ceiling"] > 0 and c["ceiling_seconds"] > 0
        assert c["ceiling"] in ("plain stores", "streaming stores")
        chunks = -(-c["elements"] * 2 // (1 << 18))
        assert c["way"] == f"groups, {chunks} chunk{'s' * (chunks > 1)} on reference"
        assert c["neighbour"] is None and c["times_neighbour"] is None


def test_a_cliff_is_measured_with_its_neighbour():
    report = bench("--cell", "cliff/uint8/float32/blocks_of_1")
    assert names(report) == ["uint8/float32/blocked_16_last", "cliff/uint8/float32/blocks_of_1"]
    neighbour, cliff = report["cells"]
    assert cliff["neighbour"] == neighbour["cell"]
    assert cliff["times_neighbour"] == pytest.approx(
        neighbour["percent_of_ceiling"] / cliff["percent_of_ceiling"])


def test_the_table_has_a_row_for_each_cell_and_size():
    out = dequant("bench", "--cell", "uint8/*/per_tensor", "--elements", "4Ki,8Ki", "--repeat", 1)
    title, *rows = out.stdout.splitlines()
    assert title.split() == ["cell", "elements", "threads", "Gelements/s", "GB/s", "%", "of",
                             "ceiling"]
    assert [row.split()[:3] for row in rows] == [
        [f"uint8/{y}/per_tensor", n, "1"] for n in ("4Ki", "8Ki")
        for y in ("float32", "float16", "bfloat16")]
    assert out.stderr == ""


def test_cells_below_a_threshold_are_listed_and_are_a_difference():
    cell = ("--cell", "uint8/float32/per_tensor")
    out = dequant("bench", *SMALL, *cell, "--below", "1000000", code=1).stdout
    assert "\n1 cell below 1000000 % of its ceiling:\n" in out
    assert out.splitlines()[-1].endswith("%  uint8/float32/per_tensor, 4Ki elements, threads: 1")
    done = dequant("bench", *SMALL, *cell, "--below", "1000000", "--json", code=1)
    report = json.loads(done.stdout)
    assert report["threshold"] == 1000000 and report["below"] == ["uint8/float32/per_tensor"]
    assert "0 cells below 1e-06 %" in dequant("bench", *SMALL, *cell, "--below", "1e-6").stdout


def test_without_a_choice_it_says_what_it_will_do():
    done = dequant("bench", "--elements", "1Ki", "--repeat", 1)
    assert done.stderr.startswith("99 cells: uint8, int4 and float8e4m3fn with every output")
    assert len(done.stdout.splitlines()) == 1 + 99


@pytest.mark.parametrize("arguments, message", [
    (("--input", "uint9"), 'no cell has the input "uint9"'),
    (("--cell", "uint8/*,nothing"), 'no cell has the name "nothing"'),
    (("--input", "uint4", "--rule", "scaled"), "no cell matches all of these"),
    (("--threads", "0"), "--threads: 0 is neither all nor 1 to 9999"),
    (("--threads", "two"), "--threads: two is neither"),
    (("--target", "mmx"), '"mmx" is not one of'),
    (("--elements", "0"), "--elements: 0 is not in 1 to 1Ti"),
    (("--elements", "many"), "many"),
    (("--repeat", "0"), "--repeat"),
    (("--below", "-1"), "--below"),
])
def test_wrong_arguments_are_named(arguments, message):
    done = dequant("bench", *arguments, code=2)
    assert message in done.stderr and done.stdout == ""


def test_what_needs_too_much_memory_is_refused_before_anything_is_measured():
    done = dequant("bench", "--cell", "uint8/float32/per_tensor", "--elements", "1Ki,512Gi", code=6)
    assert "uint8/float32/per_tensor with 549755813888 elements takes 2.5 TiB, but this machine " \
           "has " in done.stderr
    assert done.stdout == ""


def everything(master):
    """What was written to a terminal that nobody has open any more; a read may bring a part of
    it."""
    parts = []
    while True:
        try:
            parts.append(os.read(master, 1 << 16))
        except OSError:  # how Linux says that this was all
            return b"".join(parts).decode()


def on_terminal(columns, *arguments, **environment):
    """The end of the command, and what it wrote to a terminal on standard error."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    done = subprocess.run([os.environ["DEQUANT_CLI"], "bench", *SMALL, *arguments],
                          env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=terminal, timeout=120)
    os.close(terminal)
    shown = everything(master)
    os.close(master)
    return done, shown


def test_a_terminal_sees_which_cell_is_measured():
    done, shown = on_terminal(80, "--cell", "uint8/*/per_tensor", TERM="xterm")
    assert done.returncode == 0
    assert "2/3 uint8/float16/per_tensor" in shown and shown.endswith("\r\x1b[K")
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("columns", [2, 20, 29])
def test_a_line_wider_than_the_terminal_stayed_on_it(columns):
    _, shown = on_terminal(columns, "--cell", "uint8/*/per_tensor", TERM="xterm")
    lines = shown.replace("\x1b[K", "").split("\r")
    assert max(map(len, lines)) == min(columns - 1, len("2/3 uint8/bfloat16/per_tensor"))


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_control_sequences_sees_none(term):
    done, shown = on_terminal(80, "--cell", "uint8/*/per_tensor", TERM=term)
    assert done.returncode == 0 and shown == ""


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "0", "5%", ""])
def test_no_cell_was_below_nan(number):
    done = dequant("bench", *SMALL, "--below", number, code=2)
    assert f'--below: "{number}" is no number above 0' in done.stderr

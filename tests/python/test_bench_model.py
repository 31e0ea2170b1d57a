"""The benchmark of whole models measures what it says, keeps to its memory, and leaves nothing
behind."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "model" / "convert.py"
MIB = 1 << 20


def bench(folder, *arguments):
    return subprocess.run([sys.executable, SCRIPT, "--dequant", os.environ["DEQUANT_CLI"],
                           "--dir", folder, "--size", "32Mi", "--rounds", "2", *arguments],
                          text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120)


def test_report_as_json(tmp_path):
    done = bench(tmp_path, "--json", "--mem", "16Mi")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert 32 * MIB <= report["written_bytes"] < 33 * MIB and report["mem_bytes"] == 16 * MIB
    assert 0.2 < report["read_bytes"] / report["written_bytes"] < 0.3
    assert len(report["convert_seconds"]) == len(report["plain_seconds"]) == report["rounds"] == 2
    assert report["ratio"] > 0 and report["seconds"]["total"] < max(report["convert_seconds"])
    if not os.environ.get("DEQUANT_SANITIZED"):
        assert MIB < report["peak_bytes"] < 16 * MIB + 64 * MIB and report["peak_within_mem"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments, message",
                         [(["--size", "1Mi"], "32Mi"), (["--dequant", "/bin/false"], "1")])
def test_what_cannot_be_measured_is_an_error(arguments, message, tmp_path):
    done = bench(tmp_path, *arguments)
    assert done.returncode != 0 and message in done.stderr and done.stdout == ""
    assert list(tmp_path.iterdir()) == []

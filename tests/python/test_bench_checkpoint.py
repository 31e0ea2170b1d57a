"""The scripts of bench/checkpoint run, and print a line for each checkpoint. How fast conversions
are is no test's business."""

import argparse
import os
import pathlib
import subprocess
import sys

import pytest

from support import dequant

CLI = os.environ["DEQUANT_CLI"]
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench" / "checkpoint"


def lines_of(script, *arguments):
    done = subprocess.run([sys.executable, FOLDER / script, *map(str, arguments)], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("scheme", ["awq_gemv", "modelopt_int4", "nf4"])
def test_a_folder_is_converted_beside_a_copy(tmp_path, scheme):
    line = lines_of("folders.py", "--dequant", CLI, "--in", tmp_path, "--gib", 0.01,
                    "--rounds", 1, "--only", scheme)[-1]
    assert line.startswith(f"{scheme} ") and "ratio" in line


def test_a_gguf_file_is_converted_beside_a_copy(tmp_path):
    line = lines_of("gguf_files.py", "--dequant", CLI, "--in", tmp_path, "--gib", 0.01,
                    "--rounds", 1, "--types", "Q8_0")[-1]
    assert line.startswith("Q8_0 ") and "ratio" in line


def test_a_peer_is_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(FOLDER)
    import peers  # pylint: disable=import-outside-toplevel

    def peer(_scheme, _peer, source, target, _threads):
        dequant("convert", source, "-o", target, "--dtype", peers.DTYPES["fp8"])
        return 2.0, 1.0
    monkeypatch.setattr(peers, "PEERS", {"fp8": ["itself"]})
    monkeypatch.setattr(peers, "measure_peer", peer)
    peers.measure("fp8", argparse.Namespace(where=tmp_path, gib=0.01, rounds=1, threads=1),
                  CLI)
    line = capsys.readouterr().out
    assert line.startswith("| fp8 | itself | ") and line.endswith(" | 1.0 | yes |\n")

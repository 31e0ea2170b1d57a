"""bench/peers: how ratios are made and shown, and that dequant is asked for what its peers are
asked for."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import cells  # noqa: E402
import install  # noqa: E402
import measure  # noqa: E402
import picture  # noqa: E402
import report  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def row(peer="other", cell="a -> b", size="256Ki", threads=1, ratio=2.0, **more):
    return {"peer": peer, "cell": cell, "size": size, "threads": threads, "ratio": ratio,
            "low": ratio, "high": ratio, "gelements": 5.0, "note": "", "version": "1", **more}


def test_a_ratio_is_the_median_of_pairs_and_not_of_sides():
    # The second pair was disturbed on both sides alike, the third on one.
    found = measure.summary([(1.0, 2.0), (10.0, 20.0), (1.0, 30.0), (2.0, 4.0), (1.0, 2.0)])
    assert found["ratio"] == 2.0
    assert (found["low"], found["high"], found["pairs"]) == (2.0, 2.0, 5)
    assert (found["seconds"], found["peer_seconds"]) == (1.0, 4.0)


def test_turns_alternate_and_a_turn_is_timed_per_call(monkeypatch):
    """A clock that only the two sides move: ours by 1 ms a call, theirs by 3 ms."""
    now, calls = [0.0], []

    def side(name, seconds):
        def run():
            calls.append(name)
            now[0] += seconds
        return run
    monkeypatch.setattr(measure.time, "sleep", lambda _: None)
    monkeypatch.setattr(measure.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(measure.timed, "__defaults__", (lambda: now[0],))
    pairs = measure.interleaved(side("ours", 1e-3), side("theirs", 3e-3), 0)
    assert len(pairs) == measure.PAIRS[0]
    assert pairs == pytest.approx(np.array([[1e-3, 3e-3]] * len(pairs)))
    turns = [name for name, before in zip(calls, ["", *calls]) if name != before]
    # Turns of each to see how long they take; then five pairs: neighbours begin with the same side.
    assert turns == ["ours", "theirs"] * 4


def test_bits_are_compared_with_nan_as_one_class():
    ours = np.array([0x3F800000, 0x7FC00000, 0x00000000, 0x7F800000], np.uint32).view(np.uint8)
    theirs = np.array([0x3F800000, 0xFFC00001, 0x80000000, 0x7FC00000], np.uint32).view(np.uint8)
    assert cells.differing(ours, ours, "float32") == 0
    assert cells.differing(ours, theirs, "float32") == 2  # the zero's sign, infinity for NaN
    assert cells.differing(ours[:8], theirs[:8], "bfloat16") == 1  # 0x0000 and 0x0001


@pytest.mark.parametrize("cell", cells.CELLS, ids=lambda cell: cell.name)
def test_tensors_have_the_sizes_that_their_cell_says(cell):
    elements = 1 << 18
    tensors = cells.Tensors(cell, elements)
    assert np.prod(tensors.shape) == elements
    assert tensors.x.size * 8 == elements * cells.BITS[cell.x]
    assert tensors.scale.shape == tensors.scale_shape
    assert tensors.scale.dtype == cells.FLOATS[cell.y]
    if tensors.zero_point is not None:
        assert tensors.zero_points(cell).shape == tensors.scale_shape
        assert tensors.zero_point.size * 8 == tensors.scale.size * cells.BITS[cell.x]
    assert cells.output(cell, elements).size == elements * cells.FLOATS[cell.y].itemsize


def test_newer_rows_take_the_place_of_older():
    old = [row(ratio=2.0), row(peer="third", ratio=5.0)]
    found = report.merged(old, [row(ratio=3.0), row(threads=2, ratio=4.0)])
    assert [r["ratio"] for r in found] == [3.0, 5.0, 4.0]


def test_the_table_has_a_line_for_each_cell_and_a_blank_where_a_peer_cannot():
    rows = [row("A", "x", ratio=9.96), row("B", "y", ratio=0.456),
            {"peer": "A", "cell": "y", "size": "256Ki", "threads": 1, "left_out": "cannot"}]
    lines = report.table(rows, ["y", "x"]).splitlines()
    assert lines[0] == "In the caches (256Ki elements), 1 thread"
    assert lines[2:] == ["| cell | dequant Gelements/s | A | B |", "|---|---:|---:|---:|",
                         "| y | 5.00 |  | 0.46 |", "| x | 5.00 | 10 |  |"]
    assert "* dequant is slower: 0.46 (0.46 to 0.46): B, y, 256Ki, threads 1" in report.notes(rows)


def test_differing_bits_are_told():
    said = report.notes([row(compared=10, differing=0), row("B", compared=10, differing=3)])
    assert "The same bits in 1 of the 2 measurements" in said
    assert "3 of 10 elements differ: B, a -> b, 256Ki, threads 1" in said


def test_the_picture_is_well_formed_and_has_a_bar_for_each_row_of_one_thread():
    rows = [row("A & B", "x <- y", ratio=0.5), row("A & B", "x <- y", threads=2),
            row("C", "x <- y", ratio=300.0), row("C", "z", size="256Mi"),
            {"peer": "C", "cell": "none", "size": "256Ki", "threads": 1, "left_out": "cannot"}]
    root = ElementTree.fromstring(picture.svg(rows, ["z", "x <- y"], "compare.py --all",
                                              "one < two"))
    assert root.find(f"{SVG}desc").text == "Made by: compare.py --all. Machine: one < two"
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert len(bars) == 3
    assert [line.get("class") for line in root.iter(f"{SVG}line")].count("two") == 1
    width, height = float(root.get("width")), float(root.get("height"))
    for bar in bars:
        assert 0 < float(bar.get("x")) < float(bar.get("x")) + float(bar.get("width")) < width
        assert 0 < float(bar.get("y")) < height
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "x <- y" in texts and "none" not in texts


def test_bars_reach_as_far_as_the_logarithm_of_their_ratio():
    axis = picture.Axis([0.5, 100.0], 7)
    one, ten, hundred = (axis.place(ratio) for ratio in (1, 10, 100))
    assert hundred - ten == pytest.approx(ten - one)
    assert axis.place(0.5) > 7


def test_each_peer_has_its_own_requirements():
    everyone = install.requirements([])
    assert [line.partition("==")[0] for line in everyone] == ["ml_dtypes", "numpy"]
    assert "gguf" in {line.partition("==")[0] for line in install.requirements(["gguf"])}
    assert not any(line.startswith("torch") for line in install.requirements(["onnxruntime"]))


def compare(*arguments):
    return subprocess.run([sys.executable, PEERS / "compare.py", *arguments], capture_output=True,
                          text=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}, check=False)


def test_results_become_a_table_and_a_picture(tmp_path):
    results, drawn = tmp_path / "results.json", tmp_path / "peers.svg"
    report.write(results, [row("XNNPACK", "late", place=1), row("numpy", "early", place=0)])
    asked = ("--render", "--results", results, "--picture", drawn)
    done = compare(*asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert "| cell | dequant Gelements/s | numpy | XNNPACK |" in done.stdout
    assert done.stdout.index("| early |") < done.stdout.index("| late |")
    assert ElementTree.parse(drawn).getroot().tag == f"{SVG}svg"
    told = json.loads(compare(*asked, "--json").stdout)
    assert [r["peer"] for r in told["rows"]] == ["numpy", "XNNPACK"]


@pytest.mark.parametrize("more", [{"ratio": 0.9}, {"compared": 9, "differing": 1}])
def test_a_slower_cell_or_other_bits_are_exit_code_1(tmp_path, more):
    results = tmp_path / "results.json"
    report.write(results, [row(place=0, **more)])
    assert compare("--render", "--results", results, "--picture", tmp_path / "p").returncode == 1


@pytest.mark.parametrize("wrong", [["--peers", "none"], ["--cells", "("], ["--threads", "9"]])
def test_wrong_usage_is_exit_code_2(wrong):
    done = compare(*wrong)
    assert (done.returncode, done.stdout) == (2, "")


def test_no_results_are_told(tmp_path):
    done = compare("--render", "--results", tmp_path / "none.json")
    assert (done.returncode, done.stdout) == (5, "")
    assert "no results" in done.stderr


@pytest.fixture(scope="module")
def library():
    """dequant's shared library, as compare.py builds it."""
    import engine
    folder = pathlib.Path(os.environ.get("DEQUANT_PEERS") or install.FOLDER)
    if not (folder / "libdequant.so").is_file():
        pytest.skip(f"SHARED LIBRARY MISSING: no {folder}/libdequant.so; bench/peers/compare.py "
                    "builds it")
    return engine.library()


@pytest.mark.parametrize("cell", [c for c in cells.CELLS if c.linear], ids=lambda cell: cell.name)
def test_dequant_and_numpy_compute_the_same_bits(library, cell):
    compare_bits(library, "numpy", cell)


@pytest.mark.parametrize("cell", [c for c in cells.CELLS if c.linear and c.y != "bfloat16"],
                         ids=lambda cell: cell.name)
def test_dequant_and_onnx_runtime_compute_the_same_bits(library, cell):
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("NO ONNXRUNTIME")
    compare_bits(library, "onnxruntime", cell)


def compare_bits(library, name, cell):
    import engine
    import peers
    elements = 1 << 14
    tensors, y = cells.Tensors(cell, elements), cells.output(cell, elements)
    [peer] = peers.load(name, 1)
    ours = engine.Dequant(library, cell, tensors, y, 1)
    found = measure.compared(ours, peer.task(cell, tensors, y, 1), y, cell)
    ours.close()
    assert found == {"compared": elements, "differing": 0}

"""`dequant convert` as a command: options, the report, exit codes, and files that are never
lost."""

import json

import pytest

from arithmetic import codes
from support import (TENSORS, convert, dequant, dq, model, names, node, op_types, reasons, save,
                     value)


@pytest.fixture
def source(tmp_path):
    """A model with three nodes: two of constants, one of an input."""
    nodes = [dq(name="first"), dq("w scale zero", "z", "second"), dq("in scale zero", "v", "third")]
    w = codes("int8", [[3, 1, 4], [1, 5, 9]]).tensor("w")
    return save(model(nodes, [value("in", "int8")], ["y", "z", "v"], [*TENSORS, w]),
                tmp_path / "in.onnx")


@pytest.mark.parametrize("options, folded", [
    ([], ["first", "second"]),
    (["--include", "first"], ["first"]),            # the name of a node
    (["--include", "z"], ["second"]),               # of its output
    (["--include", "w"], ["second"]),               # of its x
    (["--include", "?"], ["first", "second"]),
    (["--include", "f*", "--include", "s*"], ["first", "second"]),
    (["--include", "[a-f]irst"], ["first"]),
    (["--include", "irst"], []),                    # a glob is about the whole name
    (["--include", "third"], []),
    (["--exclude", "*irst"], ["second"]),
    (["--exclude", "y", "--exclude", "z"], []),
    (["--include", "*", "--exclude", "x"], ["second"]),
])
def test_globs_choose_nodes(source, options, folded):
    _, report = convert(source, *options)
    assert [f["node"] for f in report["folded"]] == folded


def test_a_glob_that_matches_nothing_was_obeyed_in_silence(source, tmp_path):
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--include", "first",
                   "--include", "frist", "--exclude", "w*", "--exclude", "*q")
    assert done.stderr == ('dequant: warning: include "frist" matches no quantized tensor\n'
                           'dequant: warning: exclude "*q" matches no quantized tensor\n')


def test_node_not_chosen_is_left_with_the_reason(source):
    _, report = convert(source, "--exclude", "first")
    assert reasons(report) == {"first": "not selected by include and exclude",
                               "third": "in is an input of the graph"}


def test_dry_run_reports_the_same_and_writes_nothing(source, tmp_path):
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--dry-run", "--json")
    assert [p.name for p in tmp_path.iterdir()] == ["in.onnx"]
    dry = json.loads(done.stdout)
    _, wet = convert(source)
    assert (dry.pop("dry_run"), wet.pop("dry_run")) == (True, False)
    seconds, _ = dry.pop("seconds"), wet.pop("seconds")
    assert [seconds[k] for k in ("read", "dequantize", "write", "flush")] == [0, 0, 0, 0]
    assert dry == wet


def test_report_has_exactly_these_keys(source, tmp_path):
    _, report = convert(source)
    assert list(report) == ["input", "output", "dry_run", "folded", "stripped", "inputs_changed",
                            "outputs_changed", "left", "totals", "seconds", "cleaned", "warnings"]
    assert [list(f) for f in report["folded"]] == 2 * [
        ["node", "domain", "output", "constant", "x", "type", "scale_type", "output_type", "shape",
         "granularity", "granularity_text", "axis", "block_size", "bytes", "float_bytes"]]
    assert [list(left) for left in report["left"]] == [["node", "op_type", "domain", "output",
                                                        "reason"]]
    assert list(report["totals"]) == [
        "folded", "stripped", "left", "removed_initializers", "removed_nodes", "quantized_bytes",
        "float_bytes", "model_bytes_in", "model_bytes_out", "data_file", "data_bytes"]
    seconds = report["seconds"]
    assert list(seconds) == ["total", "decide", "read", "dequantize", "write", "flush"]
    assert all(s > 0 for s in seconds.values())
    assert seconds["total"] > seconds["decide"] + seconds["flush"]


def test_report_tells_what_was_done(source, tmp_path):
    _, report = convert(source)
    assert report["folded"][0] == {
        "node": "first", "domain": "", "output": "y", "constant": "y", "x": "x", "type": "int8",
        "scale_type": "float32", "output_type": "float32", "shape": [2, 3],
        "granularity": "per_tensor", "granularity_text": "per tensor", "axis": None,
        "block_size": 0, "bytes": 6 + 4 + 1, "float_bytes": 24}
    assert report["totals"] == {
        "folded": 2, "stripped": 0, "left": 1, "removed_initializers": 2, "removed_nodes": 2,
        "quantized_bytes": 17, "float_bytes": 48, "model_bytes_in": source.stat().st_size,
        "model_bytes_out": (tmp_path / "out.onnx").stat().st_size, "data_file": "", "data_bytes": 0}


def test_report_for_people_names_every_node(source, tmp_path):
    text = dequant("convert", source, "-o", tmp_path / "out.onnx").stdout
    for word in ["y", "z", "third", "in is an input of the graph", "int8 -> float32", "[2, 3]",
                 "per tensor",
                 "2 dequantizations folded", "1 left"]:
        assert word in text


def test_quiet_prints_nothing(source, tmp_path):
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


def test_output_that_exists_is_kept(source, tmp_path):
    (tmp_path / "out.onnx").write_text("precious")
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", code=5)
    assert "exists; --force replaces it" in done.stderr
    assert (tmp_path / "out.onnx").read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.onnx", "out.onnx"]


def test_force_replaces_the_output(source, tmp_path):
    (tmp_path / "out.onnx").write_text("worthless")
    converted, _ = convert(source, "--force")
    assert names(converted) == ["scale", "zero", "y", "z"]


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_input_is_never_the_output(source, options, tmp_path):
    before = source.read_bytes()
    (tmp_path / "link.onnx").hardlink_to(source)
    for path in [source, tmp_path / "link.onnx", tmp_path / "." / "in.onnx"]:
        assert "is the input itself" in dequant("convert", source, "-o", path, *options,
                                                code=5).stderr
    assert source.read_bytes() == before


@pytest.mark.parametrize("target", ["nowhere/out.onnx", ".", "in.onnx/out.onnx"])
def test_output_that_cannot_be_written_is_an_error(source, target, tmp_path):
    assert "dequant: error: " in dequant("convert", source, "-o", tmp_path / target, code=5).stderr


def test_missing_input_is_an_error(tmp_path):
    done = dequant("convert", tmp_path / "none.onnx", "-o", tmp_path / "out.onnx", code=5)
    assert "none.onnx" in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [[], ["in.onnx"], ["in.onnx", "-o"],
                                       ["in.onnx", "-o", "a", "b"],
                                       ["in.onnx", "-o", "a", "-T", "-1"],
                                       ["in.onnx", "-o", "a", "--what"]])
def test_wrong_usage_is_an_error(arguments, tmp_path):
    assert dequant("convert", *arguments, code=2, cwd=tmp_path).stderr
    assert not list(tmp_path.iterdir())


def test_output_may_be_in_the_current_folder(source, tmp_path):
    dequant("convert", "in.onnx", "-o", "out.onnx", cwd=tmp_path)
    assert (tmp_path / "out.onnx").exists()


def test_model_without_name_and_nodes_without_names_are_reported(tmp_path):
    proto = model([dq(name=""), node("Relu", "y", "z")], outputs=["z"], initializers=TENSORS)
    proto.graph.name = "g"
    converted, report = convert(save(proto, tmp_path / "in.onnx"))
    assert (report["folded"][0]["node"], report["folded"][0]["output"]) == ("", "y")
    assert op_types(converted) == ["Relu"]


# What a dry run promises.

@pytest.mark.parametrize("options", [[], ["--external-data"]])
@pytest.mark.parametrize("output, word", [("there.onnx", "exists"), ("no/folder.onnx", "folder"),
                                          ("", "no file name"), (".", "is not a regular file")])
def test_dry_run_fails_where_the_run_would(options, output, word, source, tmp_path):
    (tmp_path / "there.onnx").write_text("precious")
    before = sorted(p.name for p in tmp_path.iterdir())
    errors = [dequant("convert", source, "-o", output, *options, *dry, cwd=tmp_path, code=5).stderr
              for dry in ([], ["--dry-run"])]
    assert errors[0] == errors[1] and word in errors[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == before

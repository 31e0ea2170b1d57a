"""`dequant op` as a program: files in and out, reports, help, exit codes, hostile .npy."""

import json
import os
import re

import numpy as np
import pytest

from hostile_support import LIMITED, MIB, assert_error, listing, run
from op_support import F, linear, op, rng, same_bits  # noqa: F401 (fixtures)
from support import dequant

DIALECTS = ["onnx", "microsoft", "tensorflow", "directml", "webnn"]
X, SCALE, ZERO = np.int8([[-128, 0, 127]]), F([[0.5]]), np.int8([[1]])


def webnn(op, *options, code=0, **arrays):
    return op.run("webnn", *options, code=code,
                  **({"x": X, "scale": SCALE, "zero_point": ZERO} | arrays))


# Reports.

def test_the_report_names_plan_tensors_and_output(op):
    lines = webnn(op).stdout.splitlines()
    assert lines[0].startswith("webnn: int8[")
    assert [line.split() for line in lines[1:]] == [
        ["tensor", "type", "shape", "file"], ["x", "int8", "[1,", "3]", "x.npy"],
        ["scale", "float32", "[1,", "1]", "scale.npy"],
        ["zero_point", "int8", "[1,", "1]", "zero_point.npy"],
        ["y", "float32", "[1,", "3]", "y.npy"], ["y.npy", "(140", "B)"]]
    assert (op.folder / "y.npy").stat().st_size == 140


def test_the_report_shows_numbers_as_they_were_given(op):
    done = op.run("tensorflow", x=np.uint8([[1], [2]]), min="-1,+0.5", max="1,2e0", axis=0)
    assert re.search(r"^min_range +float32 +\[2\] +-1,\+0.5$", done.stdout, re.M), done.stdout


def test_json_has_stable_keys(op):
    report = json.loads(webnn(op, "--json").stdout)
    plan = report.pop("plan")
    assert plan.startswith("int8[") and report == {
        "dialect": "webnn", "dry_run": False,
        "inputs": [{"name": "x", "type": "int8", "shape": [1, 3], "file": "x.npy"},
                   {"name": "scale", "type": "float32", "shape": [1, 1], "file": "scale.npy"},
                   {"name": "zero_point", "type": "int8", "shape": [1, 1],
                    "file": "zero_point.npy"}],
        "output": {"type": "float32", "stored_type": "float32", "shape": [1, 3], "file": "y.npy",
                   "bytes": 140},
        "warnings": []}


def test_json_of_numbers_and_bfloat16(op):
    report = json.loads(op.run("tensorflow", "--json", "--dtype=bfloat16", x=np.uint8([1, 2]),
                               min="0", max="1").stdout)
    assert report["inputs"][1:] == [{"name": f"{m}_range", "type": "float32", "shape": [],
                                     "file": None} for m in ("min", "max")]
    assert (report["output"]["type"], report["output"]["stored_type"]) == ("bfloat16", "float32")
    assert report["output"]["bytes"] == (op.folder / "y.npy").stat().st_size


def test_dry_run_plans_and_writes_nothing(op):
    done = webnn(op, "--dry-run")
    assert done.stdout.endswith("y.npy (140 B), not written (--dry-run)\n")
    report = json.loads(webnn(op, "-n", "--json").stdout)
    assert report["dry_run"] and report["output"]["bytes"] == 140
    assert listing(op.folder) == ["scale.npy", "x.npy", "zero_point.npy"]
    assert "zero" in webnn(op, "--dry-run", code=2, zero_point=np.uint8([[1]])).stderr


def test_bytes_after_the_data_are_worth_a_warning(op):
    op.write(x=X)
    with open(op.folder / "x.npy", "ab") as file:
        file.write(b"more")
    done = webnn(op, "--json", x="x.npy")
    assert done.stderr == "dequant: warning: x.npy: 4 bytes after the data are ignored\n"
    assert len(json.loads(done.stdout)["warnings"]) == 1


# Arrays.

@pytest.mark.parametrize("dtype, order", [("<i2", "F"), (">i2", "C"), (">i2", "F")])
def test_arrays_of_any_order_are_read(dtype, order, op, rng):
    x = np.asarray(rng.integers(-99, 99, [4, 5, 6]), dtype, order=order)
    scale = np.asarray(rng.normal(size=5), ">f4")
    y = op("onnx", x=x, scale=scale)
    same_bits(y, linear(x, scale.astype("<f4").reshape(5, 1), 0))


@pytest.mark.parametrize("shape", [[], [0], [3, 0, 2], [1] * 12])
def test_shapes_without_many_elements(shape, op):
    y = op("onnx", "--axis=0", x=np.ones(shape, "u1"), scale=F(3))
    same_bits(y, np.full(shape, 3, "f4"))


@pytest.mark.parametrize("threads", ["0", "1", "3"])
def test_large_tensors_are_the_same_on_any_number_of_threads(threads, op, rng):
    x = rng.integers(-128, 128, [1000, 3001]).astype("i1")
    scale = rng.normal(size=3001).astype("f4")
    same_bits(op("onnx", f"-T{threads}", x=x, scale=scale), linear(x, scale, 0))


def test_types_that_only_have_a_width_must_be_told(op):
    x = np.array([b"\1\2"], "V2")
    done = op.run("onnx", x=x, scale=F(1), code=2)
    assert "--x: x.npy: type '|V2' gives only the width" in done.stderr
    assert "--x-type says what they are" in done.stderr
    assert "--zero-point: " in op.run("onnx", x=np.uint16([1]), scale=F(1), zero_point=x,
                                      code=2).stderr


@pytest.mark.parametrize("options, word", [
    (["--x-type=int5"], '--x-type: "int5" is not an element type'),
    (["--x-type=quint8"], '--x-type: "quint8"'), (["--scale-type=half"], '--scale-type: "half"'),
    (["--x-type=int16"], "--x: x.npy: type '|i1' cannot hold int16"),
    (["--scale-type=float16"], "--scale: scale.npy: type '<f4' cannot hold float16"),
    (["--x-type=int4"], "x.npy: element 0 in row-major order is -128, which does not fit int4")])
def test_types_must_be_those_that_the_arrays_hold(options, word, op):
    code = 3 if "int4" in options[0] else 2
    assert word in op.run("onnx", *options, x=X, scale=F(1), code=code).stderr
    assert not (op.folder / "y.npy").exists()


# Outputs.

def test_an_existing_output_is_replaced_only_by_force(op):
    (op.folder / "y.npy").write_text("precious")
    assert "y.npy exists; --force replaces it" in webnn(op, code=5).stderr
    assert (op.folder / "y.npy").read_text() == "precious"
    webnn(op, "--force")
    same_bits(np.load(op.folder / "y.npy"), linear(X, SCALE, ZERO))


@pytest.mark.parametrize("target", ["x.npy", "./scale.npy", "zero_point.npy", "link"])
@pytest.mark.parametrize("options", [[], ["--force"], ["--dry-run"]])
def test_the_output_is_never_an_input(target, options, op):
    webnn(op, "--dry-run")
    os.symlink("x.npy", op.folder / "link")
    before = {name: (op.folder / name).read_bytes() for name in listing(op.folder)}
    done = dequant("op", "webnn", "--x=x.npy", "--scale=scale.npy", "--zero-point=zero_point.npy",
                   "-o", target, *options, code=5, cwd=op.folder)
    assert "is an input; name another output" in done.stderr
    assert before == {name: (op.folder / name).read_bytes() for name in listing(op.folder)}


def test_the_output_is_never_the_description(op):
    (op.folder / "op.json").write_text("{}")
    done = dequant("op", "directml", "--desc=op.json", "--x=x.npy", "--scale=s.npy", "-oop.json",
                   "--force", code=5, cwd=op.folder)
    assert "op.json is an input" in done.stderr


@pytest.mark.parametrize("target, words", [
    (".", "\".\" is no file name"), ("none/y.npy", "folder none: No such"),
    ("x.npy/y.npy", "folder x.npy: Not a")])
def test_outputs_that_cannot_be_written_are_named(target, words, op):
    webnn(op, "--dry-run")
    before = listing(op.folder)
    done = dequant("op", "webnn", "--x=x.npy", "--scale=scale.npy", "--zero-point=zero_point.npy",
                   "-o", target, "--force", code=5, cwd=op.folder)
    assert words in done.stderr
    assert listing(op.folder) == before


def test_failures_leave_no_file(op):
    """A zero point of a float8 x is looked at when it runs, after the output was begun."""
    done = op.run("onnx", "--x-type=float8e5m2", code=2, x=np.uint8([1, 2]), scale=F(1),
                  zero_point=np.uint8(60))
    assert "onnx: zero_point" in done.stderr
    assert listing(op.folder) == ["scale.npy", "x.npy", "zero_point.npy"]


# Hostile files.

HEADER = "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }"


def npy(header, data=b"\0\0\0"):
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize("content, code", [
    (b"", 3), (b"\x93NUMPY", 3), (npy(HEADER)[:40], 3), (npy(HEADER, b"\0\0"), 3),
    (b"PK\3\4zip", 4),
    (b"nothing at all", 3), (npy(HEADER.replace("|i1", "<f8")), 4),
    (npy(HEADER.replace("|i1", "|O")), 4), (npy(HEADER.replace("3,", "-3,")), 3),
    (npy(HEADER.replace("3,", "9" * 30 + ",")), 3), (npy(HEADER.replace("3,", "1 << 62,")), 3),
    (npy(HEADER.replace("(3,)", "(4294967296, 4294967296)")), 3),
    (npy(HEADER.replace("3,", "4611686018427387904,")), 3),
    (npy(HEADER.replace("False", "True if 1 else 0")), 3), (npy("[" * 60000), 3)])
@pytest.mark.parametrize("name", ["x", "scale", "zero-point"])
def test_hostile_arrays_are_named_and_refused(content, code, name, op):
    op.write(x=X, scale=SCALE, zero_point=ZERO)
    (op.folder / "bad.npy").write_bytes(content)
    files = {"x": "x.npy", "scale": "scale.npy", "zero-point": "zero_point.npy"} | {name: "bad.npy"}
    before = listing(op.folder)
    outcome = run("op", "webnn", *(f"--{k}={v}" for k, v in files.items()), "-o", "y.npy", "-T1",
                  cwd=op.folder)
    assert_error(outcome, code, f"--{name}: bad.npy")
    assert listing(op.folder) == before


@pytest.mark.parametrize("path", ["none.npy", ".", "/dev/null", "fifo"])
def test_what_is_no_file_is_not_waited_for(path, op):
    op.write(scale=SCALE, zero_point=ZERO)
    os.mkfifo(op.folder / "fifo")
    outcome = run("op", "webnn", f"--x={path}", "--scale=scale.npy", "--zero-point=zero_point.npy",
                  "-o", "y.npy", cwd=op.folder)
    assert_error(outcome, 5, "--x: ", path)


@pytest.mark.skipif(not LIMITED, reason="needs a limit on memory")
def test_an_output_beyond_memory_is_an_error(op):
    """Zero strides make 4 GiB of one element."""
    sizes = [1 << 15, 1 << 15]
    zero = {"Sizes": sizes, "Strides": [0, 0]}
    desc = {"InputTensor": {"DataType": "UINT8"} | zero,
            "ScaleTensor": {"DataType": "FLOAT32"} | zero,
            "OutputTensor": {"DataType": "FLOAT32", "Sizes": sizes}}
    (op.folder / "op.json").write_text(
        json.dumps({"Type": "ELEMENT_WISE_DEQUANTIZE_LINEAR", "Desc": desc}))
    options = op.write(x=np.uint8([1]), scale=F([1]))
    outcome = run("op", "directml", *options, "--desc=op.json", "-o", "y.npy", "-T1", cwd=op.folder,
                  address_space=512 * MIB)
    assert_error(outcome, 6, "out of memory")
    assert not (op.folder / "y.npy").exists()


def test_names_in_messages_are_safe_to_print(op):
    done = op.run("onnx", x="\x1b[31m.npy", scale=F(1), code=5)
    assert "\\x1b[31m.npy" in done.stderr and "\x1b" not in done.stderr


# Help and usage.

def options_of(dialect):
    text = dequant("op", dialect, "--help").stdout
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)) - {"--help"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_op_help_lists_what_each_dialect_has(dialect):
    common = {"--x", "--x-type", "--output", "--dry-run", "--force", "--json", "--threads"}
    text = dequant("op", "--help").stdout
    part = re.search(rf"^  {dialect}  +(--.*?)^(?:  \w|$)", text, re.M | re.S)[1]
    assert set(re.findall(r"--[\w-]+", part)) | common == options_of(dialect)
    assert dequant("op", dialect, "--help").stdout.count("\nExample") == 1


@pytest.mark.parametrize("dialect, option", [
    ("onnx", "--x-type"), ("onnx", "--scale-type"), ("microsoft", "--zero-point"),
    ("onnx", "--output-dtype"), ("directml", "--desc"), ("directml", "--operator"),
    ("tensorflow", "--min"), ("tensorflow", "--mode")])
@pytest.mark.parametrize("form", ["{}=", "{}"])
def test_an_empty_text_is_not_an_option_left_out(dialect, option, form, op):
    needed = {"min": 0, "max": 1} if dialect == "tensorflow" else {"scale": F([1, 2])}
    needed.pop(option[2:], None)
    given = [form.format(option)] + ([] if "=" in form else [""])
    assert option in op.run(dialect, *given, x=np.uint8([1, 2]), code=2, **needed).stderr
    assert not (op.folder / "y.npy").exists()


@pytest.mark.parametrize("arguments, word", [
    ([], "no dialect; dequant op --help lists them"), (["caffe"], "no dialect caffe;"),
    (["onnx"], "--x is required"), (["onnx", "--x", "x.npy", "-o", "y.npy"], "--scale is required"),
    (["tensorflow", "--x", "x.npy", "-o", "y.npy", "--max", "1"], "--min is required"),
    (["webnn", "--x", "x.npy", "-o", "y.npy", "--scale", "s.npy"], "--zero-point is required"),
    (["onnx", "--x", "x.npy", "-o", "y.npy", "--scale", "s.npy", "--axis", "1.5"], "--axis"),
    (["onnx", "--x", "x.npy", "-o", "y.npy", "--scale", "s.npy", "extra"], "extra"),
    (["onnx", "--x", "x.npy", "-o", "y.npy", "--scale", "s.npy", "-T", "-1"], "--threads")])
def test_wrong_usage_is_an_error(arguments, word):
    assert word in dequant("op", *arguments, code=2).stderr

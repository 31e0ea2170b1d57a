"""dequant.convert: the same as the command, with a progress callback that can stop it."""

import copy
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import dequant
from model_support import CLI, shared_models

import hostile_support as raw
import interrupted
from arithmetic import floats, random_codes
from support import SCALE, TENSORS, X, ZERO, dq, initializer, linear, model, node, save, value

import onnx


@pytest.fixture
def source(tmp_path):
    return linear(tmp_path, X, SCALE, ZERO)


@pytest.fixture
def large(tmp_path):
    """A model whose conversion writes 24 MB in many steps."""
    rng = np.random.default_rng(1)
    folder = tmp_path / "large"
    folder.mkdir()
    return linear(folder, random_codes(rng, "uint8", [600, 10_000]), floats(0.5))


def command(*arguments):
    done = subprocess.run([CLI, "convert", *map(str, arguments), "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("options, flags", [
    ({}, []), ({"strip_qdq": True}, ["--strip-qdq"]),
    ({"strip_qdq": True, "clip": "never"}, ["--strip-qdq", "--clip", "never"]),
    ({"assume_const": True}, ["--assume-const"]),
    ({"dtype": "float16"}, ["--dtype", "float16"]), ({"dtype": np.float32}, ["--dtype", "float32"]),
    ({"external_data": True}, ["--external-data"]), ({"clean_temp": True}, ["--clean-temp"]),
    ({"threads": 1, "mem": 1 << 24}, ["-T1", "--mem", "16Mi"]),
    ({"include": "*weight*"}, ["--include", "*weight*"]),
    ({"exclude": ["*bias*", "*Conv*"]}, ["--exclude", "*bias*", "--exclude", "*Conv*"])])
@shared_models
def test_writes_and_reports_what_the_command_does(path, options, flags, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
    ours, theirs = tmp_path / "a/out.onnx", tmp_path / "b/out.onnx"
    report = dequant.convert(path, ours, **options)
    expected = command(path, "-o", theirs, *flags)
    assert ours.read_bytes() == theirs.read_bytes()
    assert sorted(os.listdir(tmp_path / "a")) == sorted(os.listdir(tmp_path / "b"))
    found = report.to_dict()
    assert list(found) == list(expected) and list(found["seconds"]) == list(expected["seconds"])
    for key in expected:
        if key not in ("output", "seconds"):
            assert found[key] == expected[key]
    assert found["input"] == str(path) and found["output"] == str(ours)


def test_what_is_written_is_what_open_reads(source, tmp_path):
    with dequant.open(source) as m:
        expected = m["y"].to_numpy()
    dequant.convert(source, tmp_path / "out.onnx")
    [found] = onnx.load(tmp_path / "out.onnx").graph.initializer
    assert onnx.numpy_helper.to_array(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_constants_of_a_dtype_are_those_of_to_numpy(dtype, tmp_path):
    x = random_codes(np.random.default_rng(1), "uint8", [40, 30])
    source = linear(tmp_path, x, floats(0.3, "float16"))
    with dequant.open(source) as m:
        expected = m["y"].to_numpy(dtype)
    [folded] = dequant.convert(source, tmp_path / "out.onnx", dtype=dtype).folded
    [found] = onnx.load(tmp_path / "out.onnx").graph.initializer
    assert found.name == folded["constant"]
    assert onnx.numpy_helper.to_array(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["int8", "float64", np.int32])
def test_a_dtype_is_one_of_three(dtype, source, tmp_path):
    with pytest.raises(TypeError, match="dtype"):
        dequant.convert(source, tmp_path / "out.onnx", dtype=dtype)
    assert not (tmp_path / "out.onnx").exists()


def test_the_report(tmp_path):
    proto = model([dq(), node("DequantizeLinear", "in scale", "late", "later")],
                  inputs=[value("in", "int8")], outputs=["y", "late"], initializers=TENSORS)
    source = save(proto, tmp_path / "in.onnx")
    report = dequant.convert(source, tmp_path / "out.onnx", external_data=True)
    assert [f["output"] for f in report.folded] == ["y"] and report.folded[0]["shape"] == [2, 3]
    assert [e["node"] for e in report.left] == \
        ["later"] and "in is an input" in report.left[0]["reason"]
    assert (report.stripped, report.warnings, report.data_file) == ((), (), "")
    assert (report.bytes_in, report.bytes_out) == \
        (source.stat().st_size, (tmp_path / "out.onnx").stat().st_size)
    assert report.seconds["total"] > 0
    sizes = f"{report.bytes_in} -> {report.bytes_out} bytes"
    assert repr(report) == f"<dequant.ConvertReport 1 folded, 0 stripped, 1 left, {sizes}>"
    for change in (lambda: setattr(report, "left", ()), lambda: setattr(report, "other", ()),
                   lambda: delattr(report, "left")):
        with pytest.raises(AttributeError, match="not changed"):
            change()
    for change in (lambda: report.seconds.update(total=0), lambda: report.folded[0].clear()):
        with pytest.raises(AttributeError):
            change()
    report.to_dict()["folded"].clear()
    assert len(report.to_dict()["folded"]) == 1
    assert pickle.loads(pickle.dumps(report)).to_dict() == copy.deepcopy(report).to_dict() == \
        report.to_dict()


def test_changed_inputs_and_places_of_clips(tmp_path):
    proto = model([dq("in scale zero", "y")], inputs=[value("in", "int8")],
                  initializers=TENSORS[1:])
    source = save(proto, tmp_path / "in.onnx")
    report = dequant.convert(source, tmp_path / "out.onnx", strip_qdq=True, clip="always")
    assert [(c["name"], c["old_type"], c["zero_point"]) for c in report.inputs_changed] == \
        [("in", "int8", 5)]
    assert report.outputs_changed == ()
    assert [n.op_type for n in onnx.load(tmp_path / "out.onnx").graph.node][-1] == "Clip"
    with pytest.raises(ValueError, match="needed, always, never"):
        dequant.convert(source, tmp_path / "out.onnx", overwrite=True, strip_qdq=True,
                        clip="sometimes")
    with pytest.raises(ValueError, match="clip always: only strip-qdq"):  # it did nothing
        dequant.convert(source, tmp_path / "out.onnx", overwrite=True, clip="always")


def test_an_output_that_exists_is_replaced_only_on_demand(source, tmp_path):
    out = tmp_path / "out.onnx"
    out.write_text("precious")
    for dry_run in (False, True):
        with pytest.raises(FileExistsError) as caught:
            dequant.convert(source, out, dry_run=dry_run)
        assert caught.value.filename == str(out) and caught.value.errno == \
            17 and out.read_text() == "precious"
    assert dequant.convert(source, out, overwrite=True, dry_run=True).bytes_out > 0
    assert out.read_text() == "precious"
    dequant.convert(source, out, overwrite=True)
    assert initializer(onnx.load(out), "y").codes.shape == (2, 3)
    with pytest.raises(OSError, match="is the input itself"):
        dequant.convert(source, source, overwrite=True)


@pytest.mark.parametrize("arguments, options, error, sentence", [
    (["none.onnx", "out.onnx"], {}, FileNotFoundError, "none.onnx"),
    (["in.onnx", "no/folder/out.onnx"], {}, OSError, "no/folder"),
    (["in.onnx", "a\0b"], {}, ValueError, "null"),
    (["in.onnx", 3], {}, TypeError, "int"), ([None, "out.onnx"], {}, TypeError, "NoneType"),
    (["in.onnx", "out.onnx"], {"mem": -1}, ValueError, "^mem: "),
    (["in.onnx", "out.onnx"], {"mem": 1.5}, TypeError, "^mem: "),
    (["in.onnx", "out.onnx"], {"threads": "2"}, TypeError, "^threads: "),
    (["in.onnx", "out.onnx"], {"include": [1]}, TypeError, "^include: "),
    (["in.onnx", "out.onnx"], {"include": 1}, TypeError, "iterable"),
    (["in.onnx", "out.onnx"], {"progress": 1}, TypeError, "callable"),
    (["in.onnx", "out.onnx"], {"force": True}, TypeError, "force"),
    (["empty", "out.onnx"], {}, ValueError, "empty")])
def test_wrong_arguments(arguments, options, error, sentence, source, monkeypatch):
    monkeypatch.chdir(source.parent)
    (source.parent / "empty").touch()
    with pytest.raises(error, match=sentence):
        dequant.convert(*arguments, **options)
    assert not os.path.exists("out.onnx")


def test_broken_models_are_value_errors(tmp_path):
    (tmp_path / "m.onnx").write_bytes(raw.quantized(x=raw.tensor("x", [2, 3], raw.INT8,
                                                                 raw=b"12345")))
    with pytest.raises(ValueError, match="m.onnx: node dq: tensor x: 5 bytes stored, 6 needed"):
        dequant.convert(tmp_path / "m.onnx", tmp_path / "out.onnx")


@pytest.mark.parametrize("external_data", [False, True])
def test_progress_comes_to_the_caller_and_ends_with_all(large, tmp_path, external_data):
    calls, threads, stood = [], set(), []

    def progress(done, total):
        calls.append((done, total))
        threads.add(threading.get_ident())
        stood.append(os.path.exists(tmp_path / "out.onnx"))
    report = dequant.convert(large, tmp_path / "out.onnx", external_data=external_data,
                             progress=progress)
    [total] = {total for _, total in calls}
    assert calls == sorted(calls) and calls[-1] == (total, total) and calls[0][0] > 0
    assert total == report.bytes_out + report.to_dict()["totals"]["data_bytes"] > 24_000_000
    assert threads == {threading.get_ident()} and not any(stood)


@pytest.mark.parametrize("external_data", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_what_progress_raises_stops_the_work(large, tmp_path, external_data, error, last):
    thrown = error("enough")

    def progress(done, total):
        if done == total or not last:
            raise thrown
    with pytest.raises(error) as caught:
        dequant.convert(large, tmp_path / "out.onnx", external_data=external_data,
                        progress=progress)
    assert caught.value is thrown
    assert os.listdir(tmp_path) == ["large"] and os.listdir(tmp_path / "large") == ["in.onnx"]


def test_progress_may_use_the_package(large, source, tmp_path):
    def progress(done, total):
        dequant.convert(source, tmp_path / "inner.onnx", overwrite=True)
        dequant.onnx.dequantize_linear(np.zeros(10_000_000, np.uint8), 0.5)
    dequant.convert(large, tmp_path / "out.onnx", progress=progress)
    assert (tmp_path / "inner.onnx").exists() and (tmp_path / "out.onnx").exists()


def test_other_threads_run_and_convert_meanwhile(large, tmp_path):
    errors = []

    def work(i):
        try:
            dequant.convert(large, tmp_path / f"{i}.onnx", threads=i)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len({(tmp_path / f"{i}.onnx").read_bytes() for i in range(4)}) == 1


def test_ctrl_c_stops_a_conversion(tmp_path):
    size = 400_000_000  # of zeros that take no room, and to be written as floats
    with open(tmp_path / "x", "wb") as file:
        file.truncate(size)
    x = onnx.TensorProto(name="x", dims=[size], data_type=onnx.TensorProto.INT8,
                         data_location=onnx.TensorProto.EXTERNAL)
    x.external_data.add(key="location", value="x")
    source = save(model([dq("x s")], initializers=[x, floats(1.0).tensor("s")]),
                  tmp_path / "m.onnx")
    child = f"""
import dequant
def progress(done, total):
    print(done, flush=True)
try:
    dequant.convert({str(source)!r}, {str(tmp_path / "out.onnx")!r}, threads=1, progress=progress)
except KeyboardInterrupt:
    raise SystemExit(77)
"""
    process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
    process.stdout.readline()  # it is at work
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 77 and time.monotonic() - begin < 30
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "x"]


#: What is written, and which of its flushes comes last before the name: a folder has a file that
#: says what is written there, and is flushed itself after that.
FLUSHES = {"onnx": ({}, 1), "data": ({"external_data": True}, 2), "safetensors": ({}, 1),
           "folder": ({}, 3)}


@pytest.mark.skipif(interrupted.COMPILER is None, reason="NO C COMPILER for the call that a signal "
                                                         "comes to")
@pytest.mark.parametrize("kind", FLUSHES)
def test_ctrl_c_while_the_output_was_flushed_left_it(kind, large, tmp_path):
    (options, flush), source = FLUSHES[kind], large
    output = tmp_path / ("out.onnx" if kind in ("onnx", "data") else "out.safetensors")
    if kind in ("safetensors", "folder"):
        source = tmp_path / "in.safetensors"
        safetensors.numpy.save_file({
            "w.weight": np.ones((8, 8), ml_dtypes.float8_e4m3fn),
            "w.weight_scale": np.ones((8, 1), np.float32)}, source)
    if kind == "folder":
        (tmp_path / "model").mkdir()
        source = source.rename(tmp_path / "model/model.safetensors").parent
        output = tmp_path / "out"
    child = f"""
import dequant
try:
    dequant.convert({str(source)!r}, {str(output)!r}, **{options!r})
except KeyboardInterrupt:
    raise SystemExit(77)
"""
    hit = tmp_path / "hit"
    env = {**os.environ, "LD_PRELOAD": str(interrupted.build_shim(tmp_path)),
           "FAULT_CALL": "fsync", "FAULT_AT": str(flush), "FAULT_FROM_START": "1",
           "FAULT_HIT": str(hit), "FAULT_KILL": str(int(signal.SIGINT))}
    done = subprocess.run([sys.executable, "-c", child], env=env, timeout=60, check=False)
    assert hit.exists() and done.returncode == 77
    assert list(tmp_path.glob("out*")) == []


@pytest.mark.parametrize("flag", ["assume_const", "strip_qdq", "external_data", "require_float",
                                  "checksum", "overwrite"])
def test_some_flags_were_no_truth_values_but_options_of_the_command(flag, source, tmp_path):
    def wanted(value):
        dequant.convert(source, tmp_path / "a.onnx", **{"overwrite": True, flag: value})
        return (tmp_path / "a.onnx").read_bytes()
    for value in (0, np.False_, np.bool_(1), 1):
        if flag != "overwrite" or value:
            assert wanted(value) == wanted(bool(value))
    assert dequant.convert(source, **{"dry_run": True, flag: np.False_}).folded


def test_names_that_are_no_utf8(tmp_path):
    node_of_bytes = raw.sub(1, raw.sub(1, "x"), raw.sub(1, "s"), raw.sub(2, b"\xff"),
                            raw.sub(4, "DequantizeLinear"))
    (tmp_path / "m.onnx").write_bytes(raw.model(node_of_bytes, raw.initializer(raw.X),
                                                raw.initializer(raw.SCALE)))
    report = dequant.convert(tmp_path / "m.onnx", os.fsencode(tmp_path) + b"/\xfe.onnx")
    assert report.folded[0]["output"] == "\N{REPLACEMENT CHARACTER}"
    assert (os.fsencode(tmp_path) + b"/\xfe.onnx") in [e.path
                                                       for e in os.scandir(os.fsencode(tmp_path))]
    assert os.fsencode(report.to_dict()["output"]).endswith(b"\xfe.onnx")


def test_include_takes_one_glob_or_many(source, tmp_path):
    for i, (include, folded) in enumerate([("y", 1), (["z", "y"], 1), (("z",), 0),
                                           (iter(["d*"]), 1), ((), 1)]):
        assert len(dequant.convert(source, tmp_path / f"{i}.onnx", include=include).folded) == \
            folded
    assert initializer(onnx.load(tmp_path / "0.onnx"), "y").element == "float32"


@pytest.mark.parametrize("options, error, sentence", [
    ({"mem": "1"}, TypeError, "mem: "), ({"mem": 1.5}, TypeError, "mem: "),
    ({"mem": True}, TypeError, "mem: "),
    ({"mem": np.ones(2, int)}, TypeError, ""), ({"mem": -1}, ValueError, "mem: -1 is negative"),
    ({"mem": np.int8(-3)}, ValueError, "mem: -3 is negative"),
    ({"mem": -2**70}, ValueError, "mem: "),
    ({"mem": 2**70}, OverflowError, "mem: "),
    ({"include": 3}, TypeError, "include: a glob or an iterable of globs is wanted, not int"),
    ({"include": None}, TypeError, "include: .* NoneType"),
    ({"exclude": b"x"}, TypeError, "exclude: .* bytes"),
    ({"exclude": [b"x"]}, TypeError, "exclude: "),
    ({"include": pathlib.Path("x")}, TypeError, "include: .* PosixPath")])
def test_arguments_of_wrong_types_are_named(options, error, sentence, source, tmp_path):
    with pytest.raises(error, match=f"^{sentence}"):
        dequant.convert(source, tmp_path / "out.onnx", **options)
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_stays_quantized_is_refused_where_float_is_required(dry_run, tmp_path):
    proto = model([dq(), node("MatMulInteger", "x x", "v", "integers")], [],
                  ["y", value("v", "int32")], TENSORS)
    source, out = save(proto, tmp_path / "in.onnx"), tmp_path / "out.onnx"
    with pytest.raises(dequant.UnsupportedError, match="still quantized.*1 MatMulInteger"):
        dequant.convert(source, out, require_float=True, dry_run=dry_run)
    assert not out.exists()
    report = dequant.convert(source, out, dry_run=dry_run)
    assert report.warnings == ("still quantized: 1 MatMulInteger",)
    assert [left["op_type"] for left in report.left] == ["MatMulInteger"]


@pytest.fixture
def wrong_checksum(tmp_path):
    """A model whose x is in a file with another checksum than the model says."""
    (tmp_path / "w.bin").write_bytes(bytes([1, 2, 3, 253, 254, 255]))
    entries = {"location": "w.bin", "checksum": "0" * 40}
    path = tmp_path / "in.onnx"
    path.write_bytes(raw.quantized(x=raw.external("x", [2, 3], raw.INT8, **entries)))
    return path


def test_external_data_with_a_wrong_checksum_is_refused(wrong_checksum, tmp_path):
    out = tmp_path / "out.onnx"
    with pytest.raises(ValueError, match="tensor x: the SHA-1 of .*w.bin is "):
        dequant.convert(wrong_checksum, out)
    assert not out.exists()
    report = dequant.convert(wrong_checksum, out, checksum=False)
    assert report.warnings == ("tensor x: the checksum of its external data is not verified",)
    with dequant.open(wrong_checksum) as opened, \
            pytest.raises(ValueError, match="tensor x: the SHA-1 of "):
        opened["y"].to_numpy()
    with dequant.open(wrong_checksum, checksum=False) as opened:
        assert opened["y"].to_numpy().tolist() == [[0, 0.5, 1], [-2, -1.5, -1]]


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_killed_runs_left_is_removed_on_request(source, tmp_path, dry_run):
    start = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", "")[:16]
    left, other = tmp_path / f".dq-tmp-{start}-0123456789abcdef", \
        tmp_path / ".dq-tmp-0123456789abcdef"
    left.write_bytes(b"12345")
    other.write_bytes(b"")
    assert dequant.convert(source, tmp_path / "a.onnx", dry_run=dry_run).cleaned == \
        () and left.exists()
    report = dequant.convert(source, tmp_path / "b.onnx", dry_run=dry_run, clean_temp=True)
    assert report.cleaned == ({"file": left.name, "bytes": 5},) and left.exists() == \
        dry_run and other.exists()
    assert report.warnings == (f"{other.name} stays: nothing tells whether the run that made it is "
                               "alive",)


def test_a_missing_folder_was_found_after_reading_the_model(tmp_path):
    (tmp_path / "in.onnx").write_bytes(b"no model")
    with pytest.raises(FileNotFoundError, match="folder .*missing"):
        dequant.convert(tmp_path / "in.onnx", tmp_path / "missing" / "out.onnx")


def test_overwriting_keeps_the_permissions(source, tmp_path):
    out = tmp_path / "out.onnx"
    out.write_bytes(b"old")
    out.chmod(0o600)
    dequant.convert(source, out, overwrite=True, external_data=True)
    assert {path.stat().st_mode & 0o7777 for path in tmp_path.glob("out.onnx*")} == {0o600}

"""Shares of a conversion that meet something else than they left: records, files, sources, options
and outputs."""

import json
import os
import shutil
import subprocess

import numpy as np
import onnx
import pytest

import shares_support
from shares_cases import data, fixture_case, fixture_folder, records  # noqa: F401
from shares_support import TASK, files, fixture_memory, share  # noqa: F401
from support import dequant, model, node, value
from test_verify import safetensors


def test_a_record_without_its_file(case):
    case.share("0/1")
    data(case)[0].unlink()
    assert "is not there" in case.finalize(code=1).stdout
    case.share("0/1")
    case.finalize()
    case.is_right()


def test_a_file_without_its_records(case):
    case.share("0/1")
    for path in records(case)[::2]:
        path.unlink()
    assert "no record" in case.finalize(code=1).stdout
    case.share("0/1")
    case.finalize()
    case.is_right()


def test_a_file_that_another_task_made_again(folder):
    """The file was removed, and a task that had no record made it again: full size, zeros."""
    folder.share("0/1")
    lost = data(folder)[0]
    lost.unlink()
    one = next(p for p in records(folder) if json.loads(p.read_text())["file"] == lost.name)
    number = json.loads(one.read_text())["task"]
    one.unlink()
    dequant("convert", folder.source, "-o", folder.out, "--task", number, "--task-size", TASK,
            *folder.options)
    assert lost.stat().st_size == len(folder.want[lost.name])
    assert "are not those that were written" in folder.finalize(code=1).stdout
    folder.share("0/1")
    folder.finalize("--verify")
    folder.is_right()


def test_a_byte_that_changed_is_found_by_verify(case):
    case.share("0/1")
    record = next(r for r in map(lambda p: json.loads(p.read_text()), records(case))
                  if r["end"] - r["begin"] > TASK // 2)
    path = next(p for p in data(case) if p.name == record["file"])
    changed = bytearray(path.read_bytes())
    changed[record["begin"] + (record["end"] - record["begin"]) // 3] ^= 1
    path.write_bytes(changed)
    assert "are not those that were written" in case.finalize("--verify", code=1).stdout
    case.share("0/1")  # which compares samples only
    case.finalize("--verify")
    case.is_right()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"task": 0}', "x" * 20_000, "\0"])
def test_a_record_that_is_none(folder, text):
    folder.share("0/1")
    records(folder)[0].write_text(text)
    assert dequant("finalize", folder.out, code=3 if len(text) > 10_000 else 1).returncode
    if len(text) <= 10_000:
        folder.share("0/1")
        folder.finalize()
        folder.is_right()


def test_a_source_that_was_replaced(folder):
    folder.share("0/2")
    (folder.source / "a.safetensors").write_bytes(
        (folder.source / "a.safetensors").read_bytes() + b"\0" * 8)
    error = folder.share("1/2", code=3).stderr  # no header describes these bytes
    assert "a.safetensors" in error
    shutil.rmtree(folder.source)
    shares_support.checkpoint(folder.source, rows=(3, 130, 258))
    error = folder.share("1/2", code=2).stderr
    assert "tasks of another conversion" in error and ".dequant-tasks" in error
    assert "tasks of another conversion" in folder.finalize(code=2).stderr


def of_tflite(scale, zero_point):
    def make(path):
        codes = shares_support.tflite_support.random_codes(np.random.default_rng(3), "INT8",
                                                           (200, 64))
        path.write_bytes(shares_support.tflite_support.model([
            shares_support.tflite_support.Tensor("w", "INT8", codes, np.full(200, scale, "f4"),
                                                 np.full(200, zero_point))]))
    return make


def of_onnx(axis):
    def make(path):
        codes = np.random.default_rng(3).integers(-128, 128, (96, 96), np.int8)
        scales = np.linspace(0.1, 1, 96, dtype="f4")
        onnx.save(model([node("DequantizeLinear", "q s", "w", axis=axis), node("Relu", "w", "y")],
                        outputs=[value("y", shape=(96, 96))],
                        initializers=[onnx.numpy_helper.from_array(codes, "q"),
                                      onnx.numpy_helper.from_array(scales, "s")]), path)
    return make


def of_safetensors(shape):
    def make(path):
        weights = np.random.default_rng(3).integers(0, 0x70, (64, 64), np.uint8)
        scale = np.linspace(0.1, 1, 64, dtype="f4").reshape(shape)
        safetensors(path, {"m.weight": ("F8_E4M3", weights), "m.weight_scale": ("F32", scale)})
    return make


@pytest.mark.parametrize(("name", "make", "then", "output", "options"), [
    ("in.tflite", of_tflite(0.5, 1), of_tflite(0.25, 1), "out.safetensors", ()),
    ("in.tflite", of_tflite(0.5, 1), of_tflite(0.5, 2), "out.safetensors", ()),
    ("in.onnx", of_onnx(0), of_onnx(1), "out.onnx", ("--external-data",)),
    ("in.safetensors", of_safetensors((64, 1)), of_safetensors((1, 64)), "out.safetensors", ())],
    ids=["scales", "zero points", "axis", "shape of scales"])
def test_two_models_of_one_layout_became_a_mixture(tmp_path, name, make, then, output, options):
    """Of an input that is replaced between shares, all that is no data of tensors counts."""
    if name.endswith(".tflite") and shares_support.tflite_support.MISSING:
        pytest.skip(shares_support.tflite_support.MISSING)
    source, out = tmp_path / name, tmp_path / output
    make(source)
    size = source.stat().st_size
    share(source, out, "0/2", *options)
    then(source)
    assert source.stat().st_size == size
    for refused in (share(source, out, "1/2", *options, code=2), dequant("finalize", out, code=2)):
        assert "tasks of another conversion" in refused.stderr


def test_other_options_are_another_conversion(folder):
    folder.share("0/2")
    for options in (("--dtype", "float16"), ("--others", "same"), ("--task-size", 2 * TASK)):
        error = dequant("convert", folder.source, "-o", folder.out, "--shard", "1/2", *options,
                        code=2).stderr
        assert "tasks of another conversion" in error


@pytest.mark.parametrize(("key", "value", "words"), [
    ("task_bytes", -1, "-1 is less than 4096 bytes"),
    ("task_bytes", 0, "0 is less than 4096 bytes"),
    ("task_bytes", 4095, "4095 is less than 4096 bytes"),
    ("task_bytes", 1 << 63, "9223372036854775808 is not a signed integer of 64 bits"),
    ("task_bytes", 4096.0, "4096.0 is not a signed integer of 64 bits"),
    ("require_float", "no", '"no" is neither true nor false'),
    ("replace", 1, "1 is neither true nor false")])
def test_finalize_went_on_for_ever_with_a_task_size_below_zero(folder, key, value, words):
    """The values of a text that was damaged, or that somebody else wrote."""
    folder.share("0/1")
    path = folder.work() / "conversion.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert f"conversion.json: {key}: {words}" in folder.finalize(code=3).stderr


def test_an_input_that_moved(folder):
    folder.share("0/1")
    moved = folder.source.with_name("moved")
    folder.source.rename(moved)
    assert "in" in folder.finalize(code=5).stderr
    folder.finalize("--input", moved)
    folder.is_right()


def test_finalize_failed_where_another_one_was_done_first(case):
    case.share("0/1")
    command = [os.environ["DEQUANT_CLI"], "finalize", str(case.out)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for _ in range(4)]
    for process in running:
        out, error = process.communicate(timeout=60)
        assert process.returncode == 0 and "is complete" in out, error
    case.is_right()


def test_an_output_with_other_files_is_not_written_into(case):
    if case.out.suffix:
        case.out.write_bytes(b"other")
    else:
        case.out.mkdir()
        (case.out / "other").write_bytes(b"other")
    assert "--force" in case.share("0/1", code=5).stderr
    assert not case.work().exists()
    if case.out.suffix == ".onnx":
        return  # see test_shares_of_an_onnx_model_replace_no_files
    case.share("0/1", "--force")
    case.finalize()
    (case.out / "other").unlink() if case.out.is_dir() else None
    case.is_right()


def test_force_left_weights_of_another_model_in_a_folder_that_shares_completed(folder):
    folder.out.mkdir()
    for name in ("pytorch_model.bin", "model-00002-of-00009.safetensors"):
        (folder.out / name).write_bytes(b"other")
        error = folder.share("0/1", "--force", code=5).stderr
        assert f"has {name}, which is no file of this checkpoint: remove it" in error
        assert [path.name for path in folder.out.iterdir()] == [name]
        (folder.out / name).unlink()
    (folder.out / "notes.txt").write_bytes(b"other")
    folder.share("0/1", "--force")
    folder.finalize()
    (folder.out / "notes.txt").unlink()
    folder.is_right()


def test_a_file_that_appeared_meanwhile_is_not_replaced(case):
    case.share("0/1")
    taken = case.out if case.out.suffix else case.out / sorted(
        name for name in case.want if name.endswith(".safetensors"))[0]
    if case.out.suffix == ".onnx":
        taken = case.out.with_name("out.onnx.data")
    taken.write_bytes(b"other")
    error = case.finalize(code=5).stderr
    assert f"{taken.name} exists" in error and taken.read_bytes() == b"other"
    taken.unlink()
    case.finalize()
    case.is_right()


def test_the_rest_of_the_work_folder_stayed_where_finalize_was_killed(case):
    """The text goes first: without it the conversion is complete."""
    case.share("0/1")
    rest = case.out.parent / "rest"
    shutil.copytree(case.work(), rest)
    work = case.work()
    case.finalize()
    (rest / "conversion.json").unlink()
    rest.rename(work)
    assert "nothing was left to do" in case.finalize().stdout
    case.is_right()


def test_an_output_to_which_nothing_was_begun(tmp_path):
    error = dequant("finalize", tmp_path / "out", code=5).stderr
    assert "no conversion to it was begun" in error
    (tmp_path / "out").mkdir()
    assert "no conversion" in dequant("finalize", tmp_path / "out", code=5).stderr


def test_two_processes_that_begin_different_conversions_at_once(folder):
    """One of them begins; the other is refused, and leaves the first alone."""
    command = [os.environ["DEQUANT_CLI"], "convert", str(folder.source), "-o", str(folder.out),
               "--shard", "0/1", "--dtype"]
    ends = []
    running = [subprocess.Popen([*command, dtype], stderr=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, text=True)
               for dtype in ("float32", "float16")]
    for process in running:
        error = process.communicate(timeout=60)[1]
        ends.append(process.returncode)
        assert process.returncode in (0, 2), error
    assert 0 in ends
    folder.finalize("--verify")
    wanted = "float32" if ends[0] == 0 and ends[1] == 2 else "float16"
    if ends != [0, 0]:
        alone = folder.out.parent / "alone"
        dequant("convert", folder.source, "-o", alone, "--dtype", wanted)
        assert files(folder.out) == files(alone)

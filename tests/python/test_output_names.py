"""Where outputs go: never over an input or another output, and as --dry-run says before."""

import json
import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from onnx import TensorProto, helper

from hostile_support import CLI, held_back
from support import X, SCALE, ZERO, dequant, dq, model, save

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "fp8"
    subprocess.run([sys.executable, ROOT / "examples/make_fp8_checkpoint.py", path], check=True,
                   stdout=subprocess.PIPE)
    return path


@pytest.fixture(name="checkpoint")
def fixture_checkpoint(folder, tmp_path):
    """A copy that a test may change."""
    copy = tmp_path / "fp8"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_an_audit_replaced_the_weights_of_the_input(checkpoint, tmp_path):
    before = contents(checkpoint)
    for name in before:
        done = dequant("convert", checkpoint, "-o", tmp_path / "out", "--audit", checkpoint / name,
                       "--force", code=5)
        assert f"{name} is the input itself" in done.stderr or \
            f"{name} is a file of the input" in done.stderr
    assert contents(checkpoint) == before and not (tmp_path / "out").exists()


def test_an_audit_replaced_the_output(folder, tmp_path):
    for output, audit in (("out", "out"), ("out", "out/model.safetensors"), ("out/", "./out/a")):
        done = dequant("convert", folder, "-o", output, "--audit", audit, "--force", code=5,
                       cwd=tmp_path)
        assert "would be a file of the output; name another audit" in done.stderr
    (tmp_path / "audit").write_text("mine")
    for more in (), ("-n",):
        done = dequant("convert", folder, "-o", "out", "--audit", "audit", *more, code=5,
                       cwd=tmp_path)
        assert "audit exists; --force replaces it" in done.stderr
    assert os.listdir(tmp_path) == ["audit"]


def test_reports_replaced_config_json(checkpoint):
    before = contents(checkpoint)
    config = checkpoint / "config.json"
    name = "model.layers.0.mlp.up_proj.weight"
    for command in (["inspect", checkpoint, "--html", config],
                    ["extract", checkpoint, name, "-o", config]):
        done = dequant(*command, "--force", code=5)
        assert "config.json is a file of the input" in done.stderr
    assert contents(checkpoint) == before


def test_names_of_folders_with_a_slash_were_refused(folder, tmp_path):
    dequant("convert", folder, "-o", "plain", cwd=tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    dequant("convert", folder, "-o", "new/", cwd=tmp_path)
    dequant("convert", folder, "-o", "there//", cwd=tmp_path)
    dequant("convert", folder, "-o", ".", cwd=tmp_path / "here")
    dequant("convert", folder, "-o", "tasks/", "--shard", "0/1", cwd=tmp_path)
    dequant("finalize", "tasks/", cwd=tmp_path)
    wanted = contents(tmp_path / "plain")
    for name in ("new", "there", "here", "tasks"):
        assert contents(tmp_path / name) == wanted
    source = save(model([dq()], [], ["y"], [X.tensor("x"), SCALE.tensor("scale"),
                                            ZERO.tensor("zero")]), tmp_path / "m.onnx")
    dequant("convert", source, "-o", f"{tmp_path}/other/", code=5)


def test_a_dry_run_allowed_what_the_run_refuses(folder, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("x")
    one = tmp_path / "one.safetensors"
    safetensors.numpy.save_file({
        "w.weight": np.zeros((4, 8), ml_dtypes.float8_e4m3fn),
        "w.weight_scale": np.ones(1, np.float32)}, one)
    for source, output in ((folder, "full"), (folder, "full/file"), (one, "full")):
        said = [dequant("convert", source, "-o", tmp_path / output, *more, code=5).stderr
                for more in ((), ("-n",))]
        assert said[0] == said[1]
    np.save(tmp_path / "x.npy", np.zeros(3, np.uint8))
    np.save(tmp_path / "s.npy", np.float32(1))
    for more in (), ("-n",):
        done = dequant("op", "onnx", "--x", tmp_path / "x.npy", "--scale", tmp_path / "s.npy", "-o",
                       tmp_path / "full/file", *more, code=5)
        assert "file exists; --force replaces it" in done.stderr


def test_a_side_file_that_cannot_be_read_was_seen_after_the_weights(checkpoint, tmp_path):
    (checkpoint / "tokenizer.json").symlink_to("/nowhere/tokenizer.json")
    for more in (), ("-n",):
        done = dequant("convert", checkpoint, "-o", tmp_path / "out", *more, code=5)
        assert "tokenizer.json" in done.stderr and not (tmp_path / "out").exists()


def test_a_side_file_with_a_name_of_windows_made_the_checkpoint_a_hostile_one(checkpoint, tmp_path):
    (checkpoint / "a\\b").mkdir()
    for name in ("1:1.png", "a\\b.txt", "a\\b/c:d"):
        (checkpoint / name).write_text(name)
    dequant("convert", checkpoint, "-o", tmp_path / "out")
    dequant("convert", checkpoint, "-o", tmp_path / "shared", "--shard", "0/1")
    dequant("finalize", tmp_path / "shared")
    for out in ("out", "shared"):
        for name in ("1:1.png", "a\\b.txt", "a\\b/c:d"):
            assert (tmp_path / out / name).read_text() == name


def test_run_replaced_its_own_input(tmp_path):
    x = helper.make_tensor_value_info("x", TensorProto.INT8, [1, 3])
    source = save(model([dq()], [x], ["y"], [SCALE.tensor("scale"), ZERO.tensor("zero")]),
                  tmp_path / "m.onnx")
    out = tmp_path / "out"
    out.mkdir()
    np.save(out / "0000-y.npy", np.int8([[1, 2, 3]]))
    before = contents(out)
    done = dequant("run", source, "--input", f"x={out}/0000-y.npy", "-o", out, "--force", code=5)
    assert "0000-y.npy is an input; name another output" in done.stderr
    assert contents(out) == before


@pytest.mark.parametrize("arguments, message", [
    (["vectors", "onnx", "--seed", "-1"],
     '--seed: "-1" is no integer from 0 to 18446744073709551615'),
    (["vectors", "onnx", "--seed", "99999999999999999999"], "is no integer from 0 to"),
    (["convert", "fp8", "--task", "-1"], '--task: "-1" is no integer from 0'),
    (["convert", "fp8", "--mem", "-1"], '--mem: "-1" is not a number of bytes'),
    (["plan", "fp8", "--task-size", "-5"], '--task-size: "-5" is not a number of bytes'),
    (["op", "onnx", "--x", "x.npy", "--scale", "1", "--axis", ""],
     '--axis: "" is no integer from -92'),
    (["op", "onnx", "--x", "x.npy", "--scale", "1", "--axis", "99999999999999999999"],
     "is no integer from -9223372036854775808 to 9223372036854775807")])
def test_numbers_wrapped_or_became_the_largest(arguments, message, folder):
    assert message in dequant(*arguments, "-o", "out", code=2, cwd=folder.parent).stderr


def test_a_number_with_a_zero_in_front_was_octal(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.uint8))
    np.save(tmp_path / "s.npy", np.ones(3, np.float32))  # opset 11 has no axis
    dequant("op", "onnx", "--x", tmp_path / "x.npy", "--scale", tmp_path / "s.npy",
            "--opset", "013", "-o", tmp_path / "y.npy")


def test_a_range_smaller_than_float32_has_was_called_too_large(tmp_path):
    np.save(tmp_path / "x.npy", np.uint8([0, 1, 255]))
    for number in ("1e-46", "-1e-400"):
        dequant("op", "tensorflow", "--x", tmp_path / "x.npy", f"--min={number}", "--max", "1",
                "-o", tmp_path / "y.npy", "--force")
        assert np.load(tmp_path / "y.npy")[0] == 0
    done = dequant("op", "tensorflow", "--x", tmp_path / "x.npy", "--min", "0", "--max", "1e400",
                   "-o", tmp_path / "z.npy", code=2)
    assert "1e400 is beyond what float32 holds" in done.stderr


@pytest.mark.parametrize("ending", ["gguf", "onnx", "tflite"])
def test_safetensors_were_written_under_the_name_of_another_format(ending, tmp_path):
    source, out = tmp_path / "in.safetensors", tmp_path / f"out.{ending}"
    safetensors.numpy.save_file({"w": np.zeros(4, np.float32)}, source)
    done = dequant("convert", source, "-o", out, code=2)
    assert f"the output is a safetensors file, and its name ends with .{ending}" in done.stderr
    assert not out.exists()


def test_a_quantized_tensor_without_elements_was_refused(tmp_path):
    source, out = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    safetensors.numpy.save_file({"w.weight": np.zeros((0, 4), ml_dtypes.float8_e4m3fn),
                                 "w.weight_scale": np.ones(1, np.float32)}, source)
    dequant("convert", source, "-o", out)
    found = safetensors.numpy.load_file(out)
    assert {name: (t.shape, t.dtype) for name, t in found.items()} == {
        "w.weight": ((0, 4), np.float32)}
    assert "1 right, 0 wrong" in dequant("verify", source, out).stdout


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--shard", "0/1")])
def test_an_output_folder_was_refused_because_of_the_folder_around_it(checkpoint, tmp_path,
                                                                           options):
    out = tmp_path / "closed" / "out"
    out.mkdir(parents=True)
    out.chmod(0o777)
    out.parent.chmod(0o555)
    command = [*held_back(tmp_path), CLI]
    done = subprocess.run([*command, "convert", checkpoint.name, "-o", "closed/out", *options],
                          cwd=tmp_path, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done
    if "--shard" in options:
        subprocess.run([*command, "finalize", "closed/out", "--input", checkpoint.name],
                       cwd=tmp_path, check=True)
    assert (out / "config.json").exists() != ("--dry-run" in options)


def test_the_default_size_of_tasks_was_not_its_value_written_out(folder, tmp_path):
    def task_bytes(*options):
        done = dequant("plan", folder, "-o", tmp_path / "out", *options)
        return json.loads(done.stdout)["conversion"]["task_bytes"]
    assert task_bytes() == task_bytes("--task-size", "5G") == 5 * 10**9
    assert task_bytes("--task-size", "300K") == 300_000
    assert task_bytes("--task-size", "300kib") == task_bytes("--task-size", "300Ki") == 307_200


@pytest.mark.parametrize(("folder", "file", "out", "options"), [
    (b"in", b"m\xff.safetensors", b"out", ("--shards", "as-input")),
    (b"in", b"m\xff.safetensors", b"out", ("--shards", "as-input", "--dry-run")),
    (b"in", b"m.safetensors", b"o\xff.safetensors", ("--shard", "0/1")),
    (b"in\xff", b"m.safetensors", b"out", ("--shard", "0/1"))])
def test_a_name_that_is_no_utf8_was_an_error_of_a_library_after_the_work(tmp_path, folder, file,
                                                                         out, options):
    source, out = (tmp_path / os.fsdecode(name) for name in (folder, out))
    source.mkdir()
    (source / "config.json").write_text('{"torch_dtype": "bfloat16", "quantization_config": '
                                        '{"quant_method": "fp8", "weight_block_size": [128, 128]}}')
    weights = {"w.weight": np.ones((4, 8), ml_dtypes.float8_e4m3fn),
               "w.weight_scale_inv": np.ones((1, 1), np.float32)}
    safetensors.numpy.save_file(weights, source / os.fsdecode(file))
    given = source / os.fsdecode(file) if out.suffix else source
    done = dequant("convert", given, "-o", out, *options, code=4)
    assert r"\xff" in done.stderr and "is no UTF-8" in done.stderr
    assert os.listdir(tmp_path) == [source.name]

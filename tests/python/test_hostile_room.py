"""Disks without room for an output: refused before the first byte, by dry runs, too."""

import os
import subprocess

import numpy as np
import pytest

import gguf_support
from hostile_support import CLI
from support import dequant
from test_checkpoints_replaced import OPTIONS, checkpoint, files_of

KIB = 1 << 10
FREE = 3 << 20
REFUSED = "bytes are needed and "


def on_small_disk(folder, size, *command, before=":", code=0):
    """Runs the command with a file system of that many bytes at `disk`, after a shell command.
    Returns what it printed as errors, and the bytes of the files that are there then."""
    if os.getuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("NOT ROOT: a full disk needs a file system of its own")
    (folder / "disk").mkdir(exist_ok=True)
    script = f"mount -t tmpfs -o size={size} tmpfs disk || exit 99\n" + \
             f"{before} || exit 98\n" + \
             '"$@" 2> errors; code=$?; rm -rf left; cp -r disk left; exit $code'
    done = subprocess.run(["unshare", "-m", "bash", "-c", script, "-", CLI, *command], cwd=folder,
                          check=False, timeout=120)
    error = (folder / "errors").read_text()
    assert done.returncode == code, error
    return error, files_of(folder / "left")


def model(folder, command):
    """A model whose floats have 8 MiB, and the arguments that convert it to `disk`."""
    if "safetensors" in command or "folder" in command:
        checkpoint(folder / "in", 1)
        name = "in/model.safetensors" if "safetensors" in command else "in"
        target = "disk/out.safetensors" if "safetensors" in command else "disk"
        return ["convert", name, "-o", target, "--dtype", "bfloat16"]
    rng = np.random.default_rng(1)
    if "gguf" in command:
        gguf_support.write(folder / "in.gguf", {
            f"{i}.weight": gguf_support.quantized("Q8_0", rng.normal(size=(1024, 512)))
            for i in range(4)})
        split = ["--max-shard-size", "2100K"] if "split" in command else []
        return ["convert", "in.gguf", "-o", "disk/out.gguf", *split]
    np.save(folder / "x.npy", rng.integers(-9, 9, (2048, 1024)).astype(np.int8))
    np.save(folder / "s.npy", np.float32(0.5))
    return ["op", "onnx", "--x", "x.npy", "--scale", "s.npy", "-o", "disk/y.npy"]


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
@pytest.mark.parametrize("output", ["safetensors", "folder", "gguf", "split gguf", "op"])
def test_an_output_took_all_that_was_free_before_it_was_refused(tmp_path, output, dry_run):
    command = model(tmp_path, output)
    error, left = on_small_disk(tmp_path, FREE, *command, *dry_run, code=5)
    assert REFUSED in error and error.count("\n") == 1 and not left
    needed = int(error.split(REFUSED)[0].split()[-1])
    assert 8 << 20 <= needed < 17 << 20  # of all files, and float16 or float32
    _, left = on_small_disk(tmp_path, needed + 256 * KIB, *command, *dry_run)
    assert bool(left) != bool(dry_run)


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
@pytest.mark.parametrize("data", [[], ["--external-data"]])
def test_onnx_models_were_written_until_the_disk_was_full(tmp_path, data, dry_run):
    from test_hostile_output import large
    (tmp_path / "in.onnx").write_bytes(large(2))
    command = ["convert", "in.onnx", "-o", "disk/out.onnx", *data, *dry_run]
    error, left = on_small_disk(tmp_path, FREE, *command, code=5)
    assert REFUSED in error and not left
    on_small_disk(tmp_path, 9 << 20, *command)


def test_a_disk_without_a_limit_had_no_byte_free(tmp_path):
    for output in ("folder", "gguf"):
        _, left = on_small_disk(tmp_path, 0, *model(tmp_path, output))
        assert left


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_a_model_that_is_replaced_needed_room_for_both(tmp_path, dry_run):
    """Each old file goes when the new one is complete."""
    checkpoint(tmp_path / "old", 1)
    checkpoint(tmp_path / "new", 2)
    dequant("convert", tmp_path / "old", "-o", tmp_path / "out", *OPTIONS)
    dequant("convert", tmp_path / "new", "-o", tmp_path / "whole", *OPTIONS)
    whole = files_of(tmp_path / "whole")
    size = sum(map(len, whole.values()))
    shard = max(map(len, whole.values()))
    command = ["convert", "new", "-o", "disk", "--force", *OPTIONS, *dry_run]
    _, left = on_small_disk(tmp_path, size + shard + 256 * KIB, *command, before="cp -r out/. disk")
    assert left == (files_of(tmp_path / "out") if dry_run else whole)
    error, left = on_small_disk(tmp_path, size + shard // 2, *command, before="cp -r out/. disk",
                                code=5)
    assert REFUSED in error and left == files_of(tmp_path / "out")


def test_files_with_other_names_are_not_free_when_they_are_replaced(tmp_path):
    checkpoint(tmp_path / "new", 2)
    dequant("convert", tmp_path / "new", "-o", tmp_path / "out", *OPTIONS)
    size = sum(map(len, files_of(tmp_path / "out").values()))
    command = ["convert", "new", "-o", "disk/out", "--force", *OPTIONS]
    error, _ = on_small_disk(tmp_path, size * 3 // 2, *command, code=5,
                             before="cp -r out disk && cp -rl disk/out disk/links")
    assert REFUSED in error


def test_a_dry_run_of_a_resume_counts_what_is_left(tmp_path):
    """The disk has room for one model; half of it is complete, and other data fill the rest."""
    checkpoint(tmp_path / "new", 2)
    dequant("convert", tmp_path / "new", "-o", tmp_path / "out", *OPTIONS)
    whole = files_of(tmp_path / "out")
    size = sum(map(len, whole.values()))
    stop = sorted(name for name in whole if name.endswith(".safetensors"))[8]
    before = f"mkdir 'disk/{stop}'; " \
             f"{CLI} convert new -o disk --force {' '.join(OPTIONS)} -q 2> /dev/null; " \
             f"rmdir 'disk/{stop}'; [ -e disk/.dequant-unfinished.json ]"
    command = ["convert", "new", "-o", "disk", "--resume", *OPTIONS]
    for dry_run in (["--dry-run"], []):
        _, left = on_small_disk(tmp_path, size + 256 * KIB, *command, *dry_run, before=before)
    assert left == whole

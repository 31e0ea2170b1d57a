"""Conversions into the folder of another model that fail or are killed before they are complete."""

import fcntl
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import gguf_support
from support import dequant
from test_checkpoints_folder import CONFIG
from test_verify import safetensors

STATE = ".dequant-unfinished.json"
COUNT = 16  # so many that a conversion is killed before the last, on a machine at work, too
SHARDS = [f"model-{i:05}-of-{COUNT:05}.safetensors" for i in range(1, COUNT + 1)]
ROWS = 4096
OPTIONS = ["--max-shard-size", "1100K"]  # a tensor in each file


def checkpoint(path, seed):
    """Tensors of the names, types and shapes that all have, and other codes."""
    rng = np.random.default_rng(seed)
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    safetensors(path / "model.safetensors", {n: tensor for i in range(COUNT) for n, tensor in {
        f"w{i}.weight": ("F8_E4M3", rng.integers(0, 120, (ROWS, 128)).astype(np.uint8)),
        f"w{i}.weight_scale_inv": ("F32", np.ones((ROWS // 128, 1), np.float32)),
    }.items()})
    return path


def files_of(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.is_file()}


class Replaced:
    """The folder `out` of the model `old`, into which `new` is converted."""

    def __init__(self, path):
        self.old = checkpoint(path / "old", 1)
        self.new = checkpoint(path / "new", 2)
        self.out = path / "out"
        self.kept = path / "kept"
        dequant("convert", self.old, "-o", self.out, *OPTIONS)
        dequant("convert", self.new, "-o", path / "whole", *OPTIONS)
        self.before = files_of(self.out)
        self.whole = files_of(path / "whole")
        assert sorted(self.before) == sorted(self.whole)
        assert all(self.before[name] != self.whole[name] for name in SHARDS)

    def fail_at(self, name, *command):
        """A file of that name cannot be written; the old model's is there again afterwards."""
        os.rename(self.out / name, self.kept)
        (self.out / name).mkdir()
        error = dequant(*command or self.command("--force"), code=5).stderr
        (self.out / name).rmdir()
        os.rename(self.kept, self.out / name)
        return error

    def kill(self):
        """Kills a conversion between its first and its last file."""
        for _ in range(50):
            old = os.stat(self.out / SHARDS[1]).st_ino
            process = subprocess.Popen([os.environ["DEQUANT_CLI"], *self.command("--force", "-q")])
            while process.poll() is None and os.stat(self.out / SHARDS[1]).st_ino == old:
                pass
            process.kill()
            process.wait()
            after = files_of(self.out)
            if after[SHARDS[0]] != self.before[SHARDS[0]] and \
                    after[SHARDS[-1]] == self.before[SHARDS[-1]]:
                return
            shutil.rmtree(self.out)
            dequant("convert", self.old, "-o", self.out, *OPTIONS)
        pytest.fail("the conversion ended before it was killed")

    def command(self, *options):
        return ["convert", self.new, "-o", self.out, *OPTIONS, *options]


@pytest.fixture(name="replaced")
def fixture_replaced(tmp_path):
    return Replaced(tmp_path)


@pytest.mark.parametrize("options", [["--resume"], ["--resume", "--force"], ["--force"]])
def test_resume_took_files_of_the_model_that_is_replaced_as_its_own(replaced, options):
    replaced.kill()
    done = os.stat(replaced.out / SHARDS[0]).st_ino
    dequant(*replaced.command(*options))
    assert files_of(replaced.out) == replaced.whole
    assert (os.stat(replaced.out / SHARDS[0]).st_ino == done) == ("--resume" in options)


def test_a_folder_with_weights_of_two_models_loaded_as_one(replaced):
    replaced.fail_at(SHARDS[1])
    left = files_of(replaced.out)
    assert left[SHARDS[0]] == replaced.whole[SHARDS[0]]
    assert left[SHARDS[1]] == replaced.before[SHARDS[1]]
    assert set(left) == {*SHARDS, STATE}  # neither config.json nor an index


def test_a_conversion_that_fails_before_its_first_file_leaves_the_old_model(replaced):
    replaced.fail_at(SHARDS[0])
    assert files_of(replaced.out) == replaced.before


def test_finalize_gave_names_while_the_old_model_loaded(replaced):
    replaced_by = replaced.command("--force")
    dequant(*replaced_by, "--shard", "0/1")
    replaced.fail_at(SHARDS[1], "finalize", replaced.out)
    left = files_of(replaced.out)
    assert left[SHARDS[0]] == replaced.whole[SHARDS[0]]
    assert "config.json" not in left and "model.safetensors.index.json" not in left
    dequant("finalize", replaced.out)
    assert files_of(replaced.out) == replaced.whole


@pytest.mark.parametrize("command", ["inspect", "verify", "convert"])
def test_a_folder_that_is_not_complete_was_read_as_a_model(replaced, command, tmp_path):
    replaced.kill()
    rest = {"inspect": [replaced.out], "verify": [replaced.new, replaced.out],
            "convert": [replaced.out, "-o", tmp_path / "again"]}[command]
    error = dequant(command, *rest, code=3).stderr
    assert f"{replaced.out}: a conversion into this folder is not complete" in error


def test_a_copy_of_an_unfinished_folder_is_continued_from_what_is_complete(replaced, tmp_path):
    """A copy has other inodes and other times."""
    replaced.kill()
    shutil.copytree(replaced.out, tmp_path / "copy")
    shutil.rmtree(replaced.out)
    os.rename(tmp_path / "copy", replaced.out)
    dequant(*replaced.command("--resume"))
    assert files_of(replaced.out) == replaced.whole


def test_a_resume_that_fails_at_once_lost_what_was_complete(replaced):
    replaced.kill()
    left = files_of(replaced.out)
    os.rename(replaced.out / SHARDS[0], replaced.kept)
    (replaced.out / SHARDS[0]).mkdir()
    dequant(*replaced.command("--resume"), code=5)
    (replaced.out / SHARDS[0]).rmdir()
    os.rename(replaced.kept, replaced.out / SHARDS[0])
    assert files_of(replaced.out) == left
    dequant(*replaced.command("--resume"))
    assert files_of(replaced.out) == replaced.whole


def test_a_line_of_which_a_full_disk_took_a_part_made_the_next_line_unreadable(replaced):
    replaced.kill()
    with open(replaced.out / STATE, "a") as state:
        state.write('"mode')
    left = files_of(replaced.out)
    dequant(*replaced.command("--resume", "--dry-run"))
    assert files_of(replaced.out) == left
    os.rename(replaced.out / SHARDS[-1], replaced.kept)
    (replaced.out / SHARDS[-1]).mkdir()
    dequant(*replaced.command("--resume"), code=5)  # writes what comes before
    (replaced.out / SHARDS[-1]).rmdir()
    os.rename(replaced.kept, replaced.out / SHARDS[-1])
    dequant(*replaced.command("--resume"))
    assert files_of(replaced.out) == replaced.whole


def test_two_conversions_wrote_into_one_folder(replaced):
    folder = os.open(replaced.out, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # as a conversion has it that goes on
    for option in ("--force", "--resume"):
        error = dequant(*replaced.command(option), code=5).stderr
        assert f"{replaced.out}: another conversion writes into this folder" in error
    os.close(folder)
    assert files_of(replaced.out) == replaced.before
    dequant(*replaced.command("--force"))


def test_a_conversion_to_split_gguf_files_that_failed_removed_old_ones(tmp_path):
    rng = np.random.default_rng(3)
    small = gguf_support.write(tmp_path / "in.gguf", {
        f"{i}.weight": gguf_support.quantized("Q8_0", rng.normal(size=(9, 64))) for i in range(3)})
    command = ["convert", small, "-o", tmp_path / "out.gguf", "--max-shard-size", "1K"]
    dequant(*command)
    names = sorted(path.name for path in tmp_path.glob("out-*.gguf"))
    assert len(names) > 2
    os.remove(tmp_path / names[1])
    (tmp_path / names[1]).mkdir()
    before = files_of(tmp_path)
    dequant(*command, "--force", code=5)
    assert files_of(tmp_path) == before
    (tmp_path / names[1]).rmdir()
    dequant(*command, "--force")
    assert sorted(path.name for path in tmp_path.glob("out-*.gguf")) == names

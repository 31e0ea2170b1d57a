"""Many files, long headers, and sentences about them."""

import resource
import subprocess

import pytest

from hostile_support import CLI
from test_checkpoints_folder import SCALE, Folder, weight


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def with_open_files(soft, hard, *command):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return subprocess.run([CLI, *map(str, command)], preexec_fn=limit, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


def test_checkpoints_of_more_files_than_the_soft_limit_were_refused(folder):
    names = {}
    for i in range(100):
        folder.file(weight(f"w{i}"), f"{i}.safetensors")
        names |= {f"w{i}.{part}": f"{i}.safetensors" for part in ("weight", "weight_scale_inv")}
    folder.index(names)
    command = ["convert", folder.path, "-o", folder.out, "-q"]
    done = with_open_files(64, 64, *command)
    assert done.returncode == 5 and not folder.out.exists()
    assert "Too many open files; a higher limit of open files (ulimit -n) allows" in done.stderr
    done = with_open_files(64, 1024, *command)
    assert done.returncode == 0, done.stderr
    assert (folder.out / "config.json").exists()


def test_a_header_that_is_too_long_had_no_file_and_no_remedy(folder):
    """Two files whose headers readers take become one whose header they do not."""
    a, b = ("a" * 51_000_000, "b" * 51_000_000)
    folder.file({a: ("F32", SCALE)}, "1.safetensors")
    folder.file({b: ("F32", SCALE), **weight()}, "2.safetensors")
    folder.index({a: "1.safetensors", b: "2.safetensors", "w.weight": "2.safetensors",
                  "w.weight_scale_inv": "2.safetensors"})
    error = folder.convert(code=3).stderr
    assert ".safetensors: the header has 102000" in error and error.count("\n") == 1, error
    assert "a smaller max-shard-size makes more files" in error
    folder.convert("--max-shard-size", "4", "-q")


def test_a_complete_folder_to_resume_was_said_to_be_no_conversion(folder):
    folder.file(weight())
    folder.convert()
    before = {path.name: path.read_bytes() for path in folder.out.iterdir()}
    assert "as where the conversion is complete; verify compares it with the input" in \
        folder.convert("--resume", code=5).stderr
    assert {path.name: path.read_bytes() for path in folder.out.iterdir()} == before

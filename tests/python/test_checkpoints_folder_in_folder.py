"""Folders of checkpoints with folders in them: the output, and names of files of the output."""

import pytest

from support import dequant
from test_checkpoints_folder import fixture_folder, weight  # noqa: F401


def written(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


@pytest.fixture(name="inner")
def fixture_inner(folder):
    """The folder of the output is in that of the input."""
    folder.file(weight())
    (folder.path / "tokenizer.json").write_text("{}")
    folder.out = folder.path / "dense"
    return folder


def test_an_output_in_the_input_was_lost_and_copied_into_itself(inner):
    inner.convert()
    want = written(inner.out)
    assert set(want) == {"config.json", "model.safetensors", "tokenizer.json"}
    for _ in range(3):
        inner.convert("--force")
        assert written(inner.out) == want
    (inner.path / "link").symlink_to("dense")
    inner.out = inner.path / "link"
    inner.convert("--force")
    assert written(inner.out) == want


def test_shares_copied_an_output_in_the_input_into_itself(inner):
    for _ in range(2):
        inner.convert("--shard", "0/1", "--force")
        dequant("finalize", inner.out)
        assert set(written(inner.out)) == {"config.json", "model.safetensors", "tokenizer.json"}


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--shard", "0/1")])
def test_a_folder_named_like_a_file_of_the_output_was_met_after_the_work(folder, options):
    folder.file(weight(), "a.safetensors")
    folder.index({f"w.{part}": "a.safetensors" for part in ("weight", "weight_scale_inv")})
    (folder.path / "model.safetensors" / "deep").mkdir(parents=True)
    (folder.path / "model.safetensors" / "deep" / "notes.txt").write_text("notes")
    folder.refused(4, "the folder model.safetensors in it has the name of a file of the output",
                   "model.safetensors/deep/notes.txt", options=options)


def test_a_folder_of_weights_alone_may_have_the_name_of_a_file(folder):
    """It is not in the output."""
    folder.file(weight(), "a.safetensors")
    folder.index({f"w.{part}": "a.safetensors" for part in ("weight", "weight_scale_inv")})
    (folder.path / "model.safetensors").mkdir()
    (folder.path / "model.safetensors" / "old.bin").write_text("x")
    folder.convert()
    assert (folder.out / "model.safetensors").is_file()

"""Folders of checkpoints: which files are read, by an index, by their numbers, or through links."""

import json
import os

import pytest

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import CONFIG, NORM, fixture_folder, weight  # noqa: F401
from test_verify import bfloat16, safetensors


@pytest.mark.parametrize("name", ["../x.safetensors", "/x.safetensors", "a/x.safetensors", "x.bin"])
def test_an_index_names_files_of_its_folder_only(folder, name):
    folder.file(weight())
    folder.index({"w.weight": name})
    folder.refused(5, "no name of a .safetensors file")


def test_a_file_of_the_index_that_is_missing_is_named(folder):
    folder.index({"w.weight": "model-00001-of-00002.safetensors"})
    folder.refused(5, "model-00001-of-00002.safetensors", "No such file")


def test_a_tensor_in_two_files_is_refused(folder):
    folder.file(weight(), "a.safetensors")
    folder.file(weight(), "b.safetensors")
    folder.index({"w.weight": "a.safetensors", "w.weight_scale_inv": "b.safetensors"})
    folder.refused(3, "tensor w.weight is in a.safetensors and in b.safetensors")


def test_an_index_and_its_files_have_the_same_tensors(folder):
    folder.file(weight())
    folder.index({"w.weight": "model.safetensors"})
    folder.refused(3, "tensor w.weight_scale_inv of model.safetensors is not in the index")
    folder.index({name: "model.safetensors" for name in [*weight(), "x"]})
    folder.refused(3, "tensor x is not in model.safetensors")


def test_numbered_files_are_read_without_an_index_if_all_are_there(folder):
    folder.file(weight(), "model-00001-of-00002.safetensors")
    folder.refused(3, "1 of the 00002 files")
    folder.file(weight("v"), "model-00002-of-00002.safetensors")
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight", "v.weight"}


def test_several_sets_of_files_are_refused(folder):
    folder.file(weight(), "a.safetensors")
    folder.file(weight(), "b.safetensors")
    folder.refused(4, "a.safetensors and b.safetensors", "give the path of one")


def two_sets(folder, *stems):
    """Files a-00001-of-00002.safetensors and so on with an index for each stem, and a tensor of the
    name of the stem."""
    for stem in stems:
        names = [f"{stem}-0000{i}-of-00002.safetensors" for i in (1, 2)]
        parts = list(weight(stem).items())
        folder.file(dict(parts[:1]), names[0])
        folder.file(dict(parts[1:]), names[1])
        (folder.path / f"{stem}.safetensors.index.json").write_text(json.dumps({
            "weight_map": {tensor: name for (tensor, _), name in zip(parts, names)}}))


@pytest.mark.parametrize("stem", ["model", "consolidated"])
def test_the_path_of_an_index_says_which_files_are_read(folder, stem):
    two_sets(folder, "consolidated", "model")
    (folder.path / "tokenizer.json").write_text("{}")
    index = folder.path / f"{stem}.safetensors.index.json"
    report = json.loads(dequant("convert", index, "-o", folder.out, "--json").stdout)
    assert tensors(folder.out).keys() == {f"{stem}.weight"}
    assert sorted(os.listdir(folder.out)) == [
        "config.json", f"{stem}.safetensors", f"{stem}.safetensors.index.json", "tokenizer.json"]
    assert json.loads((folder.out / "config.json").read_text())["torch_dtype"] == "bfloat16"
    other = "consolidated" if stem == "model" else "model"
    assert report["files_left_out"] == [f"{other}-00001-of-00002.safetensors",
                                        f"{other}-00002-of-00002.safetensors",
                                        f"{other}.safetensors.index.json"]
    dequant("verify", index, folder.out / f"{stem}.safetensors.index.json")


def test_the_index_that_transformers_reads_counts(folder):
    two_sets(folder, "consolidated", "model")
    folder.convert()
    assert tensors(folder.out).keys() == {"model.weight"}


def test_several_other_indexes_are_refused_and_the_path_of_one_is_read(folder):
    two_sets(folder, "a", "b")
    folder.refused(4, "a.safetensors.index.json and b.safetensors.index.json",
                   "give the path of one")
    dequant("convert", "b.safetensors.index.json", "-o", folder.out, cwd=folder.path)
    assert tensors(folder.out).keys() == {"b.weight"}


def test_an_index_that_is_not_there_is_named(folder):
    folder.file(weight())
    index = folder.path / "model.safetensors.index.json"
    error = dequant("convert", index, "-o", folder.out, code=5).stderr
    assert "model.safetensors.index.json" in error and "No such file" in error


def test_the_folder_of_an_index_is_no_output(folder):
    two_sets(folder, "model")
    index = folder.path / "model.safetensors.index.json"
    assert "is the input itself" in dequant("convert", index, "-o", folder.path, "--force",
                                            code=5).stderr


def test_a_link_out_of_the_folder_is_refused(folder, tmp_path):
    safetensors(tmp_path / "secret.safetensors", weight())
    (folder.path / "model-1.safetensors").symlink_to(tmp_path / "secret.safetensors")
    folder.index({name: "model-1.safetensors" for name in weight()})
    folder.refused(5, "model-1.safetensors", "leaves the model's folder")


def test_the_links_of_the_hub_cache_are_read(folder, tmp_path):
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    safetensors(blobs / "1a2b", {**weight(), "norm.weight": ("BF16", NORM)})
    (blobs / "3c4d").write_text(json.dumps(CONFIG))
    (blobs / "5e6f").write_text("{}")
    (folder.path / "config.json").unlink()
    for name, blob in [("model.safetensors", "1a2b"), ("config.json", "3c4d"),
                       ("tokenizer.json", "5e6f")]:
        (folder.path / name).symlink_to(f"../blobs/{blob}")
    folder.convert()
    assert sorted(os.listdir(folder.out)) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert not any(path.is_symlink() for path in folder.out.iterdir())

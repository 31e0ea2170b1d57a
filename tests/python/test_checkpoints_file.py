"""Checkpoints that are one file: `config.json` beside the file counts, the output is one file."""

import json

import pytest

from support import dequant
from test_checkpoints import assert_same, tensors
from test_checkpoints_folder import NORM, fixture_folder, weight  # noqa: F401


def test_one_file_becomes_one_file_of_any_size(shared, tmp_path):
    source = shared / "checkpoints" / "bnb_nf4" / "model.safetensors"
    dequant("convert", source, "-o", tmp_path / "small.safetensors", "--max-shard-size", "1K")
    dequant("convert", source, "-o", tmp_path / "large.safetensors")
    assert tmp_path.joinpath("small.safetensors").read_bytes() == \
        tmp_path.joinpath("large.safetensors").read_bytes()


def test_one_file_becomes_one_file(folder):
    source = folder.file({**weight(), "norm.weight": ("BF16", NORM)})
    for name in ("w.weight", "norm.weight"):
        dequant("convert", source, "-o", folder.out, "--force")
        assert tensors(folder.out)[name][0] == "BF16"
    (folder.path / "config.json").unlink()
    dequant("convert", source, "-o", folder.out, "--force")
    assert {name: t[0] for name, t in tensors(folder.out).items()} == {
        "w.weight": "F32", "norm.weight": "BF16"}  # the type of the scales: no configuration


@pytest.mark.parametrize("name", ["modelopt_fp8", "ctedge_mxfp8", "gptq_v1_w3_g32_sym"])
def test_a_file_was_read_without_the_configuration_in_its_folder(shared, name, tmp_path):
    source = shared / "checkpoints" / name
    dequant("convert", source / "model.safetensors", "-o", tmp_path / "out.safetensors")
    dequant("convert", source, "-o", tmp_path / "out")
    assert_same(tensors(tmp_path / "out.safetensors"), tensors(tmp_path / "out"), {})


def test_names_in_json_were_escaped_for_a_terminal(folder):
    names = {"a\nb.bias": "a\\x0ab.bias", "\u202ertl.bias": "\\xe2\\x80\\xaertl.bias"}
    source = folder.file({**weight(), **{name: ("BF16", NORM) for name in names}})
    copied = json.loads(dequant("inspect", source, "--json").stdout)["copied"]
    assert {t["names"] for t in copied} == set(names)
    lines = dequant("inspect", source).stdout.splitlines()
    assert set(names.values()) <= {line.split(" ")[0] for line in lines}

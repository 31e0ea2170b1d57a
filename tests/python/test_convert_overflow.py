"""Numbers that float16 does not hold became infinite in silence: a warning counts them."""

import json

import ml_dtypes
import numpy as np
import pytest

from arithmetic import codes, floats
from support import dequant, dq, model, node, save
from test_checkpoints_folder import Folder

CODES = np.full((8, 300), 448, ml_dtypes.float8_e4m3fn)
SCALE = np.repeat(np.float32([[1], [200]]), 4, 0)  # 448 * 200 = 89600


def sentence(tensor, count):
    return (f"tensor {tensor}: {count} value{' is' if count == 1 else 's are'} infinite in "
            "float16, whose largest number is 65504; bfloat16 has the range of float32")


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    folder = Folder(tmp_path)
    (folder.path / "config.json").unlink()
    folder.file({"w.weight": ("F8_E4M3", CODES.view(np.uint8)), "w.weight_scale": ("F32", SCALE),
                 "norm": ("F32", np.float32([65519, 65520, -1e5]))})
    return folder


@pytest.mark.parametrize("options", [(), ("--audit", "audit"), ("--mem", "1", "-T", "4")])
def test_of_checkpoints(folder, tmp_path, options):
    options = [str(tmp_path / o) if o == "audit" else o for o in options]
    report = json.loads(folder.convert("--dtype", "float16", "--json", *options).stdout)
    assert report["warnings"] == [sentence("w.weight", 1200)]


def test_of_floats_that_are_rounded_and_not_of_those_that_are_copied(folder, tmp_path):
    folder.convert("--dtype", "float16")
    report = json.loads(dequant("convert", folder.path, "-o", tmp_path / "same", "--others", "same",
                                "--dtype", "float16", "--json").stdout)
    assert report["warnings"][-2:] == [sentence("norm", 2), sentence("w.weight", 1200)]
    copied = json.loads(dequant("convert", folder.out, "-o", tmp_path / "again", "--dtype",
                                "float16", "--json").stdout)
    assert copied["warnings"] == []


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_other_types_hold_the_numbers(folder, dtype):
    report = json.loads(folder.convert("--dtype", dtype, "--json").stdout)
    assert report["warnings"] == []


def test_of_shares(folder):
    said = "".join(folder.convert("--dtype", "float16", "--shard", f"{i}/3", "--task-size",
                                  "4096").stderr for i in range(3))
    counts = [int(line.split(": ")[3].split()[0]) for line in said.splitlines()]
    assert sum(counts) == 1200


def test_of_onnx_models(tmp_path):
    tensors = [codes("int8", [100, 1, -100]).tensor("x"),
               floats(np.float32(1000)).tensor("scale")]
    nodes = [dq("x scale", "w"), node("Identity", "w", "y")]
    source = save(model(nodes, initializers=tensors), tmp_path / "in.onnx")
    for options in ((), ("--external-data",)):
        done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--dtype", "float16",
                       "--force", *options)
        assert sentence("w", 2) in done.stderr
    assert "infinite" not in dequant("convert", source, "-o", tmp_path / "single.onnx").stderr

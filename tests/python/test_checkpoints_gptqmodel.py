"""Checkpoints of other producers' schemes as GPTQModel names tensors and layouts."""

import json
import re

import pytest

from support import dequant
from test_checkpoints import assert_same, tensors


def renamed(shared, folder, path, names, section):
    """The producer's checkpoint with other names of tensors, and members of quantization_config."""
    source = shared / "checkpoints" / folder
    path.mkdir()
    data = (source / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = {}
    for name, entry in json.loads(data[8:start]).items():
        for old, new in names.items():
            name = re.sub(old, new, name)
        header[name] = entry
    text = json.dumps(header).encode()
    (path / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + data[start:])
    config = json.loads((source / "config.json").read_text())
    config["quantization_config"] |= section
    (path / "config.json").write_text(json.dumps(config))
    return path


BITSANDBYTES = {r"\.(absmax|quant_map|nested_absmax|nested_quant_map)$": r"_\1",
                r"\.quant_state\.bitsandbytes__(nf4|fp4)$": "_quant_state",
                r"\.SCB$": ".weight_scb"}
CASES = {**{folder: (BITSANDBYTES, {}) for folder in
            ("bnb_fp4", "bnb_nf4", "bnb_nf4_double", "bnb_int8")},
         "awq_gemm_g32": ({}, {"quant_method": "gptq", "checkpoint_format": "gemm"})}


@pytest.mark.parametrize("folder", CASES)
def test_the_names_of_gptqmodel_were_refused(shared, folder, tmp_path):
    names, section = CASES[folder]
    path = renamed(shared, folder, tmp_path / "in", names, section)
    options = ["--dtype", "float32"] if folder == "bnb_int8" else []  # as expected
    dequant("convert", path, "-o", tmp_path / "out", *options)
    expected = shared / "checkpoints" / folder / "expected.safetensors"
    assert_same(tensors(tmp_path / "out"), tensors(expected), {})
    dequant("verify", path, tmp_path / "out")


def test_a_state_without_a_known_type_is_refused(shared, tmp_path):
    path = renamed(shared, "bnb_nf4", tmp_path / "in", BITSANDBYTES, {})
    data = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(data.replace(b'"nf4"', b'"nf5"'))
    error = dequant("convert", path, "-o", tmp_path / "out", code=3).stderr
    assert 'quant_type is "nf5", not one of nf4, fp4' in error


def test_tensors_in_the_order_of_awq_are_those_of_awq_alone(shared, tmp_path):
    path = renamed(shared, "awq_gemm_g32", tmp_path / "in", {},
                   {"quant_method": "gptq", "checkpoint_format": "gemv"})
    dequant("convert", path, "-o", tmp_path / "out", code=4)

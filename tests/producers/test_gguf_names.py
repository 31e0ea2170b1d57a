"""--names hf beside transformers' own loader of GGUF files: state dicts with the same bits; kinds
that it does not load are loaded from the converted folder, with every tensor in its place."""

import os
import pathlib
import subprocess
import sys

import gguf
import pytest
import torch
from transformers import AutoModelForCausalLM

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import gguf_names_support as models  # noqa: E402

#: What transformers' loader does not read in the metadata, and takes for the values of its own
#: default configuration.
DEFAULTS = {"qwen3": {"HEAD": 128}, "qwen2moe": {"EXPERT_INNER": 1408, "SHARED_INNER": 5632}}
#: It has no loader of these.
OURS_ALONE = ("gemma", "deepseek2")


@pytest.mark.parametrize("kind", models.KINDS)
def test_a_model_is_that_of_transformers_own_loader(tmp_path, monkeypatch, kind):
    for name, value in DEFAULTS.get(kind, {}).items():
        monkeypatch.setattr(models, name, value)
    models.write(tmp_path / "m.gguf", kind, models.model_of(kind), gguf.GGMLQuantizationType.Q8_0)
    subprocess.run([os.environ["DEQUANT_CLI"], "convert", tmp_path / "m.gguf", "-o",
                    tmp_path / "out", "--names", "hf", "-q"], check=True)
    ours, notes = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float32,
                                                       output_loading_info=True)
    assert not any(notes.values()), notes
    if kind in OURS_ALONE:
        return
    ours = ours.state_dict()
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="m.gguf",
                                                  dtype=torch.float32).state_dict()
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert ours[name].numpy().tobytes() == values.numpy().tobytes(), name

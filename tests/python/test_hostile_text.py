"""Names and arguments with characters that a terminal obeys: none of them is printed as it is."""

import json
import os
import subprocess

import numpy as np
import pytest

from support import dequant
from test_verify import safetensors

#: Of each kind the first and the last: delete, C1, separators, marks of direction.
OBEYED = "\x7f\x80\x9b\x9f\u2028\u2029\u202a\u202e\u2066\u2069"
SHOWN = "a\\b\xa0\xe9\u2027\u202f\u2065\u206a\u4e2d\ue000\ufffd\U0001f600"


@pytest.fixture(name="path")
def fixture_path(tmp_path):
    path = tmp_path / f"{OBEYED}{SHOWN}.safetensors"
    safetensors(path, {f"{OBEYED}{SHOWN}.weight": ("F8_E4M3", np.ones((8, 8), np.uint8)),
                       f"{OBEYED}{SHOWN}.weight_scale": ("F32", np.ones((8, 1), np.float32))})
    return path


@pytest.mark.parametrize("command", ["inspect", "convert", "plan", "verify", "diff"])
def test_json_had_characters_that_terminals_obey(path, tmp_path, command):
    others = {"inspect": ["--all", "--json"], "plan": ["-o", tmp_path / f"o{OBEYED}"],
              "convert": ["-o", tmp_path / f"o{OBEYED}.safetensors", "-n", "--json"]}
    words = others.get(command, [path, "--json"])
    text = dequant(command, path, *words).stdout
    assert not set(OBEYED) & set(text)
    document = json.dumps(json.loads(text), ensure_ascii=False)
    assert OBEYED in document and json.dumps(SHOWN, ensure_ascii=False)[1:-1] in text


@pytest.mark.parametrize("arguments", [
    ["--mem", "\x1b[31m"], ["--\x1b[31m"], ["-T", "\x9b"], ["--dtype", "\u202e"]])
def test_messages_of_options_had_characters_that_terminals_obey(arguments):
    done = subprocess.run([os.environ["DEQUANT_CLI"], "convert", "in", "-o", "out", *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert not set(arguments[-1]) & set(OBEYED + "\x1b") & set(done.stderr), done.stderr
    assert "\\x" in done.stderr and done.stderr.count("\n") <= 2

"""Recipes of docs/cluster.md, and a checkpoint for them."""

import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cluster.md"
NAMED = re.compile(r"\b[Aa]s `([\w.]+)`((?!\b[Aa]s `|```).)*```\w*\n(?P<text>.*?)```", re.S)
#: The names of the recipes' input and output.
INPUT, OUTPUT = "DeepSeek-V3", "DeepSeek-V3-bf16"
#: Lets Open MPI run as root, and more processes than processors, all on this machine.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm_rsh_agent": "false"}


def recipe(name):
    """The text of a file of the page, or of a block of commands after "As `name`"."""
    return {m[1]: m["text"] for m in NAMED.finditer(PAGE.read_text())}[name]


@functools.cache
def _example():
    spec = importlib.util.spec_from_file_location("example",
                                                  ROOT / "examples" / "make_fp8_checkpoint.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_checkpoint(folder, files=8, rows=192, columns=160, tensors=3):
    """A checkpoint of FP8 in blocks of several files, random and the same each time."""
    example = _example()
    checkpoint, where = example.Checkpoint(), {}
    folder.mkdir()
    for i in range(files):
        checkpoint.tensors = []
        for j in range(tensors):
            checkpoint.quantized(f"model.layers.{i}.{j}", rows + 8 * i, columns)
        checkpoint.plain(f"model.layers.{i}.norm.weight", columns)
        name = f"model-{i + 1:05}-of-{files:05}.safetensors"
        (folder / name).write_bytes(example.file_of(checkpoint.tensors))
        where |= {tensor[0]: name for tensor in checkpoint.tensors}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    (folder / "config.json").write_text(json.dumps({
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}))
    (folder / "tokenizer.json").write_text("{}\n")


def files_of(folder):
    """The contents of a folder: name -> bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


class Place:
    """A folder in which recipes run: with their input, and a `dequant` on the path."""

    def __init__(self, folder, cli, **shape):
        self.folder = folder
        self.cli = pathlib.Path(cli).resolve()
        write_checkpoint(folder / INPUT, **shape)
        self.run("dequant", "convert", INPUT, "-o", "expected", "--shards", "as-input", "--dtype",
                 "bfloat16", "--quiet")
        self.expected = files_of(folder / "expected")

    def run(self, *command, check=True, **environment):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("SLURM_", "OMPI_", "PMI_", "JOB_COMPLETION"))}
        env |= {"PATH": f"{self.cli.parent}:{os.environ['PATH']}"} | environment
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=env, text=True,
                              capture_output=True, timeout=300, check=False)
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def save(self, name):
        """Writes a file of the page. Returns its text."""
        text = recipe(name)
        (self.folder / name).write_text(text)
        return text

    def shell(self, name, **environment):
        """Runs the commands of a block of the page."""
        return self.run("bash", "-euo", "pipefail", "-c", recipe(name), **environment)

    def check(self):
        """The output is complete, and has the bytes of one `dequant convert`."""
        assert files_of(self.folder / OUTPUT) == self.expected
        assert len(self.expected) > 8  # tasks for several processes

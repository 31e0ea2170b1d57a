"""Every console example of the documents is run, and prints what the document says.

A block marked ```console holds commands after "$ " and their output. The blocks of a document run
one after another in a folder that has a copy of examples/, and of each ```json block that the text
before it gives a file name ("As `name.json`"). Run this file with --update to write the true
output into the documents.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "docs/cli.md", "docs/cases.md", "docs/cluster.md"]
BLOCK = re.compile(r"```console\n(.*?)```", re.S)

NAMED_JSON = re.compile(r"As `([\w.]+)`[^`]*```json\n(.*?)```", re.S)


def commands(block):
    """The commands of a block, without the output below them."""
    return [line[2:].rstrip("\n") for line in block.splitlines() if line.startswith("$ ")]


def run(command, folder, cli):
    env = dict(os.environ, PATH=f"{pathlib.Path(cli).parent}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    code = f"[exit code {done.returncode}]\n" if done.returncode else ""
    return done.stdout + code


def replay(text, folder, cli):
    """The document with the output its commands really have."""
    def block(match):
        out = ""
        for command in commands(match.group(1)):
            out += f"$ {command}\n{run(command, folder, cli)}"
        return f"```console\n{out}```"
    return BLOCK.sub(block, text)


def replayed(document, cli):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", pathlib.Path(folder) / "examples")
        text = (ROOT / document).read_text()
        for name, content in NAMED_JSON.findall(text):
            (pathlib.Path(folder) / name).write_text(content)
        return text, replay(text, folder, cli)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_console_examples_print_what_the_document_says(document):
    text, true = replayed(document, os.environ["DEQUANT_CLI"])
    assert BLOCK.search(text), "a document listed here without an example"
    assert text == true


if __name__ == "__main__" and "--update" in sys.argv:
    for name in DOCUMENTS:
        (ROOT / name).write_text(replayed(name, os.environ["DEQUANT_CLI"])[1])

"""What the documents show of Python is what happens."""

import doctest
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(text):
    """The examples at their lines, so that a failure names the line of the document: all else
    becomes blank."""
    source, last = [], 0
    for block in BLOCK.finditer(text):
        source += ["\n" * text.count("\n", last, block.start(1)), block.group(1)]
        last = block.end(1)
    return "".join(source)


@pytest.mark.parametrize(("document", "at_least"), [("README.md", 3), ("docs/python.md", 20),
                                                    ("docs/object_storage.md", 8)])
def test_every_example_of_the_document_gives_what_it_shows(document, at_least, tmp_path,
                                                           monkeypatch):
    pytest.importorskip("ml_dtypes")  # the documents show its types
    monkeypatch.chdir(ROOT)  # models are named from there
    path = ROOT / document
    test = doctest.DocTestParser().get_doctest(examples(path.read_text()),
                                               {"folder": str(tmp_path)}, path.name, str(path), 0)
    said = []
    results = doctest.DocTestRunner().run(test, out=said.append)
    assert results.failed == 0, "".join(said)
    assert results.attempted >= at_least

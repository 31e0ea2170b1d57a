"""A file system in memory behind URLs, which counts what is read and can fail."""

import tempfile

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dequant
from remote_support import MODELS, upload


class Counting(MemoryFileSystem):
    """Counts what is read, and can fail."""

    protocol = "counting"
    cachable = True
    reads = []
    tokens = set()
    fail = None

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(path.replace("counting://", "memory://"))

    def cat_file(self, path, start=None, end=None, **kwargs):
        self.tokens.add(self.storage_options.get("token"))
        if self.fail:
            self.fail(path, start)
        data = super().cat_file(path, start=start, end=end, **kwargs)
        self.reads.append((path, start, len(data)))
        return data


fsspec.register_implementation("counting", Counting, clobber=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Kind -> the model, a local conversion, options."""
    known = {}

    def make(kind):
        if kind not in known:
            maker, name, output, options = MODELS[kind]
            folder = tmp_path_factory.mktemp("models")
            model = maker(folder / name)
            dequant.convert(model, folder / output, **options)
            known[kind] = model, folder / output, options
        return known[kind]
    return make


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder, which is empty before and after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture
def fs(temporary):
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    Counting.reads.clear()
    Counting.fail = None
    yield fsspec.filesystem("memory")
    Counting.fail = None


@pytest.fixture
def checkpoint(made, fs):
    """A checkpoint at memory://in/fp8; its local conversion."""
    model, dense, _ = made("checkpoint")
    upload(fs, model, "memory://in/fp8")
    return dense


def visible(fs, root="/out"):
    """What others than tasks see."""
    return [name for name in fs.find(root) if ".dequant-tasks" not in name] \
        if fs.exists(root) else []

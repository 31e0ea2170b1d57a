"""Folders behind URLs: what is in them, and outputs that are there already."""

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dequant
from http_support import make_modelopt
from remote_memory import Counting, checkpoint, fs, made, temporary  # noqa: F401
from remote_support import SHARD, contents, remote_contents, upload


class Odd(MemoryFileSystem):
    """Cannot list some folders, and has some links, as file systems of fsspec name them."""

    protocol = "odd"
    cachable = False
    broken = ()
    links = ()
    find = fsspec.AbstractFileSystem.find  # that of most file systems

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(path.replace("odd://", "memory://"))

    def ls(self, path, detail=True, **more):
        if self._strip_protocol(path) in self.broken:
            raise ConnectionError("connection reset while listing")
        return [{**entry, "type": "link"} if entry["name"] in self.links else entry
                for entry in super().ls(path, detail=True, **more)]


fsspec.register_implementation("odd", Odd, clobber=True)


@pytest.fixture
def linked(tmp_path):
    """A checkpoint of links into a folder beside it, as in the cache of Hugging Face."""
    model = make_modelopt(tmp_path / "blobs")
    (model / "tokenizer.json").write_text("{}")
    (tmp_path / "snapshot").mkdir()
    for file in model.iterdir():
        (tmp_path / "snapshot" / file.name).symlink_to(f"../blobs/{file.name}")
    return tmp_path / "snapshot"


@pytest.mark.parametrize("protocol", ["file", "local"])
def test_linked_files_of_a_url_of_a_local_folder_were_left_out(linked, tmp_path, protocol):
    dequant.convert(linked, tmp_path / "expected")
    expected = contents(tmp_path / "expected")
    assert {"config.json", "tokenizer.json"} < set(expected)
    url = f"{protocol}://{linked}"
    dequant.convert(url, tmp_path / "o")
    assert contents(tmp_path / "o") == expected
    dequant.convert(url, f"file://{tmp_path}/p")
    assert contents(tmp_path / "p") == expected
    tasks = dequant.plan(url, tmp_path / "q")
    dequant.run_task(tasks[0])
    assert dequant.finalize(tmp_path / "q", input=url).complete
    assert contents(tmp_path / "q") == expected


@pytest.mark.parametrize("name", ["config.json", "docs/guide.md"])
def test_links_behind_other_urls_were_left_out(checkpoint, monkeypatch, name):
    monkeypatch.setattr(Odd, "links", (f"/in/fp8/{name}",))
    with pytest.raises(ValueError, match=f"odd://in/fp8: {name} is neither .*'link'; links are"):
        dequant.plan("odd://in/fp8", "memory://out/dense")


@pytest.mark.parametrize("url", ["odd://in/fp8", "simplecache::odd://in/fp8",
                                 "odd://in/fp8/model.safetensors.index.json"])
def test_the_files_of_a_folder_that_cannot_be_listed_were_left_out(checkpoint, tmp_path, url,
                                                                   monkeypatch):
    monkeypatch.setattr(Odd, "broken", ("/in/fp8/docs",))
    options = {"simplecache": {"cache_storage": str(tmp_path)}} if "::" in url else {}
    with pytest.raises(OSError, match="fp8.*: connection reset while listing"):
        dequant.plan(url, "memory://out/dense", storage_options={"input": options})


def test_hidden_folders_are_not_listed(checkpoint, fs, monkeypatch):
    fs.pipe_file("/in/fp8/.git/config", b"")
    monkeypatch.setattr(Odd, "broken", ("/in/fp8/.git",))
    dequant.convert("odd://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)


def test_a_file_with_the_name_of_a_folder_is_refused(checkpoint, fs):
    """Object stores have both."""
    fs.store["/in/fp8/docs"] = fs.store["/in/fp8/config.json"]
    with pytest.raises(ValueError, match="memory://in/fp8: docs is a file, and a folder with docs/"):
        dequant.plan("memory://in/fp8", "memory://out/dense")


def test_a_name_that_is_too_long_for_a_local_file_names_the_url(checkpoint, fs):
    fs.pipe_file(f"/in/fp8/{'a' * 300}", b"")
    with pytest.raises(OSError, match="memory://in/fp8: no local file can stand for aaa.*too long"):
        dequant.plan("memory://in/fp8", "memory://out/dense")


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("there", ["files", "file"])
@pytest.mark.parametrize("output", ["{}", "file://{}"])
def test_an_output_that_is_there_was_no_error_of_a_dry_run(checkpoint, tmp_path, dry, there,
                                                           output):
    if there == "files":
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "x").write_text("mine")
    else:
        (tmp_path / "out").write_text("mine")
    Counting.reads.clear()
    with pytest.raises(FileExistsError):
        dequant.convert("counting://in/fp8", output.format(tmp_path / "out"), dry_run=dry)
    weights = [read for read in Counting.reads if read[2] > 10_000]
    assert not weights  # nothing that a task would read
    with pytest.raises(FileExistsError):
        dequant.convert("memory://in/fp8", output.format(tmp_path / "out"), dry_run=dry)


def test_tasks_notice_an_output_before_they_fetch_anything(checkpoint, tmp_path):
    tasks = dequant.plan("counting://in/fp8", tmp_path / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("mine")
    Counting.reads.clear()
    with pytest.raises(FileExistsError, match="overwrite is False"):
        dequant.run_task(tasks[0])
    assert not Counting.reads


def test_a_dry_run_sees_the_tasks_of_another_conversion(checkpoint):
    dequant.run_task(dequant.plan("memory://in/fp8", "memory://out/dense")[0])
    dequant.convert("memory://in/fp8", "memory://out/dense", dry_run=True)
    with pytest.raises(ValueError, match="tasks of another conversion"):
        dequant.convert("memory://in/fp8", "memory://out/dense", dtype="float32", dry_run=True)


def test_requests_took_more_memory_than_the_caller_allows(fs, made, tmp_path, monkeypatch):
    model, dense, _ = made("gguf")
    upload(fs, model, "memory://in/model.gguf")
    asked = []
    read = Counting.cat_ranges

    def note(self, paths, starts, ends, **more):
        asked.append(sum(e - s for s, e in zip(starts, ends, strict=True)))
        return read(self, paths, starts, ends, **more)
    monkeypatch.setattr(Counting, "cat_ranges", note)
    dequant.convert("counting://in/model.gguf", tmp_path / "o.gguf", mem=4 << 20)
    assert 0 < max(asked) <= 1 << 20
    assert (tmp_path / "o.gguf").read_bytes() == dense.read_bytes()

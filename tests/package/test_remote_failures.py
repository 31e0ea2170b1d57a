"""Models behind URLs of which something changes or fails meanwhile."""

import errno
import shutil

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dequant
from remote_memory import Counting, checkpoint, fs, made, temporary, visible  # noqa: F401
from remote_support import SHARD, contents, remote_contents, upload


def test_a_source_that_was_replaced_is_refused(checkpoint, fs):
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    dequant.run_task(tasks[0])
    name = "/in/fp8/model-00002-of-00002.safetensors"
    old = fs.cat_file(name)
    fs.pipe_file(name, old[:-1] + b"?")  # of the same size, with the same header
    changed = r"model-00002-of-00002\.safetensors changed since"
    with pytest.raises(ValueError, match=changed):
        dequant.run_task(tasks[1])
    with pytest.raises(ValueError, match=changed):
        dequant.finalize("memory://out/dense")
    fs.rm_file(name)
    with pytest.raises(ValueError, match=r"model-00002-of-00002\.safetensors was there"):
        dequant.run_task(tasks[1])
    assert not visible(fs)


def test_a_source_that_is_replaced_while_a_task_reads_is_refused(checkpoint, fs):
    name = "/in/fp8/model-00001-of-00002.safetensors"
    tasks = dequant.plan("counting://in/fp8", "memory://out/dense", max_shard_size=SHARD)

    def replace(path, start):
        if path == name and start and start > 8:
            Counting.fail = None
            fs.pipe_file(name, fs.cat_file(name)[:-1] + b"?")
    Counting.fail = staticmethod(replace)
    with pytest.raises(ValueError, match="changed since"):
        dequant.run_task(tasks[0])
    assert not any("records" in name for name in fs.find("/out"))


def test_a_record_without_its_file_is_no_record(checkpoint, fs):
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    for task in tasks:
        dequant.run_task(task)
    data = [name for name in fs.find("/out") if "/data-" in name]
    fs.rm_file(data[0])
    fs.pipe_file(data[1], fs.cat_file(data[1])[:-1])
    missing = dequant.finalize("memory://out/dense").missing
    assert sorted(missing) == [0, 1] and not visible(fs)
    assert [dequant.run_task(task).done for task in tasks] == [True, True] + [False] * (
        len(tasks) - 2)
    assert dequant.finalize("memory://out/dense").complete
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)


def test_changed_bytes_of_a_file_are_found(checkpoint, fs):
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    for task in tasks:
        dequant.run_task(task)
    data = next(name for name in fs.find("/out") if "/data-" in name)
    changed = bytearray(fs.cat_file(data))
    changed[len(changed) // 3] ^= 1
    fs.pipe_file(data, bytes(changed))
    assert list(dequant.finalize("memory://out/dense", verify=True).missing) == [0]


def test_an_interrupted_finalize_is_done_again(checkpoint, fs, monkeypatch):
    for task in dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD):
        dequant.run_task(task)
    for name in ("copy", "put_file", "rm"):
        def fail(*_, **__):
            raise ConnectionError("the network is gone")
        with monkeypatch.context() as patch:
            patch.setattr(MemoryFileSystem, name, fail)
            with pytest.raises(ConnectionError):
                dequant.finalize("memory://out/dense")
        assert name == "rm" or not fs.exists("/out/dense/config.json")
    assert dequant.finalize("memory://out/dense").complete
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)


def test_an_interrupted_conversion_goes_on(checkpoint, fs):
    def interrupt(done, total):
        if done > total // 2:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        dequant.convert("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD,
                        progress=interrupt)
    assert not visible(fs)
    done = len([name for name in fs.find("/out") if "/records-" in name])
    assert done > 0
    dequant.convert("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)


def test_an_error_of_the_file_system_arrives_from_the_middle_of_a_conversion(checkpoint, fs):
    tasks = dequant.plan("counting://in/fp8", "memory://out/dense", max_shard_size=SHARD)

    def fail(path, start):
        if path.endswith("config.json"):
            raise PermissionError(13, "no access to config.json")
    Counting.fail = staticmethod(fail)
    with pytest.raises(PermissionError, match="no access to config.json"):
        dequant.run_task(tasks[0])
    assert not visible(fs)


def test_an_error_of_a_class_of_its_own_is_an_os_error(checkpoint, fs):
    class PayloadError(Exception):
        pass

    def fail(path, start):
        if start:
            raise PayloadError("not enough data")
    tasks = dequant.plan("counting://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    Counting.fail = staticmethod(fail)
    with pytest.raises(OSError, match="fp8: .*: PayloadError: not enough data"):
        dequant.run_task(tasks[0])


@pytest.mark.parametrize("name", ["info", "find", "cat_file", "cat_ranges"])
def test_a_store_that_is_gone_was_an_error_of_the_package_of_its_protocol(checkpoint, fs, name,
                                                                          monkeypatch):
    class EndpointConnectionError(Exception):
        pass

    def fail(*_, **__):
        raise EndpointConnectionError("could not connect")
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    dequant.run_task(tasks[0])
    monkeypatch.setattr(MemoryFileSystem, name, fail)
    failed = 0
    for call in (lambda: dequant.plan("memory://in/fp8", "memory://out/dense"),
                 lambda: dequant.run_task(tasks[1]),
                 lambda: dequant.finalize("memory://out/dense")):
        try:
            call()
        except OSError as error:
            assert error.errno == errno.EIO and "could not connect" in str(error)
            failed += 1
    assert failed > 0


def error_of_task(monkeypatch, text, number):
    """What run_task() raises where the core fails with a text that has the output's local path."""
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)

    def fail(conversion, output, *_):
        error = OSError(text.format(output))
        error.errno = number
        raise error
    monkeypatch.setattr(dequant._core, "run_task", fail)
    with pytest.raises(OSError) as caught:
        dequant.run_task(tasks[0])
    assert caught.value.errno == number
    return str(caught.value)


def test_a_full_temporary_folder_was_said_to_be_a_full_store(checkpoint, fs, temporary,
                                                             monkeypatch):
    error = error_of_task(monkeypatch, "no room for {}/model.safetensors (9 bytes): No space left",
                          errno.ENOSPC)
    assert "TMPDIR names a folder with more room" in error
    assert str(temporary) in error and "memory://" not in error


def test_an_error_with_the_url_had_no_errno_any_more(checkpoint, fs, monkeypatch):
    error = error_of_task(monkeypatch, "cannot write {}/model.safetensors: Input/output error",
                          errno.EIO)
    assert "cannot write memory://out/dense/model" in error


def test_a_short_answer_is_no_data(checkpoint, fs, monkeypatch):
    tasks = dequant.plan("counting://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    read = Counting.cat_file

    def short(self, path, start=None, end=None):
        data = read(self, path, start, end)
        return data[:-1] if len(data) > 1000 else data
    monkeypatch.setattr(Counting, "cat_file", short)
    with pytest.raises(OSError, match="bytes came for bytes"):
        dequant.run_task(tasks[0])


def test_files_of_another_model_are_not_overwritten(checkpoint, fs):
    fs.pipe_file("/out/dense/notes.txt", b"mine")
    with pytest.raises(FileExistsError):
        dequant.convert("memory://in/fp8", "memory://out/dense")
    dequant.convert("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD, overwrite=True)
    assert remote_contents(fs, "memory://out/dense") == {**contents(checkpoint),
                                                         "notes.txt": b"mine"}


def test_weights_of_another_model_are_refused_also_with_overwrite(checkpoint, fs):
    fs.pipe_file("/out/dense/model-00001-of-00009.safetensors", b"of another model")
    with pytest.raises(OSError, match="memory://out/dense has model-00001-of-00009.safetensors"):
        dequant.convert("memory://in/fp8", "memory://out/dense", overwrite=True)
    assert not any(".dequant-tasks" in name for name in fs.find("/out"))


@pytest.mark.parametrize("name", ["config.json", "model-00001-of-00004.safetensors"])
def test_finalize_replaces_no_file_that_appeared_since(checkpoint, fs, name):
    for task in dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD):
        dequant.run_task(task)
    fs.pipe_file(f"/out/dense/{name}", b"of somebody else")
    with pytest.raises(FileExistsError, match=f"{name} appeared since"):
        dequant.finalize("memory://out/dense")
    assert visible(fs) == [f"/out/dense/{name}"]
    fs.rm_file(f"/out/dense/{name}")
    assert dequant.finalize("memory://out/dense").complete
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)


def test_another_conversion_is_not_mixed_in(checkpoint, fs):
    first = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    second = dequant.plan("memory://in/fp8", "memory://out/dense", dtype="float32")
    dequant.run_task(first[0])
    with pytest.raises(ValueError, match="tasks of another conversion"):
        dequant.run_task(second[0])


@pytest.mark.parametrize(("source", "output"), [
    ("file://{}", "file://{}"), ("{}", "file://{}"), ("file://{}", "{}"),
    ("file://{}", "file://{}/../link"), ("memory:/{}", "memory:/{}")])
def test_a_model_behind_a_url_was_replaced_by_its_own_floats(checkpoint, fs, made, tmp_path, source,
                                                             output):
    model = shutil.copytree(made("checkpoint")[0], tmp_path / "model")
    (tmp_path / "link").symlink_to(model)
    upload(fs, model, f"memory:/{model}")
    before = contents(model), remote_contents(fs, f"memory:/{model}")
    for options in ({"shards": "as-input"}, {"max_shard_size": SHARD}):
        with pytest.raises(OSError, match="is a file of the input|is the input itself"):
            dequant.convert(source.format(model), output.format(model), overwrite=True, **options)
    assert (contents(model), remote_contents(fs, f"memory:/{model}")) == before


def test_a_file_behind_a_url_was_replaced_by_its_own_floats(fs, made):
    upload(fs, made("gguf")[0], "memory://in/model.gguf")
    before = remote_contents(fs, "memory://in/model.gguf")
    with pytest.raises(OSError, match=r"/in/model\.gguf is a file of the input"):
        dequant.convert("memory://in/model.gguf", "memory://in/model.gguf", overwrite=True)
    assert remote_contents(fs, "memory://in") == before


def test_two_stores_may_have_the_same_paths(checkpoint, fs, tmp_path):
    """Only the paths of the files are the same."""
    target = tmp_path / "dense"
    upload(fs, checkpoint, f"memory:/{target}")
    for store in (f"memory:/{target}", f"file://{target}"):
        dequant.convert("memory://in/fp8", store, max_shard_size=SHARD, overwrite=True)
    assert contents(target) == contents(checkpoint)


@pytest.mark.parametrize("protocol", ["memory:/", "file://"])
@pytest.mark.parametrize("name", ["dense*", "den[s]e", "d?nse", "[dense"])
def test_a_name_that_looks_like_a_pattern_removed_the_tasks_of_others(checkpoint, fs, tmp_path,
                                                                      protocol, name):
    store = fsspec.filesystem(protocol.partition(":")[0])
    other = f"{protocol}{tmp_path}/dense"
    for task in dequant.plan("memory://in/fp8", other, max_shard_size=SHARD):
        dequant.run_task(task)
    dequant.convert("memory://in/fp8", f"{protocol}{tmp_path}/{name}", max_shard_size=SHARD)
    assert {path[len(f"{tmp_path}/{name}/"):]: store.cat_file(path)
            for path in store.find(f"{tmp_path}/{name}")} == contents(checkpoint)
    assert not store.exists(f"{tmp_path}/{name}/.dequant-tasks")
    assert dequant.finalize(other).complete


def test_a_replaced_output_whose_finalize_died_loaded_as_a_mixture(checkpoint, fs, monkeypatch):
    """The files that make a folder a model go before the first of its weights."""
    dequant.convert("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    copy = MemoryFileSystem.cp_file
    copied = []

    def die(self, source, target, **more):
        if ".dequant-tasks" in source and len(copied) == 1:
            raise KeyboardInterrupt
        copied.append(target)
        return copy(self, source, target, **more)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "cp_file", die)
        with pytest.raises(KeyboardInterrupt):
            dequant.convert("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD,
                            overwrite=True)
    there = [name.rpartition("/")[2] for name in visible(fs)]
    assert "config.json" not in there and "model.safetensors.index.json" not in there
    assert "tokenizer.json" in there
    assert dequant.finalize("memory://out/dense").complete
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)

"""Models behind URLs, of fsspec's file system in memory."""

import concurrent.futures
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dequant
from remote_support import MODELS, SHARD, contents, remote_contents, upload


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


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


@pytest.mark.parametrize("kind", MODELS)
def test_a_conversion_between_urls_gives_the_bytes_of_a_local_one(made, fs, kind):
    model, dense, options = made(kind)
    upload(fs, model, f"memory://in/{model.name}")
    told = []
    report = dequant.convert(f"memory://in/{model.name}", f"memory://out/{dense.name}",
                             progress=lambda done, total: told.append((done, total)), **options)
    assert remote_contents(fs, f"memory://out/{dense.name}") == contents(dense)
    assert fs.ls("/out", detail=False) == [f"/out/{dense.name}"]
    assert report.to_dict()["output"] == f"memory://out/{dense.name}" and report.bytes_out > 0
    assert len(report.converted) > 3 and not report.left
    assert told[-1] == (report.bytes_out, report.bytes_out)


@pytest.mark.parametrize("kind", MODELS)
def test_one_side_may_be_local(made, fs, tmp_path, kind):
    model, dense, options = made(kind)
    dequant.convert(str(model), f"memory://out/{dense.name}", **options)
    assert remote_contents(fs, f"memory://out/{dense.name}") == contents(dense)
    upload(fs, model, f"memory://in/{model.name}")
    dequant.convert(f"memory://in/{model.name}", tmp_path / dense.name, **options)
    assert contents(tmp_path / dense.name) == contents(dense)
    assert not list(tmp_path.glob("*.dequant-tasks"))


SHARED = pathlib.Path(os.environ.get("DEQUANT_SHARED", "../shared")) / "checkpoints"
PRODUCED = sorted(p for p in SHARED.glob("*") if p.is_dir())


@pytest.mark.slow
@pytest.mark.parametrize("folder", PRODUCED, ids=lambda p: p.name)
def test_checkpoints_of_every_producer_are_read_as_local_ones(fs, tmp_path, folder):
    upload(fs, folder, f"memory://in/{folder.name}")
    gguf = sorted(p.name for p in folder.glob("*.gguf"))[:1]
    name = "/".join([folder.name, *gguf])
    try:
        dequant.convert(SHARED / name, tmp_path / "out")
    except ValueError as error:
        with pytest.raises(type(error)):
            dequant.convert(f"memory://in/{name}", "memory://out/out")
        return
    dequant.convert(f"memory://in/{name}", "memory://out/out")
    assert remote_contents(fs, "memory://out/out") == contents(tmp_path / "out")


def test_nothing_is_visible_before_finalize(checkpoint, fs):
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    assert len(tasks) > 2 and not visible(fs)
    for task in reversed(tasks):
        assert not dequant.finalize("memory://out/dense").complete if fs.exists("/out") else True
        assert dequant.run_task(pickle.loads(pickle.dumps(task))).done
        assert not visible(fs)
    assert not dequant.run_task(tasks[1]).done
    assert dequant.finalize("memory://out/dense", verify=True).complete
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)
    assert dequant.finalize("memory://out/dense").complete  # as often as one likes
    with pytest.raises(FileExistsError):
        dequant.run_task(tasks[0])


def test_tasks_run_at_once(checkpoint, fs):
    tasks = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(dequant.run_task, tasks))
    assert all(report.done for report in reports)
    assert dequant.finalize("memory://out/dense").complete
    assert remote_contents(fs, "memory://out/dense") == contents(checkpoint)


def fetched_by_first_task(fs, model, output, options):
    """Its bytes, those of its reads, where data begins in the files, and how many tasks."""
    upload(fs, model, f"memory://in/{model.name}")
    tasks = dequant.plan(f"counting://in/{model.name}", f"memory://out/{output}", **options)
    Counting.reads.clear()
    dequant.run_task(tasks[0])
    ranges = [(path, start) for path, start, _ in Counting.reads]
    assert len(set(ranges)) == len(ranges)  # nothing twice
    headers = {}
    for task in tasks:
        for file, begin, _ in task.reads:
            headers[file] = min(begin, headers.get(file, begin))
    return (sum(size for *_, size in Counting.reads),
            sum(end - begin for _, begin, end in tasks[0].reads), headers, len(tasks))


def test_a_task_of_a_checkpoint_fetches_its_reads_and_headers(made, fs):
    model, dense, options = made("checkpoint")
    got, wanted, headers, tasks = fetched_by_first_task(fs, model, dense.name, options)
    small = sum((model / name).stat().st_size for name in
                ("config.json", "model.safetensors.index.json"))
    assert tasks == 4 and len(headers) == 2
    assert wanted < got <= 1.03 * (wanted + sum(headers.values()) + small)


def test_a_task_of_a_gguf_file_fetches_its_reads_and_little_more(made, fs):
    model, dense, options = made("gguf in safetensors")
    got, wanted, headers, tasks = fetched_by_first_task(fs, model, dense.name, options)
    assert tasks > 2
    # Nobody knows before how long the header is: at most as much again is read.
    assert wanted < got <= 1.03 * wanted + 2 * headers["model.gguf"] + 65_536
    assert got < 0.6 * model.stat().st_size


def test_a_task_of_a_tflite_model_fetches_no_byte_twice(made, fs):
    if "tflite" not in MODELS:
        pytest.skip("NO TENSORFLOW, whose schema models are made with")
    model, dense, options = made("tflite")
    got, wanted, _, _ = fetched_by_first_task(fs, model, dense.name, options)
    assert wanted < got <= model.stat().st_size


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


def test_a_file_of_several_tasks_is_refused(checkpoint, fs):
    with pytest.raises(ValueError, match="task_size: .* max_shard_size"):
        dequant.plan("memory://in/fp8", "memory://out/dense", task_size=100_000)
    assert len(dequant.plan("memory://in/fp8", "/tmp/dense", task_size=100_000)) > 10


def test_plans_of_copies_in_other_places_are_the_same(checkpoint, made, fs):
    """Any machine may plan: fingerprints have no paths and no times."""
    remote = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)
    local = dequant.plan(made("checkpoint")[0], "/tmp/dense", max_shard_size=SHARD)
    assert remote.fingerprint == local.fingerprint
    assert [t.reads for t in remote] == [t.reads for t in local]


def test_names_that_leave_the_folder_are_refused(checkpoint, fs):
    fs.pipe_file("/in/fp8/a/../../../escaped", b"x")
    with pytest.raises(ValueError, match="no name of a file"):
        dequant.plan("memory://in/fp8", "memory://out/dense")


def test_urls_take_no_options_of_onnx_models(checkpoint, fs):
    with pytest.raises(ValueError, match="strip_qdq: not for URLs"):
        dequant.convert("memory://in/fp8", "memory://out/dense", strip_qdq=True)
    with pytest.raises(FileNotFoundError):
        dequant.convert("memory://in/nothing", "memory://out/dense")
    with pytest.raises(TypeError, match="must be a path or a URL"):
        dequant.convert(b"bytes", "memory://out/dense")
    with pytest.raises(ValueError, match="there is no output"):
        dequant.convert("memory://in/fp8")
    with pytest.raises(OSError, match="memory://out/nothing: no conversion|nothing"):
        dequant.finalize("memory://out/nothing")


def test_onnx_models_are_refused(fs):
    upload(fs, EXAMPLES / "digits_qdq_int8.onnx", "memory://in/model.onnx")
    with pytest.raises(dequant.UnsupportedError, match="memory://in/model.onnx: ONNX models"):
        dequant.convert("memory://in/model.onnx", "memory://out/float.onnx")


def test_messages_have_urls(checkpoint, fs):
    fs.pipe_file("/in/fp8/model.safetensors.index.json", b"{")
    with pytest.raises(ValueError, match=r"memory://in/fp8/model\.safetensors\.index\.json"):
        dequant.plan("memory://in/fp8", "memory://out/dense")


def test_options_of_the_file_systems_are_passed_through(checkpoint, fs, tmp_path):
    for given in ({"token": "t"}, {"input": {"token": "t"}, "output": {"auto_mkdir": False}}):
        Counting.tokens.clear()
        plan = dequant.plan("counting://in/fp8", f"file://{tmp_path}/x", storage_options=given)
        assert Counting.tokens == {"t"}
        assert "'t'" not in repr(plan[0])  # it may be a password
    Counting.tokens.clear()
    dequant.run_task(plan[0], storage_options={"input": {"token": "u"}})
    assert Counting.tokens == {"u"}
    tasks = dequant.plan("memory://in/fp8", f"file://{tmp_path}/new/dense", max_shard_size=SHARD,
                         storage_options={"output": {"auto_mkdir": False}})
    for task in tasks:
        dequant.run_task(task)
    assert dequant.finalize(f"file://{tmp_path}/new/dense").complete
    assert contents(tmp_path / "new" / "dense") == contents(checkpoint)


def test_without_fsspec_a_url_is_an_import_error(tmp_path):
    program = ("import sys; sys.modules['fsspec'] = sys.modules['fsspec.core'] = None\n"
               "import dequant\n"
               "try:\n    dequant.convert('s3://bucket/model', 'out')\n"
               "except ImportError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, text=True,
                          capture_output=True, timeout=60, check=True)
    assert "pip install dequant[fsspec]" in done.stdout


def test_local_paths_do_not_import_fsspec(made, tmp_path):
    model = made("checkpoint")[0]
    program = ("import sys, dequant\n"
               f"for task in dequant.plan({str(model)!r}, 'dense'): dequant.run_task(task)\n"
               "dequant.finalize('dense')\nprint('fsspec' in sys.modules)\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, text=True,
                          capture_output=True, timeout=60, check=True)
    assert done.stdout == "False\n"
    assert json.loads((tmp_path / "dense" / "config.json").read_text())

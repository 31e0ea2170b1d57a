"""Models behind URLs, of fsspec's file system in memory."""

import concurrent.futures
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import pytest

import dequant
from remote_memory import Counting, checkpoint, fs, made, temporary, visible  # noqa: F401
from remote_support import MODELS, SHARD, contents, remote_contents, upload

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


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


def test_the_url_of_an_index_says_which_files_are_read(made, fs, tmp_path):
    model, dense, options = made("checkpoint")
    folder = shutil.copytree(model, tmp_path / "two")
    (folder / "model.safetensors.index.json").rename(folder / "a.safetensors.index.json")
    (folder / "b.safetensors.index.json").write_text("{}")
    upload(fs, folder, "memory://in/two")
    dequant.convert("memory://in/two/a.safetensors.index.json", "memory://out/dense", **options)
    assert remote_contents(fs, "memory://out/dense") == contents(dense)
    with pytest.raises(dequant.UnsupportedError, match="give the path of one"):
        dequant.convert("memory://in/two", "memory://out/other")


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


def test_a_task_that_was_found_done_behind_a_url_had_no_seconds(checkpoint, fs):
    """The recipes of docs/cluster.md print its "total"."""
    task = dequant.plan("memory://in/fp8", "memory://out/dense", max_shard_size=SHARD)[0]
    first, again = dequant.run_task(task), dequant.run_task(task)
    assert first.done and not again.done
    assert set(again.seconds) == set(first.seconds) and not any(again.seconds.values())


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
    assert "pip install fsspec s3fs" in done.stdout


def test_local_paths_do_not_import_fsspec(made, tmp_path):
    model = made("checkpoint")[0]
    program = ("import sys, dequant\n"
               f"for task in dequant.plan({str(model)!r}, 'dense'): dequant.run_task(task)\n"
               "dequant.finalize('dense')\nprint('fsspec' in sys.modules)\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, text=True,
                          capture_output=True, timeout=60, check=True)
    assert done.stdout == "False\n"
    assert json.loads((tmp_path / "dense" / "config.json").read_text())

"""dequant.plan(), run_task() and finalize(): tasks pickle, run in any process, and give the bytes
of convert()."""

import concurrent.futures
import json
import pathlib
import pickle
import shutil

import numpy as np
import pytest

import dequant

MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits_qdq_int8.onnx"


def safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.fixture(name="checkpoint")
def fixture_checkpoint(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rng = np.random.default_rng(3)
    (folder / "config.json").write_text(json.dumps(
        {"torch_dtype": "bfloat16",
         "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}))
    safetensors(folder / "model.safetensors", {
        "a.weight": ("F8_E4M3", rng.integers(0, 0x78, (300, 130), np.uint8)),
        "a.weight_scale_inv": ("F32", rng.random((3, 2), np.float32)),
        "b.weight": ("F8_E4M3", rng.integers(0, 0x78, (10, 130), np.uint8)),
        "b.weight_scale_inv": ("F32", rng.random((1, 2), np.float32))})
    return folder


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


@pytest.mark.parametrize("executor", [concurrent.futures.ProcessPoolExecutor,
                                      concurrent.futures.ThreadPoolExecutor])
@pytest.mark.parametrize("dtype", [None, "float16", np.float32])
def test_any_executor_gives_the_bytes_of_convert(executor, dtype, checkpoint, tmp_path):
    dequant.convert(checkpoint, tmp_path / "one", dtype=dtype)
    tasks = dequant.plan(checkpoint, tmp_path / "many", dtype=dtype, task_size=10_000)
    assert len(tasks) > 5
    with executor(2) as pool:
        reports = list(pool.map(dequant.run_task, tasks))
    assert all(r.done for r in reports)
    assert sum(r.bytes for r in reports) == tasks.bytes_out
    assert dequant.finalize(tmp_path / "many", verify=True) == dequant.FinalizeReport(
        True, {}, len(tasks))
    assert files(tmp_path / "many") == files(tmp_path / "one")


def test_tasks_pickle_and_compare(checkpoint, tmp_path):
    tasks = dequant.plan(checkpoint, tmp_path / "out", task_size=10_000)
    again = pickle.loads(pickle.dumps(list(tasks)))
    assert again == list(tasks) == list(dequant.plan(checkpoint, tmp_path / "out",
                                                     task_size=10_000))
    assert [t.number for t in tasks] == list(range(len(tasks)))
    assert tasks[0].count == len(tasks) and tasks[1:3] == tuple(again[1:3])
    assert str(len(tasks)) in repr(tasks)
    size = (checkpoint / "model.safetensors").stat().st_size
    for task in tasks:
        assert task.bytes == task.end - task.begin > 0
        assert all(name == "model.safetensors" and 0 <= begin < end <= size
                   for name, begin, end in task.reads)
    with pytest.raises(AttributeError):
        tasks[0].number = 3


def test_what_is_missing(checkpoint, tmp_path):
    tasks = dequant.plan(checkpoint, tmp_path / "out", task_size=10_000)
    dequant.run_task(tasks[1])
    assert not dequant.run_task(tasks[1]).done
    found = dequant.finalize(tmp_path / "out")
    assert not found.complete and found.count == len(tasks)
    assert set(found.missing) == {t.number for t in tasks} - {1}
    assert not list((tmp_path / "out").glob("*.safetensors"))
    for task in tasks:
        dequant.run_task(task)
    assert dequant.finalize(tmp_path / "out").complete
    assert dequant.finalize(tmp_path / "out") == dequant.FinalizeReport(True, {}, 0)


def test_an_input_that_changed_since_the_plan(checkpoint, tmp_path):
    tasks = dequant.plan(checkpoint, tmp_path / "out", task_size=10_000)
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**config, "vocab_size": 3}))
    with pytest.raises(ValueError, match="the fingerprint of the conversion is"):
        dequant.run_task(tasks[0])
    assert not (tmp_path / "out").exists()
    shutil.rmtree(checkpoint)
    with pytest.raises(FileNotFoundError):
        dequant.run_task(tasks[0])


def test_an_input_at_another_path(checkpoint, tmp_path):
    for task in dequant.plan(checkpoint, tmp_path / "out"):
        dequant.run_task(task)
    checkpoint.rename(tmp_path / "moved")
    with pytest.raises(FileNotFoundError):
        dequant.finalize(tmp_path / "out")
    assert dequant.finalize(tmp_path / "out", input=tmp_path / "moved").complete


def test_an_onnx_model(tmp_path):
    dequant.convert(MODEL, tmp_path / "one.onnx", external_data=True, strip_qdq=True)
    (tmp_path / "many").mkdir()
    out = tmp_path / "many" / "one.onnx"
    for task in dequant.plan(MODEL, out, external_data=True, strip_qdq=True, task_size=8192):
        dequant.run_task(task)
    assert dequant.finalize(out).complete
    assert out.read_bytes() == (tmp_path / "one.onnx").read_bytes()
    assert (tmp_path / "many" / "one.onnx.data").read_bytes() == (
        tmp_path / "one.onnx.data").read_bytes()
    with pytest.raises(dequant.UnsupportedError, match="external_data"):
        dequant.plan(MODEL, tmp_path / "inside.onnx")


def test_flags_of_a_plan_were_no_truth_values_but_options_of_the_command(tmp_path):
    for yes, no in ((True, False), (1, 0), (np.True_, np.False_)):
        tasks = dequant.plan(MODEL, tmp_path / "many.onnx", external_data=yes, strip_qdq=yes,
                             assume_const=no, keep_unknown=no, checksum=yes, task_size=8192)
        assert [task.conversion for task in tasks] == [tasks[0].conversion] * len(tasks)
        assert json.loads(tasks[0].conversion)["options"] == {"external-data": "", "strip-qdq": ""}


def test_an_output_with_other_files(checkpoint, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_bytes(b"")
    task = dequant.plan(checkpoint, tmp_path / "out")[0]
    with pytest.raises(OSError, match="is not empty"):
        dequant.run_task(task)
    assert dequant.run_task(task, overwrite=True).done


@pytest.mark.parametrize(("options", "error"), [
    ({"task_size": 4095}, ValueError), ({"task_size": "5G"}, TypeError),
    ({"dtype": "int8"}, (ValueError, TypeError)), ({"others": "x"}, ValueError),
    ({"max_shard_size": "x"}, ValueError), ({"include": 3}, TypeError),
    ({"names": "hf"}, ValueError)])
def test_arguments_that_are_wrong(options, error, checkpoint, tmp_path):
    with pytest.raises(error):
        dequant.plan(checkpoint, tmp_path / "out", **options)


def test_arguments_of_other_types_were_refused_without_their_names(checkpoint, tmp_path):
    with pytest.raises(TypeError, match="^task_size: an int is wanted, not str$"):
        dequant.plan(checkpoint, tmp_path / "out", task_size="5G")
    with pytest.raises(TypeError, match="^task: a dequant.Task is wanted, not str$"):
        dequant.run_task("x")
    with pytest.raises(TypeError, match="^input: a path or a URL is wanted, not bytes$"):
        dequant.plan(b"\0\1", tmp_path / "out")
    with pytest.raises(TypeError, match="^output: a path or a URL is wanted, not NoneType$"):
        dequant.plan(checkpoint, None)


def test_paths_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        dequant.plan(tmp_path / "none", tmp_path / "out")
    with pytest.raises(OSError, match="no conversion"):
        dequant.finalize(tmp_path / "none")


def test_an_exception_of_progress_stops_a_task(checkpoint, tmp_path):
    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop
    tasks = dequant.plan(checkpoint, tmp_path / "out", task_size=10_000)
    with pytest.raises(Stop):
        dequant.run_task(tasks[2], progress=stop)
    assert 2 in dequant.finalize(tmp_path / "out").missing
    dequant.run_task(tasks[2])
    assert 2 not in dequant.finalize(tmp_path / "out").missing

"""Conversions that several processes carry out: the bytes are those of one process, whatever the
number of shares, their order, repeats and processes that died; what is missing is said."""

import json
import math
import os
import random
import shutil
import subprocess

import pytest

import shares_support
from shares_support import TASK, files, fixture_memory, plan, share  # noqa: F401
from support import dequant

SHARED = os.environ.get("DEQUANT_SHARED", "")
INPUTS = {"folder": (shares_support.checkpoint, "in", "out"),
          "file": (lambda path: shares_support.checkpoint(path, 1) / "model.safetensors", "in",
                   "out.safetensors"),
          "gguf": (shares_support.gguf_file, "in.gguf", "out.gguf"),
          "gguf to safetensors": (shares_support.gguf_file, "in.gguf", "out.safetensors"),
          "gguf to a folder": (shares_support.gguf_file, "in.gguf", "out"),
          "onnx": (shares_support.onnx_file, "in.onnx", "out.onnx"),
          "onnx with data beside it": (lambda path: shares_support.onnx_file(path, True), "in.onnx",
                                       "out.onnx"),
          "tflite": (shares_support.tflite_file, "in.tflite", "out.safetensors")}
OPTIONS = {"folder": ("--dtype", "float32"), "onnx": ("--external-data",),
           "gguf to a folder": ("--max-shard-size", "50000")}


class Case:
    def __init__(self, folder, kind):
        make, name, output = INPUTS[kind]
        if kind == "tflite" and shares_support.tflite_support.MISSING:
            pytest.skip(shares_support.tflite_support.MISSING)
        self.options = OPTIONS.get(kind, ())
        self.source = make(folder / name)
        (folder / "one").mkdir()
        (folder / "many").mkdir()
        self.one, self.out = folder / "one" / output, folder / "many" / output
        dequant("convert", self.source, "-o", self.one, *self.options)
        self.want = files(self.one)

    def share(self, number, *more, **code):
        return share(self.source, self.out, number, *self.options, *more, **code)

    def finalize(self, *options, code=0):
        return dequant("finalize", self.out, *options, code=code)

    def work(self):
        """The folder of the records."""
        inside = self.out / ".dequant-tasks"
        return inside if inside.exists() else self.out.parent / f"{self.out.name}.dequant-tasks"

    def is_right(self):
        assert files(self.out) == self.want
        assert not self.work().exists()
        assert {p.name for p in self.out.parent.iterdir()} == {
            p.name for p in self.one.parent.iterdir()}


@pytest.fixture(name="case", params=INPUTS)
def fixture_case(request, tmp_path):
    return Case(tmp_path, request.param)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Case(tmp_path, "folder")


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_the_bytes_are_those_of_one_process(case, count):
    order = list(range(count))
    random.Random(count).shuffle(order)
    for i in order:
        case.share(f"{i}/{count}")
    case.finalize("--verify")
    case.is_right()


def test_any_number_of_threads_and_little_memory(case):
    for i in range(3):
        case.share(f"{i}/3", "-T", i + 1, "--mem", "1Mi")
    case.finalize()
    case.is_right()


def test_shares_in_parallel_and_twice(case):
    command = [os.environ["DEQUANT_CLI"], "convert", str(case.source), "-o", str(case.out),
               "--task-size", str(TASK), *case.options, "--shard"]
    running = [subprocess.Popen([*command, f"{i % 3}/3"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True) for i in range(6)]
    for process in running:
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 0, error
    case.finalize("--verify")
    case.is_right()


def test_nothing_of_the_model_is_visible_before_finalize(folder):
    for i in range(2):
        folder.share(f"{i}/2")
    assert [p.name for p in folder.out.iterdir()] == [".dequant-tasks"]


def test_a_plan_says_what_every_task_reads_and_writes(case):
    planned = plan(case.source, case.out, *case.options)
    tasks = planned["tasks"]
    assert [t["task"] for t in tasks] == list(range(len(tasks)))
    written = {}
    for task in tasks:
        assert task["begin"] == written.get(task["file"], 0)
        written[task["file"]] = task["end"]
    assert written == {name: len(data) for name, data in case.want.items() if name in written}
    sizes = {p.name: p.stat().st_size for p in
             (case.source if case.source.is_dir() else case.source.parent).iterdir()}
    for task in tasks:
        for name, begin, end in task["reads"]:
            assert 0 <= begin < end <= sizes[name]
    assert plan(case.source, case.out, *case.options) == planned
    assert not case.out.exists() and not case.work().exists()


def test_a_task_of_many_reads_few_bytes(folder):
    """Of a tensor in blocks of 128 x 128: codes of its rows, and the scales."""
    tasks = plan(folder.source, folder.out, *folder.options)["tasks"]
    assert len(tasks) > 10
    for task in tasks:
        read = sum(end - begin for _, begin, end in task["reads"])
        assert read <= task["end"] - task["begin"] + 64


def test_tasks_by_their_numbers(folder):
    tasks = plan(folder.source, folder.out, *folder.options)["tasks"]
    for task in reversed(tasks):
        dequant("convert", folder.source, "-o", folder.out, "--task", task["task"], "--task-size",
                TASK, *folder.options)
    folder.finalize()
    folder.is_right()
    error = dequant("convert", folder.source, "-o", folder.out, "--task", len(tasks), "--task-size",
                    TASK, *folder.options, "--force", code=2).stderr
    assert f"task {len(tasks)} of {len(tasks)}" in error


def test_shares_are_balanced_by_bytes(folder):
    report = [json.loads(folder.share(f"{i}/3", "--json").stdout)["share"] for i in range(3)]
    loads = [sum(t["end"] - t["begin"] for t in r["tasks"]) for r in report]
    assert max(loads) - min(loads) <= TASK
    numbers = sorted(t["task"] for r in report for t in r["tasks"])
    assert numbers == list(range(report[0]["count"]))


def test_what_is_missing_is_said_and_alone_is_done(folder):
    folder.share("0/2")
    before = folder.finalize(code=1)
    assert "tasks are missing" in before.stdout and "no record" in before.stdout
    missing = json.loads(folder.finalize("--json", code=1).stdout)
    assert not missing["complete"]
    absent = {t["task"] for t in missing["tasks"] if t["state"] == "missing"}
    done = json.loads(folder.share("0/1", "--json").stdout)["share"]["tasks"]
    assert {t["task"] for t in done if t["state"] == "done"} == absent
    folder.finalize()
    folder.is_right()


def test_finalize_any_number_of_times(case):
    case.share("0/1")
    case.finalize()
    assert "nothing was left to do" in case.finalize().stdout
    assert json.loads(case.finalize("--json").stdout)["complete"]
    case.is_right()


def records(case):
    return sorted(next(case.work().glob("records-*")).iterdir())


def data(case):
    return sorted(next(case.work().glob("data-*")).iterdir())


def test_a_record_says_what_was_written(folder):
    folder.share("0/1")
    nan = infinity = 0
    lowest, highest = math.inf, -math.inf
    for path in records(folder):
        record = json.loads(path.read_text())
        assert {"fingerprint", "task", "file", "begin", "end", "xxh3_128", "nan", "infinity",
                "minimum", "maximum", "seconds", "host"} <= record.keys()
        nan, infinity = nan + record["nan"], infinity + record["infinity"]
        if record["minimum"] is not None:
            lowest = min(lowest, record["minimum"])
            highest = max(highest, record["maximum"])
    audit = folder.out.parent / "audit"
    dequant("convert", folder.source, "-o", folder.out.parent / "again", "--audit", audit,
            *folder.options)
    values = [json.loads(line)["values"] for line in audit.read_text().splitlines()]
    values = [v for v in values if v is not None]
    assert nan == sum(v["nan"] for v in values) and infinity == sum(v["infinity"] for v in values)
    assert lowest == min(v["minimum"] for v in values if v["minimum"] is not None)
    assert highest == max(v["maximum"] for v in values if v["maximum"] is not None)


# Failures.

def test_a_record_without_its_file(case):
    case.share("0/1")
    data(case)[0].unlink()
    assert "is not there" in case.finalize(code=1).stdout
    case.share("0/1")
    case.finalize()
    case.is_right()


def test_a_file_without_its_records(case):
    case.share("0/1")
    for path in records(case)[::2]:
        path.unlink()
    assert "no record" in case.finalize(code=1).stdout
    case.share("0/1")
    case.finalize()
    case.is_right()


def test_a_file_that_another_task_made_again(folder):
    """The file was removed, and a task that had no record made it again: full size, zeros."""
    folder.share("0/1")
    lost = data(folder)[0]
    lost.unlink()
    one = next(p for p in records(folder) if json.loads(p.read_text())["file"] == lost.name)
    number = json.loads(one.read_text())["task"]
    one.unlink()
    dequant("convert", folder.source, "-o", folder.out, "--task", number, "--task-size", TASK,
            *folder.options)
    assert lost.stat().st_size == len(folder.want[lost.name])
    assert "are not those that were written" in folder.finalize(code=1).stdout
    folder.share("0/1")
    folder.finalize("--verify")
    folder.is_right()


def test_a_byte_that_changed_is_found_by_verify(case):
    case.share("0/1")
    record = next(r for r in map(lambda p: json.loads(p.read_text()), records(case))
                  if r["end"] - r["begin"] > TASK // 2)
    path = next(p for p in data(case) if p.name == record["file"])
    changed = bytearray(path.read_bytes())
    changed[record["begin"] + (record["end"] - record["begin"]) // 3] ^= 1
    path.write_bytes(changed)
    assert "are not those that were written" in case.finalize("--verify", code=1).stdout


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"task": 0}', "x" * 20_000, "\0"])
def test_a_record_that_is_none(folder, text):
    folder.share("0/1")
    records(folder)[0].write_text(text)
    assert dequant("finalize", folder.out, code=3 if len(text) > 10_000 else 1).returncode
    if len(text) <= 10_000:
        folder.share("0/1")
        folder.finalize()
        folder.is_right()


def test_a_source_that_was_replaced(folder):
    folder.share("0/2")
    (folder.source / "a.safetensors").write_bytes(
        (folder.source / "a.safetensors").read_bytes() + b"\0" * 8)
    error = folder.share("1/2", code=3).stderr  # no header describes these bytes
    assert "a.safetensors" in error
    shutil.rmtree(folder.source)
    shares_support.checkpoint(folder.source, rows=(3, 130, 258))
    error = folder.share("1/2", code=2).stderr
    assert "tasks of another conversion" in error and ".dequant-tasks" in error
    assert "tasks of another conversion" in folder.finalize(code=2).stderr


def test_other_options_are_another_conversion(folder):
    folder.share("0/2")
    for options in (("--dtype", "float16"), ("--others", "same"), ("--task-size", 2 * TASK)):
        error = dequant("convert", folder.source, "-o", folder.out, "--shard", "1/2", *options,
                        code=2).stderr
        assert "tasks of another conversion" in error


def test_an_input_that_moved(folder):
    folder.share("0/1")
    moved = folder.source.with_name("moved")
    folder.source.rename(moved)
    assert "in" in folder.finalize(code=5).stderr
    folder.finalize("--input", moved)
    folder.is_right()


def test_an_output_with_other_files_is_not_written_into(case):
    if case.out.suffix:
        case.out.write_bytes(b"other")
    else:
        case.out.mkdir()
        (case.out / "other").write_bytes(b"other")
    assert "--force" in case.share("0/1", code=5).stderr
    assert not case.work().exists()
    if case.out.suffix == ".onnx":
        return  # see test_shares_of_an_onnx_model_replace_no_files
    case.share("0/1", "--force")
    case.finalize()
    (case.out / "other").unlink() if case.out.is_dir() else None
    case.is_right()


def test_force_left_weights_of_another_model_in_a_folder_that_shares_completed(folder):
    folder.out.mkdir()
    for name in ("pytorch_model.bin", "model-00002-of-00009.safetensors"):
        (folder.out / name).write_bytes(b"other")
        error = folder.share("0/1", "--force", code=5).stderr
        assert f"has {name}, which is no file of this checkpoint: remove it" in error
        assert [path.name for path in folder.out.iterdir()] == [name]
        (folder.out / name).unlink()
    (folder.out / "notes.txt").write_bytes(b"other")
    folder.share("0/1", "--force")
    folder.finalize()
    (folder.out / "notes.txt").unlink()
    folder.is_right()


def test_a_file_that_appeared_meanwhile_is_not_replaced(case):
    case.share("0/1")
    taken = case.out if case.out.suffix else case.out / sorted(
        name for name in case.want if name.endswith(".safetensors"))[0]
    if case.out.suffix == ".onnx":
        taken = case.out.with_name("out.onnx.data")
    taken.write_bytes(b"other")
    error = case.finalize(code=5).stderr
    assert f"{taken.name} exists" in error and taken.read_bytes() == b"other"
    taken.unlink()
    case.finalize()
    case.is_right()


def test_an_output_to_which_nothing_was_begun(tmp_path):
    error = dequant("finalize", tmp_path / "out", code=5).stderr
    assert "no conversion to it was begun" in error
    (tmp_path / "out").mkdir()
    assert "no conversion" in dequant("finalize", tmp_path / "out", code=5).stderr


def test_two_processes_that_begin_different_conversions_at_once(folder):
    """One of them begins; the other is refused, and leaves the first alone."""
    command = [os.environ["DEQUANT_CLI"], "convert", str(folder.source), "-o", str(folder.out),
               "--shard", "0/1", "--dtype"]
    ends = []
    running = [subprocess.Popen([*command, dtype], stderr=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, text=True)
               for dtype in ("float32", "float16")]
    for process in running:
        error = process.communicate(timeout=60)[1]
        ends.append(process.returncode)
        assert process.returncode in (0, 2), error
    assert 0 in ends
    folder.finalize("--verify")
    wanted = "float32" if ends[0] == 0 and ends[1] == 2 else "float16"
    if ends != [0, 0]:
        alone = folder.out.parent / "alone"
        dequant("convert", folder.source, "-o", alone, "--dtype", wanted)
        assert files(folder.out) == files(alone)


# Arguments.

@pytest.mark.parametrize("text", ["", "1", "1/", "/2", "2/2", "-1/2", "1/0", "a/b", "1/2/3", "1 /2",
                                  "99999999999999999999/2", "Auto"])
def test_what_is_no_share(folder, text):
    error = folder.share(text, code=2).stderr
    assert "share" in error and error.count("\n") == 1
    assert not folder.out.exists()


def test_a_share_by_the_environment(folder):
    for i in range(2):
        env = {**os.environ, "RANK": str(i), "WORLD_SIZE": "2"}
        subprocess.run([os.environ["DEQUANT_CLI"], "convert", folder.source, "-o", folder.out,
                        "--shard", "auto", "--task-size", str(TASK), *folder.options], env=env,
                       check=True, stdout=subprocess.DEVNULL)
    folder.finalize()
    folder.is_right()


def test_no_scheduler(folder):
    error = folder.share("auto", code=2).stderr
    assert "none of SLURM_ARRAY_TASK_ID" in error


@pytest.mark.parametrize("option", [("--audit", "a"), ("--resume",), ("--dry-run",)])
def test_options_that_shares_do_not_have(folder, option):
    error = folder.share("0/1", *option, code=2).stderr
    assert "share" in error
    assert not folder.out.exists()


def test_an_onnx_model_without_a_data_file_has_no_tasks(tmp_path):
    source = shares_support.onnx_file(tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "one.onnx")
    assert plan(source, tmp_path / "many.onnx")["tasks"] == []
    share(source, tmp_path / "many.onnx", "1/2")
    dequant("finalize", tmp_path / "many.onnx")
    assert (tmp_path / "many.onnx").read_bytes() == (tmp_path / "one.onnx").read_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {"in.onnx", "one.onnx", "many.onnx"}


def test_shares_of_an_onnx_model_replace_no_files(tmp_path):
    """Other models may have the data file that --force would replace."""
    source = shares_support.onnx_file(tmp_path / "in.onnx")
    for name in ("out.onnx", "out.onnx.data"):
        (tmp_path / name).write_bytes(b"other")
        options = ("--external-data", "--force")
        error = share(source, tmp_path / "out.onnx", "0/1", *options, code=5).stderr
        assert f"{name} exists" in error
        (tmp_path / name).unlink()


@pytest.mark.skipif(not SHARED, reason="no checkpoints of the producers")
@pytest.mark.parametrize("name", ["awq_gemm_g32", "ct_nvfp4", "gptoss_mxfp4_hf", "bnb_nf4_double",
                                  "ct017_oddbits_g32", "gptq_v1_w3_asym_actorder"])
def test_layouts_of_the_producers_cut_into_tasks(name, tmp_path):
    """Codes in words, transposed, of 3 bits, and scales that are quantized themselves."""
    source = os.path.join(SHARED, "checkpoints", name)
    dequant("convert", source, "-o", tmp_path / "one")
    for i in range(5):
        share(source, tmp_path / "many", f"{i}/5", "--mem", "1")
    dequant("finalize", tmp_path / "many", "--verify")
    assert files(tmp_path / "many") == files(tmp_path / "one")

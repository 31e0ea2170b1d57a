"""Conversions that several processes carry out: the bytes are those of one process, whatever the
number of shares, their order, repeats and processes that died; what is missing is said."""

import json
import math
import os
import random
import subprocess

import pytest

import shares_support
from shares_cases import fixture_case, fixture_folder, records  # noqa: F401
from shares_support import TASK, files, fixture_memory, plan, share  # noqa: F401
from support import dequant

SHARED = os.environ.get("DEQUANT_SHARED", "")


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


@pytest.mark.parametrize("external", [False, True])
def test_a_tensor_of_an_onnx_model_was_one_task_whatever_its_size(tmp_path, monkeypatch, external):
    """Its shape was that of memory that was free already: the tasks were others on each machine."""
    source = shares_support.onnx_file(tmp_path / "in.onnx", external)
    plans = []
    for byte in ("0", "85"):  # what glibc writes into memory that is freed
        monkeypatch.setenv("MALLOC_PERTURB_", byte)
        plans.append(plan(source, tmp_path / "out.onnx", "--external-data"))
    assert plans[0] == plans[1]
    first = 130 * 70 * 4  # bytes of the first tensor, whose codes are raw
    sizes = [t["end"] - t["begin"] for t in plans[0]["tasks"] if t["end"] <= first]
    assert len(sizes) >= first // TASK and max(sizes) <= TASK


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


def test_finalize_verified_nothing_and_did_not_say_so(case):
    case.share("0/1")
    assert "warning" not in case.finalize("--verify").stderr
    again = case.finalize("--verify")
    assert "nothing was verified: the records of its tasks went" in again.stderr
    assert "nothing was left to do" in again.stdout


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
    assert dequant("finalize", tmp_path / "many.onnx").stdout.endswith("is complete\n")
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

#!/usr/bin/env python3
"""Measures what conversions by tasks cost beside the bytes that they move.

    bench/checkpoint/tasks.py --dequant build/release/dequant [--seconds 10] [--mib 256]

Of the checkpoint of planned.py, which has the shape of DeepSeek-V3 and holes in place of its data:
`dequant plan` with the default tasks and with about 10,000, and one of the smallest of these by
`convert --task`, when it has to be done and when its record is there. Of a small checkpoint that is
cut into 10,000 tasks: `convert --shard` with all of them, again when all are there, `finalize` with
one missing, and `finalize --verify`, which completes the output. Prints seconds, the peak of
resident memory and bytes of each. The exit code is 1 if a command fails, if it exceeds a limit (but
for the 10,000 tasks themselves), or if a plan has 20 MB or more.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import planned
from planned import MIB, run

TASKS, ROWS, COLUMNS, FILES = 10_000, 64, 128, 10
TASK = 4096
MOST_OF_PLAN = 20_000_000


def small_checkpoint(folder):
    """Zeros in FP8: bfloat16 tensors of four tasks each."""
    folder.mkdir()
    for i in range(FILES):
        stored = []
        for j in range(TASKS // 4 // FILES):
            name = f"model.layers.{i}.experts.{j}.weight"
            stored += [(name, "F8_E4M3", (ROWS, COLUMNS)), (f"{name}_scale_inv", "F32", (1, 1))]
        planned.write_file(folder / f"model-{i + 1:05}-of-{FILES:05}.safetensors", stored)
    (folder / "config.json").write_text(json.dumps({
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}))


class Table:
    def __init__(self, program, limits):
        self.program, self.seconds, self.bytes = program, limits.seconds, limits.mib * MIB
        self.bad = False

    def row(self, title, *words, output="/dev/null", code=0, limited=True, note=""):
        found, seconds, peak = run([self.program, *map(str, words)], output)
        print(f"{title:46} {seconds:7.2f} s {peak / MIB:7.1f} MiB  {note}", flush=True)
        self.bad |= found != code or (limited and (seconds > self.seconds or peak > self.bytes))

    def plan(self, title, model, out, file, *options):
        """The tasks of a plan."""
        self.row(title, "plan", model, "-o", out, *options, output=str(file))
        tasks = json.loads(file.read_text())["tasks"]
        written = file.stat().st_size
        print(f"{'':46} {len(tasks)} tasks, {written / 1e6:.2f} MB of JSON")
        self.bad |= written >= MOST_OF_PLAN
        return tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dequant", required=True, help="the program")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each command")
    parser.add_argument("--mib", type=float, default=256.0, help="limit of resident memory")
    arguments = parser.parse_args()
    table = Table(str(pathlib.Path(arguments.dequant).resolve()), arguments)
    with tempfile.TemporaryDirectory() as temporary:
        at = pathlib.Path(temporary)
        model, out = at / "checkpoint", at / "out"
        model.mkdir()
        count, total = planned.write_checkpoint(model)
        print(f"{count} stored tensors, {total / 1e9:.0f} GB of data")
        table.plan("plan", model, out, at / "plan.json")
        many = ["--task-size", "130Mi"]
        tasks = table.plan("plan --task-size 130Mi", model, out, at / "plan.json", *many)
        least = min(tasks, key=lambda t: t["end"] - t["begin"])
        one = ["convert", model, "-o", out, *many, "--task", least["task"], "--quiet"]
        table.row("convert --task", *one, note=f"{least['end'] - least['begin']} bytes written")
        table.row("convert --task, found done", *one)

        small, out = at / "small", at / "small_out"
        small_checkpoint(small)
        share = ["convert", small, "-o", out, "--task-size", TASK, "--quiet", "--shard", "0/1"]
        tasks = table.plan("plan", small, out, at / "plan.json", "--task-size", TASK)
        table.row("convert --shard 0/1", *share, limited=False)
        table.row("convert --shard 0/1, all found done", *share)
        next(out.glob(".dequant-tasks/records-*/000007.json")).unlink()
        table.row("finalize, one missing", "finalize", out, "--quiet", code=1)
        table.row("convert --shard 0/1, one missing", *share)
        table.row("finalize --verify", "finalize", out, "--verify", "--quiet")
        table.bad |= len(tasks) < TASKS or (out / ".dequant-tasks").exists()
    return 1 if table.bad else 0


if __name__ == "__main__":
    sys.exit(main())

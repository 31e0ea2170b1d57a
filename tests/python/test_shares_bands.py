"""Tasks of a tensor whose codes do not fit in memory, in another order than its floats."""

import json
import os
import subprocess

from hostile_support import CLI
from support import dequant


def sparse(path, tensors):
    """A file of name -> (type, shape, bytes) whose data are zeros that no disk has."""
    header, at = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        out.truncate(8 + len(text) + at)


def test_each_task_of_experts_beyond_the_memory_was_said_to_read_them_all(tmp_path):
    """It reads the bands that have its elements, here of eight experts each."""
    experts, rows, blocks = 24, 2048, 1024
    codes = experts * rows * blocks * 16
    scales = codes // 16
    task_bytes = 64 << 20
    (tmp_path / "in").mkdir()
    (tmp_path / "in/config.json").write_text(json.dumps({
        "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "mxfp4"}}))
    sparse(tmp_path / "in/model.safetensors", {
        "w_blocks": ("U8", [experts, rows, blocks, 16], codes),
        "w_scales": ("U8", [experts, rows, blocks], scales)})
    options = ["in", "-o", "out", "--task-size", task_bytes]
    tasks = json.loads(dequant("plan", *options, cwd=tmp_path).stdout)["tasks"]
    named = [sum(end - begin for _, begin, end in task["reads"]) for task in tasks]
    assert len(tasks) > 48 and max(named) <= codes * 2 // 3 + scales
    assert sum(n <= codes // 3 + scales for n in named) > 40
    for task in (1, 7, len(tasks) - 1):
        child = subprocess.Popen([CLI, "convert", *map(str, options), "--task", str(task), "-q"],
                                 cwd=tmp_path)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{child.pid}/io", encoding="ascii") as counters:
            read = int(counters.readline().split()[1])
        assert child.wait() == 0
        # The record of the task has a hash of its output, which is read, too.
        assert read <= named[task] + task_bytes + (1 << 20)

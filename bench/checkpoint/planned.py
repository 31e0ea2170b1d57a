#!/usr/bin/env python3
"""Measures the time and the memory in which a checkpoint of the shape of DeepSeek-V3 is understood.

    bench/checkpoint/planned.py --dequant build/release/dequant [--seconds 10] [--mib 256]

The checkpoint has 163 files and about 91,000 stored tensors, which are 46,000 dense ones: 61 layers
with 256 experts each, FP8 in blocks of 128 x 128. Headers, index and configuration are whole; the
data of the files are holes, which take no room on the disk. Runs `dequant inspect`,
`inspect --json` and `convert --dry-run`; prints seconds and the peak of resident memory of each.
The dry run ends with exit code 5 where the disk has no room for the output, which it finds last.
The exit code is 1 if a command fails otherwise or exceeds a limit.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

MIB = 1 << 20
FILES, LAYERS, DENSE_LAYERS, EXPERTS = 163, 61, 3, 256
HIDDEN, INNER, EXPERT_INNER, VOCABULARY = 7168, 18432, 2048, 129280
BITS = {"F8_E4M3": 8, "BF16": 16, "F32": 32}


def tensors():
    """Name, type and shape of every stored tensor, in the order of layers."""
    def plain(name, *shape, dtype="BF16"):
        yield name, dtype, shape

    def fp8(name, rows, columns):
        yield f"{name}.weight", "F8_E4M3", (rows, columns)
        yield f"{name}.weight_scale_inv", "F32", (-(-rows // 128), -(-columns // 128))

    def mlp(name, inner):
        yield from fp8(f"{name}.gate_proj", inner, HIDDEN)
        yield from fp8(f"{name}.up_proj", inner, HIDDEN)
        yield from fp8(f"{name}.down_proj", HIDDEN, inner)

    yield from plain("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        yield from plain(f"{at}.input_layernorm.weight", HIDDEN)
        yield from plain(f"{at}.post_attention_layernorm.weight", HIDDEN)
        yield from fp8(f"{at}.self_attn.q_a_proj", 1536, HIDDEN)
        yield from plain(f"{at}.self_attn.q_a_layernorm.weight", 1536)
        yield from fp8(f"{at}.self_attn.q_b_proj", 24576, 1536)
        yield from fp8(f"{at}.self_attn.kv_a_proj_with_mqa", 576, HIDDEN)
        yield from plain(f"{at}.self_attn.kv_a_layernorm.weight", 512)
        yield from fp8(f"{at}.self_attn.kv_b_proj", 32768, 512)
        yield from fp8(f"{at}.self_attn.o_proj", HIDDEN, 16384)
        if layer < DENSE_LAYERS:
            yield from mlp(f"{at}.mlp", INNER)
            continue
        yield from plain(f"{at}.mlp.gate.weight", EXPERTS, HIDDEN)
        yield from plain(f"{at}.mlp.gate.e_score_correction_bias", EXPERTS, dtype="F32")
        yield from mlp(f"{at}.mlp.shared_experts", EXPERT_INNER)
        for expert in range(EXPERTS):
            yield from mlp(f"{at}.mlp.experts.{expert}", EXPERT_INNER)
    yield from plain("model.norm.weight", HIDDEN)
    yield from plain("lm_head.weight", VOCABULARY, HIDDEN)


def size(dtype, shape):
    count = BITS[dtype] // 8
    for dimension in shape:
        count *= dimension
    return count


def write_file(path, stored):
    header, end = {}, 0
    for name, dtype, shape in stored:
        begin, end = end, end + size(dtype, shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)  # a hole


def write_checkpoint(folder):
    """Returns the numbers of stored tensors and of bytes of the files."""
    stored = list(tensors())
    total = sum(size(dtype, shape) for _, dtype, shape in stored)
    files, filled = [[]], 0
    for tensor in stored:
        bytes_ = size(*tensor[1:])
        if filled + bytes_ > -(-total // FILES) and len(files) < FILES:
            files.append([])
            filled = 0
        files[-1].append(tensor)
        filled += bytes_
    where = {}
    for i, part in enumerate(files, 1):
        name = f"model-{i:05}-of-{len(files):06}.safetensors"
        write_file(folder / name, part)
        where |= {tensor[0]: name for tensor in part}
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": total}, "weight_map": where}, indent=2))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
                                "activation_scheme": "dynamic",
                                "weight_block_size": [128, 128]}}, indent=2))
    return len(stored), total


def run(command, output=os.devnull):
    """Exit code, seconds, and the peak of resident memory in bytes of a command, whose standard
    output becomes a file."""
    begin = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)])
    _, status, usage = os.wait4(process, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dequant", required=True, help="the program")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each command")
    parser.add_argument("--mib", type=float, default=256.0, help="limit of resident memory")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.dequant).resolve())
    bad = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, "checkpoint")
        folder.mkdir()
        count, total = write_checkpoint(folder)
        print(f"{count} stored tensors, {total / 1e9:.0f} GB of data")
        for words in (["inspect"], ["inspect", "--json"],
                      ["convert", "--dry-run", "-o", f"{temporary}/out"]):
            code, seconds, peak = run([program, words[0], str(folder), *words[1:]])
            print(f"{' '.join(words[:2]):20} {seconds:6.2f} s {peak / MIB:7.1f} MiB  exit {code}")
            no_room = code == 5 and "--dry-run" in words
            bad |= code != 0 and not no_room
            bad |= seconds > arguments.seconds or peak > arguments.mib * MIB
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

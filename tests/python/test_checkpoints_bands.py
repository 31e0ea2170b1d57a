"""Tensors whose codes lie in another order than their floats, with more bytes than --mem allows:
converted band by band, with the bytes of a conversion that holds all codes in memory."""

import os

import numpy as np
import pytest

from hostile_support import MIB
from support import dequant, peak_memory
from test_checkpoints import tensors
from test_checkpoints_folder import Folder

RNG = np.random.default_rng(7)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def words(*shape):
    return "I32", RNG.integers(-1 << 31, 1 << 31, shape, np.int64).astype(np.int32)


def octets(*shape):
    return "U8", RNG.integers(0, 256, shape, np.int64).astype(np.uint8)


def halves(*shape):
    return "F16", RNG.uniform(-2, 2, shape).astype(np.float16)


def number(n):
    return "I32", np.array(n, np.int32)


def gptq(bits, inputs, outputs, group, *, index=None, **members):
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, **members}
    groups = -(-inputs // group)
    parts = {"qweight": words(inputs * bits // 32, outputs), "scales": halves(groups, outputs),
             "qzeros": words(groups, outputs * bits // 32)}
    if index is not None:
        parts["g_idx"] = ("I32", index.astype(np.int32))
    return config, {f"w.{name}": tensor for name, tensor in parts.items()}


def awq(inputs, outputs, group):
    config = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True,
              "version": "gemm"}
    groups = inputs // group
    return config, {"w.qweight": words(inputs, outputs // 8), "w.scales": halves(groups, outputs),
                    "w.qzeros": words(groups, outputs // 8)}


def gptoss(experts, rows, blocks):
    return {"quant_method": "mxfp4"}, {
        "w_blocks": octets(experts, rows, blocks, 16),
        "w_scales": ("U8", RNG.integers(120, 134, (experts, rows, blocks)).astype(np.uint8))}


def quark(inputs, outputs, group):
    config = {"quant_method": "quark", "export": {"pack_method": "reorder"},
              "global_quant_config": {"weight": {"dtype": "uint4", "group_size": group}}}
    groups = inputs // group
    return config, {"w.weight": words(inputs, outputs // 8),
                    "w.weight_scale": halves(groups, outputs),
                    "w.weight_zero_point": words(groups, outputs // 8)}


def hqq(bits, axis, rows, columns, group):
    packing, per_word = {4: ("4bit_u8", 2), 2: ("2bit_u8", 4), 1: ("1bit_u8", 8),
                         3: ("3bit_32", 10)}[bits]
    groups = rows * columns // group
    matrix = (groups, group) if axis == 1 else (group, groups)
    stored = (-(-matrix[0] // per_word), matrix[1])
    parameters = (groups, 1) if axis == 1 else (1, groups)
    return {"quant_method": "hqq"}, {
        "w.W_q": words(*stored) if bits == 3 else octets(*stored), "w.scale": halves(*parameters),
        "w.zero": halves(*parameters), "w.nbits": number(bits), "w.group_size": number(group),
        "w.axis": number(axis), "w.shape": ("I64", np.array([rows, columns], np.int64)),
        "w.packing": ("U8", np.frombuffer(packing.encode(), np.uint8))}


def in_any_order(inputs, group):
    return RNG.permutation(np.arange(inputs) // group)


#: What it is -> the configuration and the tensors. Codes have more than 2 MiB, a quarter of the
#: least memory.
CASES = {
    "GPTQ of 4 bits": lambda: gptq(4, 4096, 2080, 128),
    "GPTQ of 2040 outputs": lambda: gptq(4, 4096, 2040, 128, meta={"quantizer": ["gptqmodel:1"]}),
    "GPTQ with carries between zero points": lambda: gptq(
        4, 4096, 2080, 64, meta={"quantizer": ["gptqmodel:1"]}),
    "GPTQ of 3 bits": lambda: gptq(3, 4096, 2080, 128),
    "GPTQ of 8 bits in any order": lambda: gptq(
        8, 2048, 1504, 64, index=in_any_order(2048, 64), desc_act=True),
    "GPTQ of 2 bits with zero points as they are": lambda: gptq(
        2, 8192, 2080, 64, checkpoint_format="gptq_v2"),
    "GPTQ in planes of 5 bits": lambda: gptq(5, 4096, 1056, 32, checkpoint_format="gptq_p"),
    "GPTQ with more bytes of scales than memory": lambda: gptq(8, 2048, 8192, 8),
    "AWQ": lambda: awq(4096, 2072, 64),
    "AWQ of very many inputs": lambda: awq(100_000, 64, 100),
    "AWQ with more bytes of scales than memory": lambda: awq(4096, 4096, 4),
    "many experts of gpt-oss": lambda: gptoss(40, 96, 64),
    "two large experts of gpt-oss": lambda: gptoss(2, 2112, 96),
    "words of Quark": lambda: quark(4096, 2080, 32),
    "HQQ of 4 bits": lambda: hqq(4, 1, 4096, 1536, 64),
    "HQQ of 3 bits": lambda: hqq(3, 1, 4096, 2048, 64),
    "HQQ of 4 bits with groups down the columns": lambda: hqq(4, 0, 4096, 1536, 64),
    "HQQ of 1 bit": lambda: hqq(1, 1, 8192, 4096, 64),
}


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name][:2] == other[name][:2] and np.array_equal(one[name][2], other[name][2])
        for name in one)


@pytest.mark.parametrize("what", CASES)
def test_the_bytes_do_not_depend_on_the_memory(folder, what):
    config, entries = CASES[what]()
    folder.config({"torch_dtype": "bfloat16", "quantization_config": config})
    folder.file(entries)
    folder.convert()
    whole = tensors(folder.out)
    assert max(tensor[1].nbytes for tensor in entries.values()) > 2 * MIB
    folder.convert("--force", "--mem", "1", "-T3")
    assert same(tensors(folder.out), whole)
    folder.convert("--force", "--mem", "9Mi", "--audit", folder.path.parent / "audit")  # in order
    assert same(tensors(folder.out), whole)


@pytest.mark.skipif("DEQUANT_SANITIZED" in os.environ,
                    reason="SANITIZED: sanitizers take memory of their own")
@pytest.mark.parametrize("what", ["GPTQ", "AWQ", "gpt-oss", "HQQ"])
def test_the_memory_does_not_depend_on_the_size(folder, what):
    """32 MiB of codes in 8 MiB, besides the program."""
    made = {"GPTQ": lambda: gptq(8, 8192, 4096, 128), "AWQ": lambda: awq(8192, 8192, 128),
            "gpt-oss": lambda: gptoss(1, 8192, 256), "HQQ": lambda: hqq(4, 1, 8192, 8192, 64)}
    config, entries = made[what]()
    folder.config({"torch_dtype": "bfloat16", "quantization_config": config})
    folder.file(entries)
    peak = peak_memory(folder.path, "convert", folder.path, "-o", folder.out, "--mem", "8Mi", "-q")
    assert os.listdir(folder.out) and peak < 40 * MIB, f"{peak / MIB:.1f} MiB"


def test_a_band_of_32_rows_must_fit(folder):
    config, entries = awq(200_000, 64, 100)
    folder.config({"torch_dtype": "bfloat16", "quantization_config": config})
    folder.file(entries)
    folder.refused(3, "w.qweight: 6400000 bytes, more than the 2097152", options=["--mem", "1"])


@pytest.mark.parametrize(("inputs", "memory"), [(131_072, "1"), (131_072, "8Mi"),
                                                (262_144, "16Mi")])
def test_a_band_did_not_need_the_memory_that_the_manual_said(folder, inputs, memory):
    """64 bytes for each input, of at least 8 MiB."""
    for more, code in ((0, 0), (128, 3)):
        config, entries = awq(inputs + more, 64, 128)
        folder.config({"torch_dtype": "bfloat16", "quantization_config": config})
        folder.file(entries)
        folder.convert("--force", "--mem", memory, code=code)


def test_what_a_band_reads_is_inspected_and_extracted_too(folder, tmp_path):
    config, entries = awq(4096, 2080, 64)
    folder.config({"torch_dtype": "float32", "quantization_config": config})
    folder.file(entries)
    outputs = [dequant("inspect", folder.path, "--all", "--json", *options).stdout
               for options in ([], ["--mem", "1"])]
    assert outputs[0] == outputs[1]
    for i, options in enumerate(([], ["--mem", "1"])):
        dequant("extract", folder.path, "w.weight", "-o", tmp_path / f"{i}.npy", *options)
    assert (tmp_path / "0.npy").read_bytes() == (tmp_path / "1.npy").read_bytes()

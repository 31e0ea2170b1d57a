"""Zero points that `dequant inspect` shows of checkpoints whose zero points are packed in words,
beside those that numpy unpacks: they were shown as none, or without the carry of GPTQ."""

import json
import re

import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors

AWQ = [0, 4, 1, 5, 2, 6, 3, 7]


def bits_of(words, bits):
    """The codes of rows of words, each row a stream of bits."""
    stream = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    codes = stream.reshape(*words.shape[:-1], -1, bits)
    return (codes << np.arange(bits)).sum(-1)


def gptq(entries, bits, added):
    """[groups, out]. Of GPTQ's version 1 all zero points of a word are less by 1, as one number."""
    words = entries["qzeros"].view(np.uint32).astype(np.uint64)
    if added and bits != 3:
        ones = sum(1 << at for at in range(0, 32, bits))
        words = words + np.uint64(ones) & np.uint64(0xFFFFFFFF)
    codes = bits_of(np.ascontiguousarray(words.astype(np.uint32)), bits)
    return (codes + (added and bits == 3)) % (1 << bits)


def awq(entries):
    zeros = bits_of(entries["qzeros"], 4)
    return zeros.reshape(len(zeros), -1, 8)[:, :, AWQ].reshape(len(zeros), -1)


def compressed(entries, bits):
    """[out, groups], packed along the columns."""
    packed = np.ascontiguousarray(entries["weight_zero_point"].T)
    return bits_of(packed, bits).T


CASES = {
    "awq_gemm_g32": awq,
    "gptq_v1_w3_asym_actorder": lambda e: gptq(e, 3, 1),
    "gptq_v2_w3_g32_asym": lambda e: gptq(e, 3, 0),
    "gptq_v1_w2_zero0_borrow": lambda e: gptq(e, 2, 1),
    "gptq_v1_w4_zero0_borrow": lambda e: gptq(e, 4, 1),
    "gptq_v1_w8_zero0_borrow": lambda e: gptq(e, 8, 1),
    "gptq_v2_w4_g32_asym": lambda e: gptq(e, 4, 0),
    "ct_w4a16_g32_asym": lambda e: compressed(e, 4),
    "ct_w4a16_channel_asym": lambda e: compressed(e, 4),
    "ct_w8a16_g32_asym": lambda e: compressed(e, 8),
}


def listed(text):
    """For each tensor of a page with groups: ((row, column), zero point) of the scales it lists."""
    row = re.compile(r"<tr><td>\[(\d+), (\d+)\]</td><td class='n'[^>]*>[^<]*</td>"
                     r"<td class='n'[^>]*>([^<]*)</td>")
    return [[((int(r), int(c)), float(zero)) for r, c, zero in row.findall(part)]
            for part in text.split("<div class='groups'>")[1:]]


@pytest.mark.parametrize("name", CASES)
def test_packed_zero_points_were_none_or_lacked_a_carry(shared, tmp_path, name):
    folder = shared / "checkpoints" / name
    stored = {k: array.reshape(shape) for file in folder.glob("model*.safetensors")
              for k, (_, shape, array) in tensors(file).items()}
    page = tmp_path / "page.html"
    dequant("inspect", folder, "--html", page)
    groups = listed(page.read_text(encoding="utf-8"))
    report = json.loads(dequant("inspect", folder, "--all", "--json").stdout)
    assert len(groups) == len(report["tensors"]) > 0
    for tensor, rows in zip(report["tensors"], groups, strict=True):
        base = tensor["name"].removesuffix("weight")
        zeros = CASES[name]({k.removeprefix(base): a for k, a in stored.items()
                             if k.startswith(base)})
        assert tensor["zero_point"] == {"min": zeros.min(), "max": zeros.max(), "nan": 0}
        assert rows
        for (row, column), zero in rows:
            assert zeros[row, column] == zero


def test_entries_that_fill_up_words_counted_as_scales(shared, tmp_path):
    """AWQ's layout GEMV has rows of scales and zero points for more groups than there are."""
    folder = shared / "checkpoints" / "refuse_awq_gemv_g128"
    base = "model.layers.0.self_attn.q_proj"
    stored = {k: array.reshape(shape) for k, (_, shape, array) in
              tensors(next(folder.glob("model*.safetensors"))).items()}
    scales = stored[f"{base}.scales"].view(np.float16)
    assert (scales[:, 2:] == 0).all() and (scales[:, :2] > 0).all()
    zeros = bits_of(stored[f"{base}.qzeros"], 4)[:, :2]
    page = tmp_path / "page.html"
    dequant("inspect", folder, "--html", page)
    assert "scales 0" not in page.read_text(encoding="utf-8")
    report = json.loads(dequant("inspect", folder, "--all", "--json").stdout)["tensors"]
    [found] = [t for t in report if t["name"] == f"{base}.weight"]
    assert found["scale_count"] == scales[:, :2].size
    assert found["scale"] == {"min": scales[:, :2].min(), "max": scales[:, :2].max(), "nan": 0}
    assert found["zero_point"] == {"min": zeros.min(), "max": zeros.max(), "nan": 0}

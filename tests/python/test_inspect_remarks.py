"""What the page of `dequant inspect` remarks of quantized tensors that are broken on purpose."""

import json

import numpy as np
import pytest

from arithmetic import codes, floats
from page_support import Page, page_of
from support import dequant, linear
from test_checkpoints_folder import Folder


def remarks(text):
    """The remarks of the only tensor."""
    found = [part.partition("</em>")[0] for part in text.split("<em>")[1:]]
    return [remark for remark in found if not remark.startswith("$")]  # in the script


def fp8_blocks(codes):
    return {"w.weight": ("F8_E4M3", codes), "w.weight_scale_inv": (
        "F32", np.ones((2, 2), np.float32))}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def test_a_block_of_zeros_had_no_remark_where_blocks_have_two_dimensions(folder):
    x = np.full((200, 256), 0x38, np.uint8)
    x[128:, :128] = 0
    folder.file(fp8_blocks(x))
    text = page_of(folder.path)
    assert remarks(text) == ["all values 0 in 1 of 4 groups"]
    assert "All values are 0 at [1, 0]." in text
    rows = [row for row in Page(text).rows if row and row[0][1].startswith("[")]
    assert {row[0][1]: row[3][1].split()[0] for row in rows} == {
        "[0, 0]": "1", "[0, 1]": "1", "[1, 0]": "0", "[1, 1]": "1"}


def test_groups_of_a_row_were_called_channels(folder):
    (folder.path / "hf_quant_config.json").write_text(json.dumps(
        {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}))
    folder.config({"torch_dtype": "bfloat16"})
    x = np.full((4, 16), 0x21, np.uint8)
    x[1, 8:] = 0
    folder.file({"w.weight": ("U8", x), "w.weight_scale_2": ("F32", np.array(1, np.float32)),
                 "w.weight_scale": ("F8_E4M3", np.full((4, 2), 0x38, np.uint8))})
    assert remarks(page_of(folder.path)) == ["all values 0 in 1 of 8 groups"]


def test_the_page_says_where_it_cannot_tell_values_of_scales_apart(shared, tmp_path):
    index = "An index chooses the scales of elements"
    for folder, sentence in [("gptq_v1_w4_asym_actorder", index), ("fp8_block_128x128", None)]:
        page = tmp_path / "page.html"
        dequant("inspect", shared / "checkpoints" / folder, "--html", page, "--force")
        text = page.read_text(encoding="utf-8")
        assert ("their values are not told apart" in text) == (sentence is not None)
        assert sentence is None or f"<p>{sentence}: " in text


@pytest.mark.parametrize("value, remark, found", [
    (-1.0, "1 scale of the tensor negative", {"min": -1, "max": -1, "nan": 0}),
    (np.nan, "1 scale of the tensor NaN", {"min": None, "max": None, "nan": 1}),
    (np.inf, "1 scale of the tensor infinite", {"min": "inf", "max": "inf", "nan": 0}),
    (0.0, "1 scale of the tensor 0", {"min": 0, "max": 0, "nan": 0})])
def test_the_scale_of_the_tensor_was_not_shown(folder, value, remark, found):
    """Of NVFP4 with two scales only those of the groups were."""
    (folder.path / "hf_quant_config.json").write_text(json.dumps(
        {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}))
    folder.config({"torch_dtype": "bfloat16"})
    folder.file({"w.weight": ("U8", np.full((4, 16), 0x21, np.uint8)),
                 "w.weight_scale": ("F8_E4M3", np.full((4, 2), 0x38, np.uint8)),
                 "w.weight_scale_2": ("F32", np.array(value, np.float32))})
    [tensor] = json.loads(dequant("inspect", folder.path, "--all", "--json").stdout)["tensors"]
    assert tensor["tensor_scale"] == found and tensor["scale"]["max"] == 1
    assert remark in remarks(page_of(folder.path))
    if value == -1:
        assert "1, of the tensor -1 " in dequant("inspect", folder.path, "--all").stdout


def test_saturated_codes_had_no_remark_where_one_channel_has_their_zero_point(tmp_path):
    """A zero point of 255 in one channel: 255 counted as 0 in all channels."""
    x = np.where(np.random.default_rng(2).random((64, 256)) < 0.5, 255, 100)
    zeros = np.full(64, 128)
    zeros[[0, 1]] = [0, 255]
    source = linear(tmp_path, codes("uint8", x), floats(np.ones(64)), codes("uint8", zeros), axis=0)
    [remark] = remarks(page_of(source))
    share = ((x == 255).sum() - (x[1] == 255).sum()) / x.size  # those of channel 1 are 0
    assert remark == f"{100 * share:.2f} % at the ends of the type"


def test_zero_points_had_six_digits(tmp_path):
    source = linear(tmp_path, codes("int32", [[1, 2]]), floats(np.float32(1)),
                    codes("int32", np.array(-1234567)))
    assert " -1234567 " in dequant("inspect", source).stdout
    assert Page(page_of(source)).tensor("y")["Zero point"][1] == "-1234567"


def test_types_and_groups_of_packed_codes_were_words_of_the_text_only(shared, tmp_path):
    for folder, code, groups in [("gptq_v2_w3_g32_asym", "uint3", "groups of 32"),
                                 ("awq_gemm_g32", "uint4", "groups of 32"),
                                 ("modelopt_nvfp4", "uint4", "groups of 16")]:
        path = shared / "checkpoints" / folder
        for command, key in [(["inspect", path, "--all"], "tensors"), (
                ["convert", path, "-o", tmp_path / "o", "--dry-run"], "converted")]:
            for tensor in json.loads(dequant(*command, "--json").stdout)[key]:
                assert (tensor["type"], tensor["granularity_text"]) == (code, groups)

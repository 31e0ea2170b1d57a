"""config.json of checkpoints: where it says how tensors are quantized, and what the output has of
it."""

import json

import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import CODES, CONFIG, Folder, weight

FP8 = CONFIG["quantization_config"]


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def converted(folder, document, *options):
    """config.json of the output."""
    folder.config(document)
    folder.file(weight())
    folder.convert(*options)
    return json.loads((folder.out / "config.json").read_text())


# Where the section is.

@pytest.mark.parametrize("keys", [["llm_config"], ["thinker_config", "text_config"],
                                  ["decoder_config"]])
def test_a_section_of_a_part_of_the_model_is_read_and_removed(folder, keys):
    part = {"a": 1, "torch_dtype": "float16", "quantization_config": FP8}
    dense = {"a": 1, "torch_dtype": "bfloat16"}
    for key in reversed(keys):
        part, dense = {key: part}, {key: dense}
    # Blocks of 128 that no scale tells: without the section the weight is refused.
    codes = np.zeros((200, 8), np.uint8)
    folder.config(part)
    folder.file({"w.weight": ("F8_E4M3", codes),
                 "w.weight_scale_inv": ("F32", np.ones((2, 1), np.float32))})
    folder.convert()
    assert tensors(folder.out)["w.weight"][0] == "F16"
    folder.convert("--force", "--dtype", "bfloat16")
    assert json.loads((folder.out / "config.json").read_text()) == dense


def test_parts_that_are_quantized_in_different_ways_are_refused(folder):
    folder.config({"text_config": {"quantization_config": FP8},
                   "vision_config": {"x_config": {"quantization_config": {}}}})
    folder.file(weight())
    folder.refused(4, "text_config.quantization_config and "
                   "vision_config.x_config.quantization_config differ")


def test_parts_that_are_quantized_in_the_same_way_are_read(folder):
    parts = {"text_config": {"quantization_config": FP8}, "x_config": {"quantization_config": FP8}}
    assert converted(folder, {**parts, "dtype": "float16"}) == {
        "text_config": {}, "x_config": {}, "dtype": "float16"}


def test_the_section_of_the_document_counts_before_those_of_parts(folder):
    part = {"quantization_config": {"quant_method": "magic"}}
    assert converted(folder, {**CONFIG, "text_config": part})["text_config"] == {}


def test_the_type_of_a_part_without_codes_stays(folder):
    config = converted(folder, {**CONFIG, "vision_config": {"dtype": "float32"},
                                "llm_config": {"dtype": "float32"}})
    assert config["vision_config"] == {"dtype": "float32"}
    assert config["llm_config"] == {"dtype": "bfloat16"}


def test_a_section_that_is_null_hides_no_other_file(folder):
    folder.config({"torch_dtype": "bfloat16", "quantization_config": None})
    (folder.path / "quantize_config.json").write_text(json.dumps({"quant_method": "magic"}))
    folder.file(weight())
    folder.refused(4, 'quant_method "magic"')


def test_the_key_of_older_compressed_tensors_is_read_and_removed(folder, shared):
    source = shared / "checkpoints" / "ct_w4a16_g128_sym"
    dequant("convert", source, "-o", folder.out)
    wanted = tensors(folder.out)
    config = json.loads((source / "config.json").read_text())
    older = {"compression_config" if key == "quantization_config" else key: value
             for key, value in config.items()}
    for path in source.iterdir():
        (folder.path / path.name).write_bytes(path.read_bytes())
    folder.config(older)
    dequant("convert", folder.path, "-o", folder.out.with_name("older"))
    actual = tensors(folder.out.with_name("older"))
    assert actual.keys() == wanted.keys()
    assert all((actual[name][2] == wanted[name][2]).all() for name in wanted)
    assert "compression_config" not in json.loads(
        (folder.out.with_name("older") / "config.json").read_text())


def test_a_compression_config_of_other_programs_stays(folder):
    other = {"compression_config": {"algorithm": "pruning"}}
    assert converted(folder, {**CONFIG, **other})["compression_config"] == other[
        "compression_config"]


# What the output has.

@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "torch.float8_e4m3fn", "int8"])
def test_a_type_of_codes_is_no_type_of_the_output(folder, dtype):
    document = {**CONFIG, "torch_dtype": dtype, "vision_config": {"dtype": dtype}}
    config = converted(folder, document, "--dtype", "float16")
    assert config["torch_dtype"] == "float16" and config["vision_config"] == {"dtype": "float16"}


@pytest.mark.parametrize("members", [{"quantization": {"qformat_weight": "fp8_e4m3"}},
                                     {"quantization_config": {"quant_method": "x"}}])
def test_the_configuration_of_mistral_does_not_keep_its_quantization(folder, members):
    folder.config(CONFIG)
    folder.file({**weight("a"), **weight("b")})
    text = json.dumps({"dim": 8, **members, "z": 1})
    (folder.path / "params.json").write_text(text)
    report = json.loads(folder.convert("--json").stdout)
    assert report["files_copied"] == ["params.json"]
    assert list(json.loads((folder.out / "params.json").read_text())) == ["dim", "z"]
    folder.out.rename(folder.out.with_name("all"))
    folder.convert("--include", "a.*")
    assert (folder.out / "params.json").read_text() == text


@pytest.mark.parametrize("text", ['{"dim":8}', "[1]", "no JSON"])
def test_params_that_say_nothing_of_quantization_keep_their_bytes(folder, text):
    folder.file(weight())
    (folder.path / "params.json").write_text(text)
    folder.convert()
    assert (folder.out / "params.json").read_text() == text


def test_config_says_nothing_of_codes_where_only_unknown_tensors_have_some(folder):
    folder.file({**weight(), "v.weight": ("F8_E4M3", CODES)})
    folder.convert("--keep-unknown")
    assert "quantization_config" not in json.loads((folder.out / "config.json").read_text())


def test_config_stays_where_nothing_is_dequantized(folder):
    folder.file({"v.weight": ("F8_E4M3", CODES)})
    folder.convert("--keep-unknown")
    assert json.loads((folder.out / "config.json").read_text()) == CONFIG


@pytest.mark.parametrize("target", ["../blobs/pruned", "config.json"], ids=["dangling", "circle"])
@pytest.mark.parametrize("of_file", [False, True], ids=["folder", "file"])
def test_a_link_that_leads_nowhere_counted_as_no_config(folder, target, of_file):
    """The dense model had float32, the type of the scales, in place of bfloat16."""
    weights = folder.file(weight())
    (folder.path / "config.json").unlink()
    (folder.path / "config.json").symlink_to(target)
    output = folder.out.with_name("out.safetensors") if of_file else folder.out
    error = dequant("convert", weights if of_file else folder.path, "-o", output, code=5).stderr
    assert "cannot open" in error and "in/config.json" in error, error
    assert not output.exists()

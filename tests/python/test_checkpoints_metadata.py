"""The metadata of safetensors files: an output has those of its input, without what says how
tensors are quantized that are floats now."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from support import dequant, peak_memory
from test_checkpoints_folder import Folder, weight
from test_verify import bfloat16, safetensors

OTHERS = {"config": json.dumps({"vae": {"x": 1}}), "ss_network_dim": "4",
          "modelspec.title": "smäll \"\\\n\x01"}
NORM = ("BF16", bfloat16(np.ones(8)))


def metadata(path):
    with safe_open(path, "np") as file:
        return file.metadata()


@pytest.fixture(name="file")
def fixture_file(tmp_path):
    """Converts a file; returns the metadata of the output."""
    def convert(entries, said, *options):
        source = safetensors(tmp_path / "in.safetensors", entries, said)
        out = tmp_path / "out.safetensors"
        dequant("convert", source, "-o", out, "--dtype", "bfloat16", "--force", *options)
        again = tmp_path / "again.safetensors"
        dequant("convert", source, "-o", again, "--dtype", "bfloat16", "--force", "-T", 1, *options)
        assert out.read_bytes() == again.read_bytes()
        return metadata(out)
    return convert


@pytest.mark.parametrize("entries", [weight(), {"a": NORM}])
def test_the_metadata_of_a_file_were_lost(file, entries):
    assert file(entries, OTHERS) == {"format": "pt", **OTHERS}


@pytest.mark.parametrize("said", [None, {}])
def test_a_file_without_metadata_is_one_of_torch(file, said):
    assert file(weight(), said) == {"format": "pt"}


def test_the_format_of_a_file_became_torch_s(file):
    """mlx-vlm takes layouts of tensors for MLX's where a file has this format."""
    assert file(weight(), {"a": "b", "format": "mlx"}) == {"a": "b", "format": "mlx"}


def test_what_the_package_writes_stays(tmp_path):
    save_file({"a": np.ones(8, np.float32)}, tmp_path / "in.safetensors", metadata=OTHERS)
    dequant("convert", tmp_path / "in.safetensors", "-o", tmp_path / "out.safetensors")
    assert metadata(tmp_path / "out.safetensors") == {"format": "pt", **OTHERS}


def test_how_floats_were_quantized_is_left_out(file):
    said = {**OTHERS, "quantization_config": "{}", "_quantization_metadata": json.dumps(
        {"layers": {"w": {"format": "float8_e4m3fn"}, "elsewhere": {"format": "fp8"}}})}
    entries = weight(scale="weight_scale")
    assert file(entries, said) == {"format": "pt", **OTHERS}
    assert file(entries, said, "--exclude", "*") == {"format": "pt", **said}


def test_torchao_s_entry_of_another_scheme_s_tensor_goes(tmp_path):
    """config.json decides here; the output has none, and is read by its metadata."""
    folder = Folder(tmp_path)
    folder.file(weight(), metadata={"w.weight": json.dumps(
        {"_type": "Int8Tensor", "_data": {}, "_tensor_data_names": ["qdata", "scale"]})})
    folder.convert()
    assert metadata(folder.out / "model.safetensors") == {"format": "pt"}
    dequant("inspect", folder.out)


SHARDS = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]


@pytest.fixture(name="shards")
def fixture_shards(tmp_path):
    """Three files of a weight each; the second has no other tensor, and none of the output."""
    folder = Folder(tmp_path)
    folder.file({**weight("a"), "a.norm": NORM}, SHARDS[0],
                {"format": "mlx", "a": "1", "same": "1"})
    folder.file({"a.b.weight_scale_inv": ("F32", np.ones((1, 1), np.float32))}, SHARDS[1],
                {"b": "1", "same": "2"})
    folder.file({"a.b.weight": weight()["w.weight"], **weight("c")}, SHARDS[2],
                {"c": "1", "same": "3"})
    return folder


def test_each_entry_is_in_the_first_file_that_has_tensors_of_its_file(shards):
    shards.convert("--max-shard-size", "130")
    files = sorted(shards.out.glob("*.safetensors"))
    assert len(files) == 4
    assert [metadata(f) for f in files] == [
        {"format": "mlx", "a": "1", "same": "1"}, {"format": "mlx"},
        {"format": "pt", "b": "1", "same": "2", "c": "1"}, {"format": "pt"}]


def test_of_equal_keys_the_first_counts(shards):
    shards.convert()
    assert metadata(shards.out / "model.safetensors") == {
        "format": "mlx", "a": "1", "same": "1", "b": "1", "c": "1"}


def test_files_as_in_the_input_have_their_metadata(shards):
    shards.convert("--shards", "as-input")
    assert metadata(shards.out / SHARDS[0]) == {"format": "mlx", "a": "1", "same": "1"}
    assert metadata(shards.out / SHARDS[2]) == {"format": "pt", "b": "1", "same": "2", "c": "1"}


def test_different_metadata_of_tensors_that_stay_quantized_have_no_common_file(tmp_path):
    folder = Folder(tmp_path)
    for name, file in zip("ab", ("model-00001-of-00002", "model-00002-of-00002"), strict=True):
        folder.file(weight(name), file + ".safetensors", {"quantization_config": name})
    folder.refused(4, "metadata quantization_config", "as-input", options=["--exclude", "a*"])
    folder.convert("--exclude", "a*", "--shards", "as-input")
    assert metadata(folder.out / "model-00002-of-00002.safetensors") == {
        "format": "pt", "quantization_config": "b"}


def test_a_folder_without_tensors_keeps_its_metadata(tmp_path):
    folder = Folder(tmp_path)
    folder.file({}, metadata=OTHERS)
    folder.convert()
    assert metadata(folder.out / "model.safetensors") == {"format": "pt", **OTHERS}


def test_other_metadata_are_another_conversion(tmp_path):
    """A folder that is not complete does not go on with other metadata."""
    folder = Folder(tmp_path)
    folder.file(weight(), metadata={"a": "1"})
    plan = dequant("plan", folder.path, "-o", folder.out).stdout
    folder.file(weight(), metadata={"a": "2"})
    assert dequant("plan", folder.path, "-o", folder.out).stdout != plan


def test_memory_is_in_proportion_to_the_metadata(tmp_path):
    """A file of a million keys."""
    said = {f"{i:06x}": "" for i in range(1_000_000)}
    source = safetensors(tmp_path / "in.safetensors", {"a": NORM}, said)
    out = tmp_path / "out.safetensors"
    peak = peak_memory(tmp_path, "convert", source, "-o", out, "-q")
    assert peak <= (64 << 20) + 16 * source.stat().st_size
    assert len(metadata(out)) == 1_000_001

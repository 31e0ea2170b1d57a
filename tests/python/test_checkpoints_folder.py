"""Folders of checkpoints: which tensors belong together, what is refused, and what an output folder
has besides tensors."""

import json
import math
import os
import shutil

import numpy as np
import pytest

from support import dequant
from test_checkpoints import tensors
from test_verify import bfloat16, safetensors

CODES = np.arange(64, dtype=np.uint8).reshape(8, 8)
SCALE = np.full((1, 1), 0.5, np.float32)
NORM = bfloat16(np.ones(8))
CONFIG = {"architectures": ["A"], "torch_dtype": "bfloat16", "quantization_config": {
    "quant_method": "fp8", "weight_block_size": [128, 128]}, "z": 1, "a": 1e-05}


def weight(name="w", scale="weight_scale_inv"):
    return {f"{name}.weight": ("F8_E4M3", CODES), f"{name}.{scale}": ("F32", SCALE)}


class Folder:
    def __init__(self, path):
        self.path = path / "in"
        self.out = path / "out"
        self.path.mkdir()
        self.config(CONFIG)

    def config(self, document):
        (self.path / "config.json").write_text(json.dumps(document))

    def file(self, entries, name="model.safetensors", metadata=None):
        return safetensors(self.path / name, entries, metadata)

    def index(self, weight_map):
        (self.path / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": weight_map}))

    def convert(self, *options, code=0):
        return dequant("convert", self.path, "-o", self.out, *options, code=code)

    def refused(self, code, *words, options=()):
        error = self.convert(*options, code=code).stderr
        assert error.startswith("dequant: error: ") and error.count("\n") == 1, error
        for word in words:
            assert word in error, error
        assert not self.out.exists()


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


# What belongs together.

def test_a_scale_may_be_in_another_file(folder):
    parts = list(weight().items())
    folder.file(dict(parts[:1]), "a.safetensors")
    folder.file(dict(parts[1:]), "b.safetensors")
    folder.index({"w.weight": "a.safetensors", "w.weight_scale_inv": "b.safetensors"})
    folder.convert()
    assert tensors(folder.out).keys() == {"w.weight"}


def test_a_weight_without_a_scale_is_refused(folder):
    folder.file({"w.weight": ("F8_E4M3", CODES)})
    folder.refused(4, "tensor w.weight of type F8_E4M3", "keep-unknown")


def test_a_weight_without_a_scale_is_kept_with_a_warning_where_that_is_asked_for(folder):
    folder.file({"w.weight": ("F8_E4M3", CODES), **weight("v")})
    done = folder.convert("--keep-unknown")
    assert "warning: 1 quantized tensors are copied" in done.stderr and "w.weight" in done.stderr
    assert {name: t[0] for name, t in tensors(folder.out).items()} == {
        "w.weight": "F8_E4M3", "v.weight": "BF16"}


def test_two_scales_of_one_weight_are_refused(folder):
    folder.file({**weight(), "w.scale": ("F32", SCALE)})
    folder.refused(3, "w.weight_scale_inv", "w.scale", "both may be its scale")


def test_a_scale_of_another_shape_is_refused(folder):
    folder.file({"w.weight": ("F8_E4M3", CODES), "w.weight_scale_inv": (
        "F32", np.ones((2, 1), np.float32))})
    folder.refused(3, "tensor w.weight", "dimension 0 is 2 where 8 of weight in blocks of 128")


def test_blocks_that_nothing_tells_are_refused(folder):
    folder.config({"torch_dtype": "bfloat16"})
    codes = np.zeros((200, 8), np.uint8)
    folder.file({"w.weight": ("F8_E4M3", codes),
                 "w.weight_scale_inv": ("F32", np.ones((2, 1), np.float32))})
    folder.refused(4, "dimension 0 of 200 elements has 2 scales", "weight_block_size")


def test_an_unknown_method_is_refused(folder):
    folder.config({"quantization_config": {"quant_method": "magic"}})
    folder.file(weight())
    folder.refused(4, 'quant_method "magic"')


def test_a_block_size_that_is_none_is_refused(folder):
    folder.config({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 128]}})
    folder.file(weight())
    folder.refused(3, "weight_block_size")


@pytest.mark.parametrize(("dtype", "stored"), [("auto", "BF16"), ("float32", "F32")])
def test_the_type_is_that_of_the_model_or_the_one_asked_for(folder, dtype, stored):
    folder.file(weight())
    folder.convert("--dtype", dtype)
    assert tensors(folder.out)["w.weight"][0] == stored


def test_without_a_float_type_anywhere_the_type_is_asked_for(folder):
    folder.config({"quantization_config": {"quant_method": "fp8",
                                           "weight_block_size": [128, 128]}})
    folder.file({"w.weight": ("F8_E4M3", CODES),
                 "w.weight_scale_inv": ("F8_E8M0", np.full((1, 1), 127, np.uint8))})
    folder.refused(4, "give dtype")
    folder.convert("--dtype", "float16")
    assert tensors(folder.out)["w.weight"][0] == "F16"


def test_activation_scales_are_left_out_and_listed(folder):
    folder.file({**weight(), "w.input_scale": ("F32", SCALE), "k_proj.k_scale": ("F32", SCALE)})
    report = json.loads(folder.convert("--json").stdout)
    assert [d["name"] for d in report["dropped"]] == ["w.input_scale", "k_proj.k_scale"]
    assert tensors(folder.out).keys() == {"w.weight"}


# The output.

def test_config_keeps_its_keys_in_order(folder):
    folder.file(weight())
    folder.convert("--dtype", "float16")
    assert list(json.loads((folder.out / "config.json").read_text()).items()) == [
        ("architectures", ["A"]), ("torch_dtype", "float16"), ("z", 1), ("a", 1e-05)]


def test_config_keeps_floats_that_only_python_writes(folder):
    limits = {"time_step_limit": [0.0, math.inf], "x": -math.inf, "y": "NaN, Infinity"}
    folder.config({**CONFIG, **limits})
    folder.file(weight())
    folder.convert()
    text = (folder.out / "config.json").read_text()
    assert "Infinity\n" in text and '"x": -Infinity' in text
    assert {key: json.loads(text)[key] for key in limits} == limits


def test_a_section_of_a_text_model_is_removed_too(folder):
    folder.config({"text_config": {**CONFIG, "dtype": "bfloat16"}, "model_type": "x"})
    folder.file(weight())
    folder.convert("--dtype", "float32")
    config = json.loads((folder.out / "config.json").read_text())
    assert config["text_config"] == {"architectures": ["A"], "torch_dtype": "float32", "z": 1,
                                     "a": 1e-05, "dtype": "float32"}


def test_other_files_are_copied_but_for_weights_and_quantization(folder):
    folder.file(weight())
    (folder.path / "tokenizer.json").write_bytes(b"\0\xff")
    (folder.path / "code").mkdir()
    (folder.path / "code" / "model.py").write_text("pass\n")
    (folder.path / "hf_quant_config.json").write_text("{}")
    (folder.path / "old.bin").write_text("x")
    report = json.loads(folder.convert("--json").stdout)
    assert report["files_copied"] == ["code/model.py", "tokenizer.json"]
    assert report["files_left_out"] == ["hf_quant_config.json", "old.bin"]
    assert (folder.out / "tokenizer.json").read_bytes() == b"\0\xff"
    assert (folder.out / "code" / "model.py").read_text() == "pass\n"
    assert sorted(os.listdir(folder.out)) == ["code", "config.json", "model.safetensors",
                                              "tokenizer.json"]


def test_names_that_begin_with_a_dot_were_left_out_and_not_listed(folder):
    folder.file(weight())
    for name in (".gitattributes", ".cache/huggingface/x", "code/model.py", "code/.hidden",
                 "code/.git/HEAD"):
        (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.path / name).write_text("x")
    report = json.loads(folder.convert("--json").stdout)
    assert report["files_copied"] == ["code/model.py"]
    assert report["files_left_out"] == [".cache", ".gitattributes", "code/.git", "code/.hidden"]
    assert sorted(os.listdir(folder.out / "code")) == ["model.py"]
    text = folder.convert("--force").stdout
    assert "not copied: .cache, .gitattributes, code/.git, code/.hidden\n" in text


def test_files_are_no_larger_than_asked_for(folder):
    folder.file({**weight("a"), **weight("b"), **weight("c")})
    folder.convert("--max-shard-size", "256")
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    index = json.loads((folder.out / "model.safetensors.index.json").read_text())
    assert index == {"metadata": {"total_size": 3 * 128},
                     "weight_map": {"a.weight": names[0], "b.weight": names[0],
                                    "c.weight": names[1]}}
    assert sorted(p.name for p in folder.out.glob("*.safetensors")) == names


@pytest.mark.parametrize(("stem", "wanted"), [
    ("diffusion_pytorch_model", "diffusion_pytorch_model"), ("consolidated", "consolidated"),
    ("diffusion_pytorch_model.fp8", "diffusion_pytorch_model"), ("model.fp8", "model"),
    ("consolidated_x", "model"), ("gptq_model-4bit-128g", "model")])
def test_files_of_diffusers_and_of_mistral_keep_the_beginning_of_their_names(folder, stem, wanted):
    folder.file({**weight("a"), **weight("b")}, f"{stem}.safetensors")
    folder.convert()
    assert [p.name for p in folder.out.glob("*.safetensors*")] == [f"{wanted}.safetensors"]
    folder.out.rename(folder.out.with_name("one"))
    folder.convert("--max-shard-size", "128")
    files = [f"{wanted}-0000{i}-of-00002.safetensors" for i in (1, 2)]
    index = f"{wanted}.safetensors.index.json"
    assert sorted(p.name for p in folder.out.glob("*.safetensors*")) == [*files, index]
    assert json.loads((folder.out / index).read_text())["weight_map"] == {
        "a.weight": files[0], "b.weight": files[1]}
    folder.convert("--max-shard-size", "128", "--force")  # its index is no weight of another one


def test_an_index_of_diffusers_becomes_one(folder):
    names = [f"diffusion_pytorch_model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    for name, module in zip(names, "ab"):
        folder.file(weight(module), name)
    index = "diffusion_pytorch_model.safetensors.index.json"
    (folder.path / index).write_text(json.dumps({"weight_map": {
        tensor: name for name, module in zip(names, "ab") for tensor in weight(module)}}))
    folder.convert("--shards", "as-input")
    assert sorted(os.listdir(folder.out)) == sorted(["config.json", *names, index])


def test_files_may_be_those_of_the_input(folder):
    folder.file(weight("a"), "x.safetensors")
    folder.file(weight("b"), "y.safetensors")
    folder.index({**{n: "x.safetensors" for n in weight("a")},
                  **{n: "y.safetensors" for n in weight("b")}})
    folder.convert("--shards", "as-input")
    index = json.loads((folder.out / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == {"a.weight": "x.safetensors", "b.weight": "y.safetensors"}


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--resume"], ["--task", "0"]])
@pytest.mark.parametrize("ending", [".onnx", ".gguf", ".tflite", ".safetensors"])
def test_the_name_of_a_file_was_that_of_a_folder(folder, ending, options):
    folder.file(weight())
    folder.out = folder.out.with_suffix(ending)
    folder.refused(2, f"out{ending}", "the output is a folder of safetensors files", ending,
                   options=options)
    assert not folder.out.exists()


def test_a_folder_that_is_there_may_have_any_name(folder):
    folder.file(weight())
    folder.out = folder.out.with_suffix(".onnx")
    folder.out.mkdir()
    folder.convert()


NO_SIZES = ["-1", "", "b", "Ki", "5.5G", "5iB", "5GG", "5Gi i", "99999999999G",
            "9223372036854775808"]


@pytest.mark.parametrize("size", ["0", *NO_SIZES])
def test_a_size_that_is_none_is_a_wrong_argument(folder, size):
    folder.file(weight())
    folder.refused(2, "max-shard-size", options=["--max-shard-size", size])


@pytest.mark.parametrize("option", ["--mem", "--task-size"])
@pytest.mark.parametrize("size", NO_SIZES)
def test_a_size_without_a_number_was_a_limit_of_memory(folder, option, size):
    folder.file(weight())
    error = dequant("plan", folder.path, "-o", folder.out, f"{option}={size}", code=2).stderr
    assert option in error


def test_files_of_the_output_had_sizes_of_their_own_spelling(folder):
    """The sums below and above a tensor of 1024 bytes, by each unit."""
    folder.file({name: ("I64", np.zeros(128, np.int64)) for name in "ab"})
    for small, large in (("2047", "2048"), ("2k", "2Ki"), ("2KB", "2kib"), ("1K", "1m"),
                         ("1KiB", "1Mi"), ("1k", "1GB"), ("1k", "1GiB"), ("1k", "1T")):
        for size, several in ((small, True), (large, False)):
            folder.convert("--max-shard-size", size)
            assert (len(list(folder.out.glob("*.safetensors"))) > 1) == several, size
            shutil.rmtree(folder.out)


def test_a_folder_that_is_not_empty_is_not_written_to_without_force(folder):
    folder.file(weight())
    folder.out.mkdir()
    folder.convert()  # an empty one is
    before = (folder.out / "model.safetensors").read_bytes()
    assert "out exists and is not empty; --force writes into it\n" in folder.convert(code=5).stderr
    folder.convert("--force")
    assert (folder.out / "model.safetensors").read_bytes() == before


def test_force_takes_the_index_of_one_file_for_its_own(folder):
    """It was refused as no file of the checkpoint."""
    folder.file(weight())
    folder.index({name: "model.safetensors" for name in weight()})
    folder.convert()
    assert (folder.out / "model.safetensors.index.json").exists()
    before = {path.name: path.read_bytes() for path in folder.out.iterdir()}
    folder.convert("--force")
    assert {path.name: path.read_bytes() for path in folder.out.iterdir()} == before
    (folder.path / "model.safetensors.index.json").unlink()  # the output has no index then
    assert "has model.safetensors.index.json" in folder.convert("--force", code=5).stderr


def test_weights_of_another_checkpoint_are_never_left_in_the_output(folder):
    folder.file(weight())
    folder.out.mkdir()
    (folder.out / "model-00002-of-00002.safetensors").write_text("x")
    assert "model-00002-of-00002.safetensors" in folder.convert("--force", code=5).stderr
    assert os.listdir(folder.out) == ["model-00002-of-00002.safetensors"]


def test_the_input_itself_is_no_output(folder):
    folder.file(weight())
    assert "is the input itself" in dequant("convert", folder.path, "-o", folder.path, "--force",
                                            code=5).stderr


def test_a_dry_run_writes_nothing(folder):
    folder.file(weight())
    report = json.loads(folder.convert("--dry-run", "--json").stdout)
    assert report["dry_run"] and len(report["converted"]) == 1 and not folder.out.exists()


def test_tensors_that_are_not_selected_stay_quantized(folder):
    folder.file({**weight("a"), **weight("b")})
    report = json.loads(folder.convert("--include", "a.*", "--json").stdout)
    assert [left["name"] for left in report["left"]] == ["b.weight"]
    assert {name: t[0] for name, t in tensors(folder.out).items()} == {
        "a.weight": "BF16", "b.weight": "F8_E4M3", "b.weight_scale_inv": "F32"}
    assert json.loads((folder.out / "config.json").read_text()) == CONFIG
    folder.out.rename(folder.out.with_name("other"))
    folder.refused(4, "b.weight", options=["--include", "a.*", "--require-float"])


def test_files_of_a_linked_folder_were_neither_copied_nor_listed(folder):
    folder.file(weight())
    (folder.path / "real").mkdir()
    (folder.path / "real" / "spiece.model").write_text("model")
    (folder.path / "tokenizer").symlink_to("real")
    report = json.loads(folder.convert("--json").stdout)
    assert report["files_copied"] == ["real/spiece.model"]
    assert report["files_left_out"] == ["tokenizer"]


@pytest.mark.parametrize("options", [["-T1"], ["-T2"], ["-T5"], ["--mem", "1"]])
def test_the_same_bytes_whatever_the_threads_and_the_memory(folder, options):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 126, (1000, 900)).astype(np.uint8)
    folder.file({"w.weight": ("F8_E4M3", codes),
                 "w.weight_scale_inv": ("F32", rng.uniform(0, 1, (8, 8)).astype(np.float32))})
    folder.convert()
    before = (folder.out / "model.safetensors").read_bytes()
    folder.convert("--force", *options)
    assert (folder.out / "model.safetensors").read_bytes() == before


def test_extract_and_diff_know_dense_names(folder, tmp_path):
    folder.file(weight())
    folder.convert("--dtype", "float32")
    dequant("extract", folder.path, "w.weight", "--dtype", "float32", "-o", tmp_path / "w.npy")
    y = np.load(tmp_path / "w.npy")
    assert y.shape == (8, 8) and (y.view(np.uint32).ravel() == tensors(
        folder.out)["w.weight"][2]).all()
    dequant("diff", folder.out, folder.path, code=0)

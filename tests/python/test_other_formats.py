"""A file of another format gets a sentence that says what it looks like and what is read; a damaged
model stays a damaged model."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import zipfile

import numpy as np
import pytest

from support import EXAMPLES, dequant


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def npz():
    out = io.BytesIO()
    np.savez(out, weight=np.arange(3))
    return out.getvalue()


def npy():
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


LFS = (b"version https://git-lfs.github.com/spec/v1\n"
       b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n")
MODEL = (EXAMPLES / "digits_qdq_int4.onnx").read_bytes()

FORMATS = {
    "model.ort": (struct.pack("<I", 28) + b"ORTM" + bytes(40),
                  "an ONNX Runtime (ORT format) model"),
    "model.zip": (zipped(**{"model.onnx": MODEL}), "a zip archive"),
    "model.pt": (zipped(**{"archive/data.pkl": pickle.dumps({}), "archive/version": b"3\n"}),
                 "a PyTorch file"),
    "scripted.pt": (zipped(**{"m/data/0": bytes(4), "m/data.pkl": b"2"}), "a PyTorch file"),
    "exported.pt2": (zipped(**{"m/models/model.json": b"{}"}), "a PyTorch file"),
    "weights.npz": (npz(), "a zip archive of NumPy arrays"),
    "weights.npy": (npy(), "a NumPy array"),
    "pointer.onnx": (LFS, "a Git LFS pointer"),
    "model.onnx.gz": (gzip.compress(MODEL), "a gzip file"),
    "model.onnx.bz2": (bz2.compress(MODEL), "a bzip2 file"),
    "model.onnx.xz": (lzma.compress(MODEL), "an xz file"),
    "model.onnx.zst": (b"\x28\xb5\x2f\xfd\x04\x00", "a Zstandard file"),
    "model.onnx.7z": (b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(20), "a 7z archive"),
    "old.pth": (pickle.dumps({"weight": [1, 2, 3]}, protocol=2), "a Python pickle"),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file"),
    "error.html": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "an HTML page"),
    "model.xml": (b"<?xml version=\"1.0\"?>\n<model name=\"m\"/>", "an XML document"),
    "model.bin": (b"\x06\0\0\0\x0c\0WhisperSpec\0" + bytes(200), "a CTranslate2 model"),
    "model.pte": (struct.pack("<I", 48) + b"ET12eh00" + bytes(200), "an ExecuTorch program"),
    "model.trt": (b"ftrt" + bytes(400), "a TensorRT engine"),
    "model.mlmodel": (b"\x08\x04\x12\x20\x0a\x1e" + bytes(64), "a Core ML model"),
    "net.xml": (b"<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\"></net>",
                "an OpenVINO model"),
    "config.json": (b'{"architectures": ["Llama"]}', "JSON"),
    "model.textproto": (b"ir_version: 8\ngraph {\n  name: \"g\"\n}\n", "text"),
    "notes.txt": (("Größe: klein\n" * 400).encode(), "text"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_another_format_is_named_not_its_first_broken_byte(name, tmp_path):
    data, looks = FORMATS[name]
    source = tmp_path / name
    source.write_bytes(data)
    error = dequant("inspect", source, code=4).stderr
    assert f"{source} looks like {looks}" in error and "dequant reads ONNX models in " in error
    assert "wire type" not in error and "byte" not in error


def test_the_message_about_a_config_json_names_its_folder(tmp_path):
    source = tmp_path / "config.json"
    source.write_text('{"quantization_config": {"quant_method": "gptq"}}')
    error = dequant("convert", source, "-o", tmp_path / "out", code=4).stderr
    assert "safetensors files and folders of these: give the folder, not its config.json" in error


@pytest.mark.parametrize("arguments", [
    ["inspect"], ["inspect", "--json"], ["convert", "-o", "out"], ["extract", "--all", "-o", "out"],
    ["extract", "x", "-o", "out"], ["run", "-o", "out"]])
def test_every_command_that_reads_models_says_so(arguments, tmp_path):
    source = tmp_path / "model.ort"
    source.write_bytes(FORMATS["model.ort"][0])
    command, *rest = [tmp_path / a if a == "out" else a for a in arguments]
    assert "looks like an ONNX Runtime (ORT format) model" in dequant(
        command, source, *rest, code=4).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["model.ort"]


@pytest.mark.parametrize("name", ["o.safetensors", "o.gguf"])
def test_an_onnx_model_is_not_written_under_the_name_of_another_format(name, tmp_path):
    (tmp_path / "m.onnx").write_bytes(MODEL)
    error = dequant("convert", tmp_path / "m.onnx", "-o", tmp_path / name, code=2).stderr
    assert "an ONNX model becomes an ONNX model" in error and not (tmp_path / name).exists()


def test_a_pointer_of_git_lfs_comes_with_what_fetches_the_file(tmp_path):
    (tmp_path / "m.onnx").write_bytes(LFS)
    assert "git lfs pull" in dequant("convert", tmp_path / "m.onnx", "-o", tmp_path / "o",
                                     code=4).stderr


@pytest.mark.parametrize("data, words", [
    (b"", "it is empty"), (b"\0" * 64, "no ONNX model, or a damaged one"), (MODEL[:-7], "damaged"),
    (b"\x08\x0a" + MODEL[:999], "damaged"), (b"GG", "damaged"), (b"\xff\xfeno text", "damaged"),
    (struct.pack("<Q", 10**12) + b'{"w"', "damaged")])
def test_what_looks_like_nothing_known_is_malformed(data, words, tmp_path):
    (tmp_path / "m.onnx").write_bytes(data)
    error = dequant("inspect", tmp_path / "m.onnx", code=3).stderr
    assert words in error and "looks like" not in error


def test_a_model_is_a_model_whatever_its_name(tmp_path):
    (tmp_path / "m.gguf").write_bytes(MODEL)
    assert "2 dequantizations, 2 of constants" in dequant("inspect", tmp_path / "m.gguf").stdout


@pytest.mark.parametrize("threads", ["100000", "2147483647"])
def test_more_threads_than_processors_are_all_of_them(threads, tmp_path):
    source = EXAMPLES / "digits_qdq_int4.onnx"
    dequant("convert", source, "-o", tmp_path / "one.onnx", "-q", "-T", "1")
    dequant("convert", source, "-o", tmp_path / "all.onnx", "-q", "-T", threads)
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "all.onnx").read_bytes()


@pytest.mark.parametrize("threads", ["-1", "1.5", "two", "4294967296"])
def test_a_number_of_threads_that_is_none_is_refused(threads, tmp_path):
    source = EXAMPLES / "digits_qdq_int4.onnx"
    dequant("convert", source, "-o", tmp_path / "out.onnx", "-T", threads, code=2)
    assert not list(tmp_path.iterdir())


# Core ML is known by the name; fewer bytes than those of a length are no file of any format.
@pytest.mark.parametrize("name", [name for name, (data, _) in FORMATS.items()
                                  if not name.endswith(".mlmodel") and len(data) > 8])
@pytest.mark.parametrize("folder", [False, True])
def test_another_format_named_safetensors_had_a_length_of_a_header(name, folder, tmp_path):
    data, looks = FORMATS[name]
    source = tmp_path / "model.safetensors"
    source.write_bytes(data)
    if folder:
        (tmp_path / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {"a": source.name}}))
    error = dequant("inspect", tmp_path if folder else source, code=4).stderr
    assert f"model.safetensors looks like {looks}" in error and "header length" not in error


def test_a_cut_safetensors_file_whose_length_is_a_magic_number_stays_one(tmp_path):
    source = tmp_path / "cut.safetensors"
    source.write_bytes(struct.pack("<Q", 0x0280) + b'{"a":')  # a pickle begins with \x80\x02
    assert "header length 640 in a file with 5 bytes" in dequant("inspect", source, code=3).stderr


def test_a_pipeline_of_diffusers_comes_with_where_its_models_are(tmp_path):
    (tmp_path / "model_index.json").write_text('{"_class_name": "FluxPipeline"}')
    (tmp_path / "transformer").mkdir()
    error = dequant("inspect", tmp_path, code=4).stderr
    assert "a pipeline of diffusers" in error and "such as transformer" in error


def test_a_folder_of_another_format_is_said_to_have_its_file(tmp_path):
    (tmp_path / "genai_config.json").write_text("{}")
    (tmp_path / "model.onnx").write_bytes(MODEL)
    error = dequant("inspect", tmp_path, code=5).stderr
    assert "it has model.onnx: give the path of that file" in error


def test_a_package_of_core_ml_is_called_one(tmp_path):
    package = tmp_path / "m.mlpackage"
    package.mkdir()
    (package / "Manifest.json").write_text("{}")
    assert "looks like a Core ML model" in dequant("inspect", package, code=4).stderr


def test_a_folder_of_pickles_is_said_to_have_these(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(FORMATS["model.pt"][0])
    error = dequant("inspect", tmp_path, code=4).stderr
    assert "no .safetensors file in this folder" in error
    assert "dequant does not read pytorch_model.bin" in error

"""Conversions of every kind of input, to be carried out in shares."""

import pytest

import shares_support
from shares_support import files, share
from support import dequant

INPUTS = {"folder": (shares_support.checkpoint, "in", "out"),
          "file": (lambda path: shares_support.checkpoint(path, 1) / "model.safetensors", "in",
                   "out.safetensors"),
          "gguf": (shares_support.gguf_file, "in.gguf", "out.gguf"),
          "gguf to safetensors": (shares_support.gguf_file, "in.gguf", "out.safetensors"),
          "gguf to a folder": (shares_support.gguf_file, "in.gguf", "out"),
          "onnx": (shares_support.onnx_file, "in.onnx", "out.onnx"),
          "onnx with data beside it": (lambda path: shares_support.onnx_file(path, True), "in.onnx",
                                       "out.onnx"),
          "tflite": (shares_support.tflite_file, "in.tflite", "out.safetensors")}
OPTIONS = {"folder": ("--dtype", "float32"), "onnx": ("--external-data",),
           "gguf to a folder": ("--max-shard-size", "50000")}


class Case:
    def __init__(self, folder, kind):
        make, name, output = INPUTS[kind]
        if kind == "tflite" and shares_support.tflite_support.MISSING:
            pytest.skip(shares_support.tflite_support.MISSING)
        self.options = OPTIONS.get(kind, ())
        self.source = make(folder / name)
        (folder / "one").mkdir()
        (folder / "many").mkdir()
        self.one, self.out = folder / "one" / output, folder / "many" / output
        dequant("convert", self.source, "-o", self.one, *self.options)
        self.want = files(self.one)

    def share(self, number, *more, **code):
        return share(self.source, self.out, number, *self.options, *more, **code)

    def finalize(self, *options, code=0):
        return dequant("finalize", self.out, *options, code=code)

    def work(self):
        """The folder of the records."""
        inside = self.out / ".dequant-tasks"
        return inside if inside.exists() else self.out.parent / f"{self.out.name}.dequant-tasks"

    def is_right(self):
        assert files(self.out) == self.want
        assert not self.work().exists()
        assert {p.name for p in self.out.parent.iterdir()} == {
            p.name for p in self.one.parent.iterdir()}


@pytest.fixture(name="case", params=INPUTS)
def fixture_case(request, tmp_path):
    return Case(tmp_path, request.param)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Case(tmp_path, "folder")


def records(case):
    return sorted(next(case.work().glob("records-*")).iterdir())


def data(case):
    return sorted(next(case.work().glob("data-*")).iterdir())

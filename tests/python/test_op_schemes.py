"""`dequant op` of schemes of checkpoints: tensors and options by the producers' names."""

import json

import numpy as np
from gguf import GGMLQuantizationType, quants

import gguf_support
from support import dequant
from test_verify import e4m3


def saved(folder, **arrays):
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def test_fp8_in_blocks(tmp_path):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 126, (130, 200)).astype(np.uint8)
    scale = rng.uniform(0, 1, (2, 2)).astype(np.float32)
    saved(tmp_path, w=codes, s=scale)
    report = json.loads(dequant("op", "fp8", "--weight", "w.npy", "--weight-type", "float8e4m3fn",
                                "--weight-scale", "s.npy", "--block", "128,128", "-o", "y.npy",
                                "--json", cwd=tmp_path).stdout)
    assert [t["name"] for t in report["inputs"]] == ["weight", "weight_scale"]
    spread = scale[np.arange(130)[:, None] // 128, np.arange(200)[None] // 128]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), e4m3(codes) * spread)


def test_mx_of_bytes(tmp_path):
    codes = np.arange(32, dtype=np.uint8).reshape(2, 16)
    saved(tmp_path, w=codes, s=np.array([[127], [128]], np.uint8))
    dequant("op", "mx", "--weight", "w.npy", "--scale", "s.npy", "-o", "y.npy", "--dtype",
            "float16", cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.shape == (2, 32) and y.dtype == np.float16
    assert y[0, :8].tolist() == [0, 0, 0.5, 0, 1, 0, 1.5, 0]
    assert y[1, 1] == 2 * 0.5  # byte 16: the high code is 1


def test_nvfp4_of_modelopt_needs_no_table(tmp_path):
    codes = np.arange(8, dtype=np.uint8).reshape(1, 8) * 17 + 8 * 16  # low codes 0 to 7, high + 8
    saved(tmp_path, w=codes, s=np.array([[0x40]], np.uint8), g=np.array(0.5, np.float32))
    dequant("op", "modelopt", "--weight", "w.npy", "--weight-scale", "s.npy", "--weight-scale-type",
            "float8e4m3fn", "--weight-scale-2", "g.npy", "-o", "y.npy", cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")[0]  # 2 * 0.5 times the values of the codes
    assert y[::2].tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert (-y[1::2]).tolist() == y[::2].tolist() and not np.signbit(y[1])  # code 8 is +0


def test_blocks_of_gguf(tmp_path):
    rng = np.random.default_rng(3)
    blocks = rng.integers(0, 256, (3, 2 * 36), np.uint8)  # two blocks of NVFP4 in a row
    want = quants.dequantize(blocks, GGMLQuantizationType.NVFP4) * np.float32(0.37)
    saved(tmp_path, w=blocks, flat=blocks.reshape(-1), s=np.array([0.37], np.float32))
    report = json.loads(dequant("op", "gguf", "--data", "w.npy", "--type", "NVFP4", "--scale",
                                "s.npy", "-o", "y.npy", "--json", cwd=tmp_path).stdout)
    assert report["plan"] == "NVFP4[1, 384, 1] in blocks of 64, times tensor scale -> float32"
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), want)
    dequant("op", "gguf", "--data", "flat.npy", "--type", 40, "--shape", "3,2,64", "--scale",
            "s.npy", "-o", "z.npy", "--dtype", "float16", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"),
                                  want.astype(np.float16).reshape(3, 2, 64))


def test_raw_blocks_of_a_file_give_its_floats(tmp_path):
    data = np.random.default_rng(4).integers(0, 120, (2, 3, 210), np.uint8)
    gguf_support.write(tmp_path / "m.gguf", {"w": ("Q6_K", data)})
    dequant("extract", "m.gguf", "w", "--raw", "-o", "raw.npy", cwd=tmp_path)
    dequant("extract", "m.gguf", "w", "-o", "floats.npy", cwd=tmp_path)
    dequant("op", "gguf", "--data", "raw.npy", "--type", "Q6_K", "-o", "y.npy", cwd=tmp_path)
    assert (tmp_path / "y.npy").read_bytes() == (tmp_path / "floats.npy").read_bytes()


def test_a_type_of_gguf_that_is_none_is_named(tmp_path):
    saved(tmp_path, w=np.zeros(144, np.uint8))
    for kind, words in [("Q4_0_4_4", "type: Q4_0_4_4, number 31, was removed from GGUF; no tool "
                                     "reads it"),
                        ("F16", "type: F16, number 1, has plain numbers, not blocks"),
                        ("Q9_K", "type: \"Q9_K\" is no type of GGUF")]:
        error = dequant("op", "gguf", "--data", "w.npy", "--type", kind, "-o", "y.npy",
                        cwd=tmp_path, code=4).stderr
        assert error == f"dequant: error: gguf: {words}\n"


def test_what_is_wrong_names_the_scheme(tmp_path):
    saved(tmp_path, w=np.zeros((2, 3), np.uint8), s=np.ones((3,), np.float32))
    fp8 = ["op", "fp8", "--weight", "w.npy", "--weight-type", "float8e4m3fn", "-o", "y.npy"]
    error = dequant(*fp8, "--weight-scale", "s.npy", cwd=tmp_path, code=2).stderr
    assert error == ("dequant: error: fp8: weight_scale: shape [3] has rank 1 where weight, "
                     "[2, 3], has rank 2\n")
    assert "--weight-scale is required" in dequant(*fp8, cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "y.npy").exists()


def test_the_names_of_producers_were_no_options(tmp_path):
    saved(tmp_path, w=np.arange(8, dtype=np.uint8).reshape(2, 4), s=np.ones((4, 1), np.float32),
          z=np.zeros((4, 1), np.float32))
    given = {"W_q": "w.npy", "scale": "s.npy", "zero": "z.npy", "bits": "4", "group_size": "4",
             "shape": "4,4"}
    floats = []
    for mark in ("_", "-"):
        options = [text for name, value in given.items()
                   for text in (f"--{name.replace('_', mark)}", value)]
        dequant("op", "hqq", *options, "-o", "y.npy", "-f", cwd=tmp_path)
        floats.append(np.load(tmp_path / "y.npy").tobytes())
    assert floats[0] == floats[1]


def test_the_help_of_a_scheme_had_examples_of_other_dialects():
    text = dequant("op", "gptq", "--help").stdout
    assert "--g-idx" in text and "--g_idx" in text
    assert "Examples" not in text and "tensorflow" not in text

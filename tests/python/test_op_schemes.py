"""`dequant op` of schemes of checkpoints: tensors and options by the producers' names."""

import json

import numpy as np

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


def test_what_is_wrong_names_the_scheme(tmp_path):
    saved(tmp_path, w=np.zeros((2, 3), np.uint8), s=np.ones((3,), np.float32))
    fp8 = ["op", "fp8", "--weight", "w.npy", "--weight-type", "float8e4m3fn", "-o", "y.npy"]
    error = dequant(*fp8, "--weight-scale", "s.npy", cwd=tmp_path, code=2).stderr
    assert error == ("dequant: error: fp8: weight_scale: shape [3] has rank 1 where weight, "
                     "[2, 3], has rank 2\n")
    assert "--weight-scale is required" in dequant(*fp8, cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "y.npy").exists()

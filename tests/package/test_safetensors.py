"""dequant.safetensors beside the safetensors package."""

import json
import os
import struct

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy

import dequant
from dequant.safetensors import load_file, safe_open

RNG = np.random.default_rng(11)
CODES = RNG.integers(0, 120, (4, 8)).astype(np.uint8).view(ml_dtypes.float8_e4m3fn)
SCALE = np.float32([[0.5], [2], [1], [0.25]])
PLAIN = {"b": RNG.standard_normal((3, 5)).astype(np.float32), "a": np.arange(6).reshape(2, 3),
         "half": np.float16([1, 2, 3]), "truth": np.array([True, False]),
         "none": np.zeros((0, 4), np.float32), "scalar": np.array(7, np.int32)}


@pytest.fixture(name="plain")
def fixture_plain(tmp_path):
    safetensors.numpy.save_file(PLAIN, tmp_path / "plain.safetensors", {"who": "me"})
    return tmp_path / "plain.safetensors"


@pytest.fixture(name="quantized")
def fixture_quantized(tmp_path):
    file = tmp_path / "quantized.safetensors"
    safetensors.numpy.save_file({"w.weight": CODES, "w.weight_scale": SCALE,
                                 "norm": PLAIN["b"]}, file)
    return file


def test_a_plain_file_reads_as_the_package_reads_it(plain):
    with safe_open(plain, framework="np") as ours, \
            safetensors.safe_open(plain, framework="np") as theirs:
        assert ours.keys() == sorted(theirs.keys()) and ours.metadata() == theirs.metadata()
        for name in theirs.keys():
            a, b = ours.get_tensor(name), theirs.get_tensor(name)
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_array_equal(a, b)
            assert ours.get_slice(name).get_shape() == theirs.get_slice(name).get_shape()
            assert ours.get_slice(name).get_dtype() == theirs.get_slice(name).get_dtype()
        np.testing.assert_array_equal(ours.get_slice("b")[1:, ::2], PLAIN["b"][1:, ::2])
    assert load_file(plain, framework="np").keys() == safetensors.numpy.load_file(plain).keys()


def test_tensors_that_nothing_dequantizes_come_as_stored_where_the_caller_wants_that(tmp_path):
    file = tmp_path / "codes.safetensors"
    codes = np.arange(6, dtype=np.int8).reshape(2, 3)
    safetensors.numpy.save_file({"v.weight": codes, "norm": PLAIN["b"]}, file)
    with pytest.raises(dequant.UnsupportedError, match="v.weight of type I8"):
        load_file(file, framework="np")
    found = load_file(file, framework="np", keep_unknown=True)
    np.testing.assert_array_equal(found["v.weight"], codes, strict=True)
    with pytest.raises(dequant.UnsupportedError, match="v.weight of type I8"):
        dequant.open(file)
    with dequant.open(file, keep_unknown=True) as model:
        assert list(model) == []


def test_get_tensors_wanted_names(plain, quantized):
    with safe_open(plain, "np") as ours, safetensors.safe_open(plain, "np") as theirs:
        found, wanted = ours.get_tensors(), theirs.get_tensors()
        assert list(found) == list(wanted) == ours.offset_keys() == theirs.offset_keys()
        for name, tensor in wanted.items():
            assert found[name].dtype == tensor.dtype
            np.testing.assert_array_equal(found[name], tensor)
        assert list(ours.get_tensors(["scalar", "a"])) == ["scalar", "a"]
        assert ours.get_tensors([]) == {}
    with safe_open(quantized, "np") as file:
        dense = file.get_tensors()
        assert list(dense) == file.offset_keys() == ["w.weight", "norm"]
        np.testing.assert_array_equal(dense["w.weight"], CODES.astype(np.float32) * SCALE)


def test_load_file_sorted_the_names_where_the_package_has_the_order_of_the_file(plain):
    wanted = list(safetensors.numpy.load_file(plain))
    assert wanted != sorted(wanted) and list(load_file(plain, framework="np")) == wanted


def test_tensors_came_from_a_closed_file(plain, quantized):
    calls = {"keys": [], "offset_keys": [], "metadata": [], "get_tensor": ["norm"],
             "get_tensors": [], "get_slice": ["norm"]}
    with safe_open(quantized, "np") as file, safetensors.safe_open(plain, "np") as theirs:
        slices = file.get_slice("norm"), file.get_slice("w.weight")
    for name, arguments in [*calls.items(), ("get_tensor", ["w.weight"]), ("get_tensors", [[]])]:
        with pytest.raises(ValueError, match=r"quantized\.safetensors: the file is closed"):
            getattr(file, name)(*arguments)
    for name, arguments in calls.items():
        with pytest.raises(safetensors.SafetensorError, match="File is closed"):
            getattr(theirs, name)(*arguments)
    for part in slices:
        assert part.get_shape() and part.get_dtype() == "F32"
        with pytest.raises(ValueError, match="the file is closed"):
            part[:1]


def test_a_quantized_file_reads_dense(quantized):
    want = CODES.astype(np.float32) * SCALE
    with safe_open(quantized, "np") as file:
        assert file.keys() == ["norm", "w.weight"] and file.metadata() is None
        np.testing.assert_array_equal(file.get_tensor("w.weight"), want)
        np.testing.assert_array_equal(file.get_tensor("norm"), PLAIN["b"])
        part = file.get_slice("w.weight")
        assert (part.get_dtype(), part.get_shape()) == ("F32", [4, 8])
        np.testing.assert_array_equal(part[2:, :3], want[2:, :3])
    with safe_open(quantized, "np", dtype="bfloat16") as file:
        assert file.get_slice("w.weight").get_dtype() == "BF16"
        np.testing.assert_array_equal(file.get_tensor("w.weight"),
                                      want.astype(ml_dtypes.bfloat16))


def test_a_folder_reads_as_one_file(tmp_path, quantized):
    folder = tmp_path / "folder"
    folder.mkdir()
    quantized.rename(folder / "model.safetensors")
    tensors = load_file(folder, framework="np")
    np.testing.assert_array_equal(tensors["w.weight"], CODES.astype(np.float32) * SCALE)
    with safe_open(folder, "np") as file:
        assert file.metadata() is None and file.offset_keys() == ["w.weight", "norm"]


def test_an_index_gave_its_own_text_as_weights(tmp_path):
    shards = {f"model-0000{i}-of-00002.safetensors":
              {f"{i}.weight": CODES, f"{i}.weight_scale": SCALE, f"{i}.norm": PLAIN["b"] + i}
              for i in (1, 2)}
    for file, tensors in shards.items():
        safetensors.numpy.save_file(tensors, tmp_path / file, {"who": file})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": {
        name: file for file, tensors in shards.items() for name in tensors}}, indent=2))
    found = load_file(index, framework="np")
    assert list(found) == ["1.weight", "2.weight", "1.norm", "2.norm"]
    for i in (1, 2):
        np.testing.assert_array_equal(found[f"{i}.norm"], PLAIN["b"] + i)
        np.testing.assert_array_equal(found[f"{i}.weight"], CODES.astype(np.float32) * SCALE)
    with safe_open(index, "np") as file:
        assert file.metadata() is None


def with_header(path, header, data=b""):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.mark.parametrize("header", [{}, {"__metadata__": {}}, {"__metadata__": None},
                                    {"__metadata__": {"\U0001f600": "\x7f", "": "x"}}])
def test_metadata_are_those_that_the_package_reads(header, tmp_path):
    path = with_header(tmp_path / "m.safetensors", header)
    with safe_open(path, "np") as ours, safetensors.safe_open(path, "np") as theirs:
        assert ours.metadata() == theirs.metadata()
        if ours.metadata() is not None:
            ours.metadata()["new"] = "text"  # of the caller alone
            assert ours.metadata() == theirs.metadata()


@pytest.mark.parametrize("moves", ["replaced", "removed", "another folder"])
def test_tensors_came_from_the_file_that_has_the_path_later(moves, tmp_path, monkeypatch):
    for i, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        safetensors.numpy.save_file({"w.weight": CODES, "w.weight_scale": SCALE,
                                     "norm": PLAIN["b"] + i}, tmp_path / folder / "m.safetensors",
                                    {"who": folder})
    monkeypatch.chdir(tmp_path / "a")
    with safe_open("m.safetensors", "np") as file:
        if moves == "replaced":
            os.replace("../b/m.safetensors", "m.safetensors")
        elif moves == "removed":
            os.remove("m.safetensors")
        else:
            os.chdir("../b")
        np.testing.assert_array_equal(file.get_tensor("norm"), PLAIN["b"])
        np.testing.assert_array_equal(file.get_tensor("w.weight"),
                                      CODES.astype(np.float32) * SCALE)
        assert file.metadata() == {"who": "a"}


@pytest.mark.parametrize("name", ["norm", "w.weight"])
def test_a_stored_tensor_of_a_file_that_changed_was_given(name, quantized):
    with safe_open(quantized, "np") as file:
        time = os.stat(quantized).st_mtime_ns + 10**9
        os.utime(quantized, ns=(time, time))
        with pytest.raises(ValueError, match=r"quantized\.safetensors changed"):
            file.get_tensor(name)


TYPES = {"F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
         "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
         "F4": "float4_e2m1fn_x2"}


def stored(tmp_path, dtype, shape=(4, 6)):
    """A file of 24 codes, and their bytes."""
    data = bytes(range(12 if dtype == "F4" else 24))
    return with_header(tmp_path / "m.safetensors", {"x": {
        "dtype": dtype, "shape": list(shape), "data_offsets": [0, len(data)]}}, data), data


@pytest.mark.parametrize("dtype", TYPES)
def test_codes_of_types_that_numpy_lacks_did_not_come_as_they_are_stored(dtype, tmp_path):
    path, data = stored(tmp_path, dtype)
    with safe_open(path, "np", keep_unknown=True) as file:
        assert (file.get_slice("x").get_dtype(), file.get_slice("x").get_shape()) == (dtype, [4, 6])
        if dtype == "F4":
            with pytest.raises(ValueError, match="^x: numpy has no dtype for F4"):
                file.get_tensor("x")
            return
        found = file.get_tensor("x")
    assert found.dtype == getattr(ml_dtypes, TYPES[dtype]) and found.shape == (4, 6)
    assert found.tobytes() == data


@pytest.mark.parametrize("dtype", TYPES)
def test_torch_has_all_codes_as_they_are_stored(dtype, tmp_path, torch):
    path, data = stored(tmp_path, dtype)
    with safe_open(path, "pt", keep_unknown=True) as ours, \
            safetensors.safe_open(path, "pt") as theirs:
        found, wanted = ours.get_tensor("x"), theirs.get_tensor("x")
        assert ours.get_slice("x").get_shape() == theirs.get_slice("x").get_shape()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.view(torch.uint8).numpy().tobytes() == data
    path, _ = stored(tmp_path, "F4", (8, 3))
    with safe_open(path, "pt", keep_unknown=True) as file, \
            pytest.raises(ValueError, match=r"^x: F4 of shape \[8, 3\], and torch has two codes"):
        file.get_tensor("x")


@pytest.mark.parametrize("dtype", ["F6_E2M3", "F6_E3M2"])
def test_codes_of_six_bits_are_of_no_dtype(dtype, tmp_path):
    path = with_header(tmp_path / "m.safetensors", {"x": {
        "dtype": dtype, "shape": [4], "data_offsets": [0, 3]}}, b"abc")
    with safe_open(path, "np", keep_unknown=True) as file, \
            pytest.raises(ValueError, match=f"^x: numpy has no dtype for {dtype}"):
        file.get_tensor("x")


@pytest.mark.parametrize("dtype, name", [
    ("f2", "F16"), ("half", "F16"), (np.float16, "F16"), (np.dtype("float32"), "F32"),
    (ml_dtypes.bfloat16, "BF16"), ("bfloat16", "BF16"), (None, "F32")])
def test_the_type_of_a_slice_was_a_key_error_for_types_of_numpy(dtype, name, quantized):
    with safe_open(quantized, "np", dtype=dtype) as file:
        assert file.get_slice("w.weight").get_dtype() == name
        wanted = {"F16": np.float16, "F32": np.float32, "BF16": ml_dtypes.bfloat16}[name]
        assert file.get_tensor("w.weight").dtype == wanted


@pytest.mark.parametrize("dtype", ["float64", "torch.float16", "int8", 3, np.int32])
def test_a_wrong_dtype_was_not_refused_when_the_file_was_opened(dtype, quantized):
    with pytest.raises(TypeError, match="^dtype: "):
        safe_open(quantized, "np", dtype=dtype)


def test_convert_writes_what_safe_open_reads(tmp_path, quantized):
    folder, out = tmp_path / "folder", tmp_path / "out"
    folder.mkdir()
    quantized.rename(folder / "model.safetensors")
    report = dequant.convert(folder, out, dtype="float16", others="same", max_shard_size=70,
                             audit=tmp_path / "audit")
    assert [tensor["name"] for tensor in report.converted] == ["w.weight"]
    assert report.dropped == () and "1 tensors that are not" in report.warnings[0]
    assert len((tmp_path / "audit").read_text().splitlines()) == 2
    assert len(list(out.glob("*.safetensors"))) == 2
    with safe_open(out, "np") as dense, safe_open(folder, "np", dtype="float16") as stored:
        np.testing.assert_array_equal(dense.get_tensor("w.weight"), stored.get_tensor("w.weight"))
        np.testing.assert_array_equal(dense.get_tensor("norm"), PLAIN["b"].astype(np.float16))
    with pytest.raises(FileExistsError):
        dequant.convert(folder, out)
    with pytest.raises(OSError, match="there is no unfinished conversion"):
        dequant.convert(folder, out, resume=True)
    with pytest.raises(OSError, match="is no file of this checkpoint"):
        dequant.convert(folder, out, overwrite=True, shards="as-input")


def test_what_cannot_be_read_is_said(tmp_path, plain, quantized):
    with pytest.raises(ValueError, match="'flax' is none of"):
        safe_open(plain, "flax")
    with pytest.raises(ValueError, match="on the cpu"):
        safe_open(plain, "np", "cuda:0")
    with pytest.raises(FileNotFoundError):
        safe_open(tmp_path / "missing", "np")
    with safe_open(plain, "np") as file:
        for read in (file.get_tensor, file.get_slice):
            with pytest.raises(KeyError, match="there is no tensor 'x'"):
                read("x")
    with safe_open(quantized, "np") as file:
        pass
    with pytest.raises(ValueError, match="closed"):
        file.get_tensor("w.weight")
    safetensors.numpy.save_file({"w.weight": CODES.view(np.uint8)}, quantized)
    with pytest.raises(dequant.UnsupportedError, match=r"w\.weight"):
        safe_open(quantized, "np")


def test_a_tensor_that_is_not_read_is_not_left_out_in_silence(tmp_path):
    path = tmp_path / "m.safetensors"
    marker = np.frombuffer(b'{"format": "nvfp4"}', np.uint8)
    safetensors.numpy.save_file({"w.weight": np.zeros((4, 8), np.uint8), "w.comfy_quant": marker,
                                 "norm": PLAIN["b"]}, path)
    with pytest.raises(dequant.UnsupportedError, match="w.weight: .*nvfp4.* keep_unknown=True"):
        safe_open(path, "np")
    with pytest.raises(dequant.UnsupportedError, match="nvfp4"):
        load_file(path, framework="np")
    found = load_file(path, framework="np", keep_unknown=True)
    assert found.keys() == {"w.weight", "w.comfy_quant", "norm"}
    with dequant.open(path) as model:
        assert not list(model)


def test_the_metadata_of_a_file_were_lost(tmp_path):
    said = {"config": "{}", "format": "mlx"}
    source = tmp_path / "said.safetensors"
    safetensors.numpy.save_file({"w.weight": CODES, "w.weight_scale": SCALE}, source, said)
    dequant.convert(source, tmp_path / "out.safetensors")
    with safetensors.safe_open(tmp_path / "out.safetensors", "np") as file:
        assert file.metadata() == said

"""`dequant convert` on checkpoints that the producers' own code wrote: every tensor has the bits
that the producer's own dequantizer gives, and all other tensors are as they were."""

import json
import math

import numpy as np
import pytest

from support import dequant

#: Bytes of a number of each type.
SIZES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2}
#: The bits of infinity: numbers with larger magnitudes are NaN, which are compared as a class.
INFINITY = {"F32": 0x7F800000, "F16": 0x7C00, "BF16": 0x7F80}

#: Folders whose schemes are read.
FOLDERS = [
    "deepseek_v4_fp4_experts",
    "fp8_block_128x128",
    "fp8_block_64x32_bf16scale",
    "fp8_block_ue8m0_scale_inv",
    "fp8_per_tensor_scale_inv_static",
    "mistral_qscale_fp8",
]
#: Files of expected tensors -> the --dtype that they have.
EXPECTED = {"expected": None, "expected_f32": "float32", "expected_f16": "float16"}


def tensors(path):
    """Name -> (type, shape, numbers as unsigned integers) of a file or of all files of a folder."""
    found = {}
    for file in sorted(path.glob("*.safetensors")) if path.is_dir() else [path]:
        data = file.read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        header.pop("__metadata__", None)
        for name, entry in header.items():
            assert name not in found
            begin, end = (start + offset for offset in entry["data_offsets"])
            size = SIZES.get(entry["dtype"], 1)
            assert end - begin == math.prod(entry["shape"]) * size
            found[name] = (entry["dtype"], entry["shape"],
                           np.frombuffer(data[begin:end], f"<u{size}"))
    return found


def assert_same(got, expected, undefined):
    assert got.keys() == expected.keys()
    for name, (dtype, shape, numbers) in expected.items():
        assert got[name][:2] == (dtype, shape), name
        differ = got[name][2] != numbers
        if dtype in INFINITY:
            magnitude = (1 << (8 * numbers.itemsize - 1)) - 1
            differ &= ((got[name][2] & magnitude) <= INFINITY[dtype]) | (
                (numbers & magnitude) <= INFINITY[dtype])
        differ[undefined.get(name, [])] = False
        assert not differ.any(), f"{name}: {differ.sum()} of {differ.size}"


def cases():
    return [(folder, file) for folder in FOLDERS for file in EXPECTED]


@pytest.mark.parametrize(("folder", "file"), cases())
def test_a_checkpoint_has_the_floats_of_its_producer(shared, folder, file, tmp_path):
    source = shared / "checkpoints" / folder
    if not (source / f"{file}.safetensors").exists():
        pytest.skip("the producer does not give this type")
    # The folders have expected tensors beside the checkpoint, which are no part of it.
    checkpoint = tmp_path / "in"
    checkpoint.mkdir()
    for path in source.iterdir():
        if path.name.startswith("model") or path.suffix == ".json":
            (checkpoint / path.name).symlink_to(path.resolve())
    dtype = [] if EXPECTED[file] is None else ["--dtype", EXPECTED[file]]
    done = dequant("convert", checkpoint, "-o", tmp_path / "out", "--json", *dtype)
    report = json.loads(done.stdout)
    got = tensors(tmp_path / "out")
    expected = tensors(source / f"{file}.safetensors")
    golden = json.loads((source / "golden.json").read_text())
    names = golden["dequantized_tensors"].keys()
    assert {t["name"] for t in report["converted"]} == set(names)
    if file != "expected":  # has the dequantized tensors only
        got = {name: tensor for name, tensor in got.items() if name in names}
    undefined = source / "undefined.json"
    assert_same(got, expected, json.loads(undefined.read_text()) if undefined.exists() else {})

"""`dequant convert` on checkpoints that the producers' own code wrote: every tensor has the bits
that the producer's own dequantizer gives, and all other tensors are as they were."""

import json
import math

import numpy as np
import pytest

from support import dequant

#: Bytes of a number of each type.
SIZES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2}
#: The bits of infinity: numbers with larger magnitudes are NaN, which are compared as a class.
INFINITY = {"F32": 0x7F800000, "F16": 0x7C00, "BF16": 0x7F80}

#: Folders whose schemes are read.
FOLDERS = [
    "awq_gemm_g128_bias",
    "awq_gemm_g32",
    "bnb_fp4",
    "bnb_fp4_double",
    "bnb_int8",
    "bnb_nf4",
    "bnb_nf4_bs128_f32",
    "bnb_nf4_double",
    "bnb_nf4_partial_block",
    "ct009_w4a16_asym_int8zp",
    "ct017_oddbits_channel_narrow",
    "ct017_oddbits_g32",
    "ct017_w4a16_g32_actorder_asym",
    "ct018_w4a16_g32_actorder_asym",
    "ct018_w4a16_g32_actorder_sym",
    "ct_embed_and_head_w8",
    "ct_fp8_block128",
    "ct_fp8_channel_dynamic",
    "ct_fp8_channel_f32scale",
    "ct_fp8_tensor_static",
    "ct_int8_w8a8_channel",
    "ct_int8_w8a8_channel_asym",
    "ct_int8_w8a8_tensor",
    "ct_mixed_fp8_nvfp4",
    "ct_mxfp4_f32model",
    "ct_mxfp4a16",
    "ct_mxfp6a16",
    "ct_mxfp8a16",
    "ct_naive_fp8_group",
    "ct_nvfp4",
    "ct_nvfp4a16",
    "ct_oddbits_channel_narrow",
    "ct_oddbits_g32",
    "ct_w4a16_channel_asym",
    "ct_w4a16_g128_sym",
    "ct_w4a16_g32_asym",
    "ct_w4a16_g32_asym_f32",
    "ct_w4a16_g32_sym_f16",
    "ct_w4a16_g64_sym",
    "ct_w8a16_channel_sym",
    "ct_w8a16_g32_asym",
    "ctedge_mxfp4",
    "ctedge_mxfp6",
    "ctedge_mxfp8",
    "ctedge_nvfp4",
    "deepseek_v4_fp4_experts",
    "fp8_block_128x128",
    "fp8_block_64x32_bf16scale",
    "fp8_block_ue8m0_scale_inv",
    "fp8_per_tensor_scale_inv_static",
    "gptoss_mxfp4_hf",
    "gptoss_mxfp4_original",
    "gptq_p_w5_g32_asym",
    "gptq_p_w6_g32_asym",
    "gptq_p_w7_g32_asym",
    "gptq_v1_w2_asym_actorder",
    "gptq_v1_w2_g32_sym",
    "gptq_v1_w2_zero0_borrow",
    "gptq_v1_w3_asym_actorder",
    "gptq_v1_w3_g32_sym",
    "gptq_v1_w3_zero0_borrow",
    "gptq_v1_w4_asym_actorder",
    "gptq_v1_w4_channel_sym",
    "gptq_v1_w4_g128_actorder_bias",
    "gptq_v1_w4_g32_sym",
    "gptq_v1_w4_zero0_borrow",
    "gptq_v1_w8_asym_actorder",
    "gptq_v1_w8_g32_sym",
    "gptq_v1_w8_zero0_borrow",
    "gptq_v2_w2_g32_asym",
    "gptq_v2_w3_g32_asym",
    "gptq_v2_w4_g32_asym",
    "gptq_v2_w8_channel_asym",
    "gptq_v2_w8_g32_asym",
    "hqq_w1_g64_axis1",
    "hqq_w2_g64_axis1",
    "hqq_w3_g64_axis1",
    "hqq_w4_g64_axis0",
    "hqq_w4_g64_axis1",
    "hqq_w8_g64_axis1",
    "mistral_qscale_fp8",
    "mlx_affine_bf16",
    "mlx_affine_f16_mixed",
    "mlx_affine_f32",
    "mlx_mxfp4",
    "mlx_mxfp8",
    "mlx_nvfp4",
    "modelopt_fp8",
    "modelopt_fp8_block_2d",
    "modelopt_fp8_kvfp8",
    "modelopt_fp8_pc_pt",
    "modelopt_int8_sq",
    "modelopt_mxfp4",
    "modelopt_mxfp8",
    "modelopt_nvfp4",
    "modelopt_nvfp4_awq_lite",
    "modelopt_nvfp4_mlp_only",
    "modelopt_nvfp4_w4a16",
    "quanto_qfloat8",
    "quanto_qint2",
    "quanto_qint4",
    "quanto_qint8",
    "quark_fp8",
    "quark_int4_wo_32",
    "quark_int8",
    "quark_mxfp4",
    "quark_mxfp6_e2m3",
    "quark_mxfp6_e3m2",
    "quark_ptpc_fp8",
    "quark_uint4_wo_32",
    "torchao_float8_wo",
    "torchao_int8_wo",
    "torchao_intx_w3_axis",
    "torchao_intx_w4_g32",
]
#: Files of expected tensors -> the --dtype that they have; None: that of a conversion without it.
EXPECTED = {"expected": None, "expected_f32": "float32", "expected_f16": "float16",
            "expected_module_f16": None}
#: Beginnings of folders whose producer was told another type than that of the model.
TOLD = {"gptq_": "bfloat16", "bnb_int8": "float32", "ct_": "bfloat16"}
#: Tensors that the producer's own converter fails on.
MORE = {"ct_embed_and_head_w8": {"model.embed_tokens.weight"}}


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


def checkpoint(shared, folder, tmp_path):
    """A folder with the checkpoint alone: those of the producers have expected tensors too."""
    path = tmp_path / "in"
    path.mkdir()
    for file in (shared / "checkpoints" / folder).iterdir():
        if file.name.startswith("model") or file.suffix == ".json":
            (path / file.name).symlink_to(file.resolve())
    return path


def cases():
    return [(folder, file) for folder in FOLDERS for file in EXPECTED]


@pytest.mark.parametrize(("folder", "file"), cases())
def test_a_checkpoint_has_the_floats_of_its_producer(shared, folder, file, tmp_path):
    source = shared / "checkpoints" / folder
    if not (source / f"{file}.safetensors").exists():
        pytest.skip("the producer does not give this type")
    told = [dtype for start, dtype in TOLD.items() if folder.startswith(start)]
    dtype = told[0] if told and file == "expected" else EXPECTED[file]
    options = [] if dtype is None else ["--dtype", dtype]
    path = checkpoint(shared, folder, tmp_path)
    done = dequant("convert", path, "-o", tmp_path / "out", "--json", *options)
    report = json.loads(done.stdout)
    got = tensors(tmp_path / "out")
    expected = tensors(source / f"{file}.safetensors")
    golden = json.loads((source / "golden.json").read_text())
    names = golden["dequantized_tensors"].keys()
    more = MORE.get(folder, set())
    assert {t["name"] for t in report["converted"]} == names | more
    got = {name: tensor for name, tensor in got.items() if name not in more}
    if file != "expected":  # has dequantized tensors only
        assert expected and expected.keys() <= names
        got = {name: got[name] for name in expected}
    undefined = source / "undefined.json"
    assert_same(got, expected, json.loads(undefined.read_text()) if undefined.exists() else {})

"""`dequant extract --raw` on producers' checkpoints: the stored tensors as they are stored, which
`dequant op` makes the same floats of."""

import numpy as np
import pytest

from support import dequant
from test_checkpoints import checkpoint, tensors

LAYER = "model.layers.0."
Q, DOWN = LAYER + "self_attn.q_proj", LAYER + "mlp.down_proj"
WORDS = ["gptq_v1_w2_g32_sym", "gptq_v1_w3_g32_sym", "gptq_v1_w4_asym_actorder",
         "gptq_p_w5_g32_asym", "gptq_p_w6_g32_asym", "gptq_p_w7_g32_asym", "gptq_v1_w8_g32_sym",
         "awq_gemm_g32", "bnb_nf4_double", "bnb_fp4", "bnb_int8", "hqq_w1_g64_axis1",
         "hqq_w2_g64_axis1", "hqq_w3_g64_axis1", "hqq_w4_g64_axis0", "hqq_w8_g64_axis1",
         "quanto_qint2", "quanto_qint4", "quanto_qfloat8", "mlx_affine_f16_mixed", "mlx_mxfp4",
         "mlx_nvfp4", "quark_int4_wo_32", "quark_mxfp6_e2m3", "ct_oddbits_g32", "ct_nvfp4",
         "ct_w4a16_g32_asym", "ct_fp8_block128", "gptoss_mxfp4_hf", "modelopt_nvfp4",
         "torchao_intx_w3_axis", "refuse_modelopt_int4_awq"]

# A folder, the module, the scheme, its tensors by the options of `op`, its settings, the dense
# tensor.
OPERATIONS = [
    ("gptq_v1_w4_asym_actorder", Q, "gptq", ["qweight", "qzeros", "scales", "g_idx"],
     {"bits": 4, "format": "gptq"}, ".weight"),
    ("gptq_v1_w3_g32_sym", Q, "gptq", ["qweight", "qzeros", "scales"],
     {"bits": 3, "format": "gptq", "group_size": 32}, ".weight"),
    ("gptq_v1_w8_g32_sym", Q, "gptq", ["qweight", "qzeros", "scales"],
     {"bits": 8, "format": "gptq", "group_size": 32}, ".weight"),
    ("awq_gemm_g32", Q, "awq", ["qweight", "qzeros", "scales"], {"group_size": 32}, ".weight"),
    ("ct_w4a16_g32_asym", Q, "compressed_tensors",
     ["weight=weight_packed", "weight_scale", "weight_zero_point", "weight_shape"],
     {"format": "pack-quantized", "num_bits": 4, "group_size": 32, "strategy": "group"},
     ".weight"),
    ("ct_nvfp4", DOWN, "compressed_tensors",
     ["weight=weight_packed", "weight_scale", "weight_global_scale"],
     {"format": "nvfp4-pack-quantized"}, ".weight"),
    ("modelopt_nvfp4", DOWN, "modelopt", ["weight", "weight_scale", "weight_scale_2"],
     {"quant_algo": "NVFP4"}, ".weight"),
    ("gptoss_mxfp4_hf", LAYER + "mlp.experts", "gptoss",
     ["blocks=down_proj_blocks", "scales=down_proj_scales"], {"transposed": "true"}, ".down_proj"),
]
#: What `op` is told of types that numpy lacks.
NARROW = {"F8_E4M3": "float8e4m3fn", "BF16": "bfloat16", "F8_E8M0": "float8e8m0"}


def extract(path, name, to, *options):
    dequant("extract", path, name, "-o", to, *options)
    return np.load(to)


@pytest.mark.parametrize("folder", WORDS)
def test_raw_codes_are_the_stored_tensor(shared, tmp_path, folder):
    path = checkpoint(shared, folder, tmp_path)
    stored = tensors(path)
    rows = dequant("extract", path, "--all", "--raw", "-o", tmp_path / "raw").stdout
    files = [line.rsplit("  ", 1) for line in rows.splitlines()[1:]]
    assert files
    for row, file in files:
        array = np.load(file)
        _, shape, numbers = stored[row.split()[0]]
        assert array.shape == tuple(shape)
        assert array.view(numbers.dtype).reshape(-1).tolist() == numbers.tolist()


@pytest.mark.parametrize(("folder", "module", "scheme", "parts", "settings", "dense"), OPERATIONS,
                         ids=[o[0] for o in OPERATIONS])
def test_op_takes_raw_tensors(shared, tmp_path, folder, module, scheme, parts, settings, dense):
    path = checkpoint(shared, folder, tmp_path)
    stored = tensors(path)
    given = []
    for part in parts:
        option, _, end = part.partition("=")
        name, file = f"{module}.{end or option}", tmp_path / f"{option}.npy"
        if option == "weight_shape":
            given += ["--weight-shape", ",".join(map(str, stored[name][2]))]
            continue
        extract(path, name, file, "--raw")
        given += ["--" + option.replace("_", "-"), file]
        if stored[name][0] in NARROW:
            given += [f"--{option.replace('_', '-')}-type", NARROW[stored[name][0]]]
    for key, value in settings.items():
        given += ["--" + key.replace("_", "-"), value]
    want = extract(path, module + dense, tmp_path / "want.npy", "--dtype", "float32")
    dequant("op", scheme, *given, "-o", tmp_path / "y.npy")
    got = np.load(tmp_path / "y.npy")
    assert got.shape == want.shape and got.tobytes() == want.tobytes()

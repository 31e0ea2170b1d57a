"""Checkpoints of random codes for benchmarks: the schemes, and folders of any size. Needs numpy."""

import json

import numpy as np

GIB = 1 << 30
#: A common shape whose rows are no power of two: chunks of a power of two end within rows.
ROWS, COLUMNS = 4096, 11008
#: The values of codes of nf4, as bitsandbytes stores them.
NF4 = np.array([-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
                -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
                0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1], np.float32)


def fp8(rng, name):
    codes = rng.integers(0, 120, (ROWS, COLUMNS), np.uint8)
    yield f"{name}.weight", "F8_E4M3", codes
    yield f"{name}.weight_scale_inv", "F32", rng.random((ROWS // 128, COLUMNS // 128), np.float32)


def mxfp4(rng, name):
    yield f"{name}_blocks", "U8", rng.integers(0, 256, (1, ROWS, COLUMNS // 32, 16), np.uint8)
    yield f"{name}_scales", "U8", rng.integers(110, 130, (1, ROWS, COLUMNS // 32), np.uint8)


def words(rng, *shape):
    return rng.integers(-2**31, 2**31, shape, np.int32)


def gptq(rng, name):
    groups = COLUMNS // 128
    yield f"{name}.qweight", "I32", words(rng, COLUMNS // 8, ROWS)
    yield f"{name}.qzeros", "I32", rng.integers(0, 2**28, (groups, ROWS // 8), np.int32)
    yield f"{name}.scales", "F16", rng.random((groups, ROWS), np.float32).astype(np.float16)
    yield f"{name}.g_idx", "I32", np.arange(COLUMNS, dtype=np.int32) // 128


def gptq_order(rng, name):
    """With act-order: columns are in any group."""
    for tensor, dtype, array in gptq(rng, name):
        yield tensor, dtype, rng.permutation(array) if tensor.endswith("g_idx") else array


def awq(rng, name):
    groups = COLUMNS // 128
    yield f"{name}.qweight", "I32", words(rng, COLUMNS, ROWS // 8)
    yield f"{name}.qzeros", "I32", words(rng, groups, ROWS // 8)
    yield f"{name}.scales", "F16", rng.random((groups, ROWS), np.float32).astype(np.float16)


def awq_gemv(rng, name):
    padded = -(-COLUMNS // 128 // 8) * 8
    yield f"{name}.qweight", "I32", words(rng, ROWS, COLUMNS // 8)
    yield f"{name}.qzeros", "I32", words(rng, ROWS, padded // 8)
    yield f"{name}.scales", "F16", rng.random((ROWS, padded), np.float32).astype(np.float16)


def modelopt_int4(rng, name):
    yield f"{name}.weight", "U8", rng.integers(0, 256, (ROWS // 2, COLUMNS), np.uint8)
    yield f"{name}.weight_scale", "F32", rng.random((ROWS, COLUMNS // 128), np.float32)


def packed(rng, name):
    scale = rng.random((ROWS, COLUMNS // 128), np.float32)
    yield f"{name}.weight_packed", "I32", words(rng, ROWS, COLUMNS // 8)
    yield f"{name}.weight_scale", "BF16", (scale.view(np.uint32) >> 16).astype(np.uint16)
    yield f"{name}.weight_shape", "I64", np.array([ROWS, COLUMNS])


def packed_order(rng, name):
    """With act-order."""
    yield from packed(rng, name)
    groups = np.arange(COLUMNS, dtype=np.int32) // 128
    yield f"{name}.weight_g_idx", "I32", rng.permutation(groups)


def nvfp4(rng, name):
    yield f"{name}.weight_packed", "U8", rng.integers(0, 256, (ROWS, COLUMNS // 2), np.uint8)
    yield f"{name}.weight_scale", "F8_E4M3", rng.integers(1, 120, (ROWS, COLUMNS // 16), np.uint8)
    yield f"{name}.weight_global_scale", "F32", np.array([321.5], np.float32)


def nf4(rng, name):
    state = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [ROWS, COLUMNS]}
    text = np.frombuffer(json.dumps(state).encode(), np.uint8)
    name = f"{name}.weight"
    yield name, "U8", rng.integers(0, 256, (ROWS * COLUMNS // 2, 1), np.uint8)
    yield f"{name}.absmax", "F32", rng.random(ROWS * COLUMNS // 64, np.float32)
    yield f"{name}.quant_map", "F32", NF4
    yield f"{name}.quant_state.bitsandbytes__nf4", "U8", text


def compressed(form, **weights):
    return {"quant_method": "compressed-tensors", "format": form, "version": "0.20.0",
            "ignore": [], "config_groups": {"group_0": {
                "targets": ["re:m.*"], "format": form, "weights": {"symmetric": True, **weights}}}}


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True,
        "checkpoint_format": "gptq"}
PACKED = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}

#: Name -> tensors of one weight, quantization_config.
SCHEMES = {
    "fp8": (fp8, {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    "gptoss": (mxfp4, {"quant_method": "mxfp4"}),
    "gptq": (gptq, {**GPTQ, "desc_act": False}),
    "gptq_order": (gptq_order, {**GPTQ, "desc_act": True}),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True,
                  "version": "gemm"}),
    "awq_gemv": (awq_gemv, {"quant_method": "awq", "bits": 4, "group_size": 128,
                            "zero_point": True, "version": "gemv"}),
    "modelopt_int4": (modelopt_int4, {"quant_method": "modelopt", "quant_algo": "W4A16_AWQ",
                                      "group_size": 128}),
    "packed": (packed, compressed("pack-quantized", **PACKED)),
    "packed_order": (packed_order, compressed("pack-quantized", **PACKED, actorder="group")),
    "nvfp4": (nvfp4, compressed("nvfp4-pack-quantized", num_bits=4, type="float",
                                strategy="tensor_group", group_size=16)),
    "nf4": (nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True,
                  "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16"}),
}


def write_file(path, tensors):
    header, end = {}, 0
    for name, dtype, array in tensors:
        header[name] = {"dtype": dtype, "shape": array.shape,
                        "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, _, array in tensors:
            file.write(array)


def write_checkpoint(folder, scheme, gib):
    make, quantization = SCHEMES[scheme]
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "torch_dtype": "bfloat16", "quantization_config": quantization}))
    rng = np.random.default_rng(1)
    one = list(make(rng, "w"))
    weights = max(1, round(gib * GIB / sum(array.nbytes for _, _, array in one)))
    a_file = max(1, round(GIB / sum(array.nbytes for _, _, array in one)))
    files = [range(i, min(i + a_file, weights)) for i in range(0, weights, a_file)]
    where = {}
    for i, numbers in enumerate(files, 1):
        name = f"model-{i:05}-of-{len(files):05}.safetensors"
        tensors = [(f"m{n}.{tensor}", dtype, array)
                   for n in numbers for tensor, dtype, array in one]
        write_file(folder / name, tensors)
        where |= {tensor: name for tensor, _, _ in tensors}
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": where}))

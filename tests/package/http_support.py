"""Checkpoints whose floats depend on the files beside them."""

import json

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file


def make_modelopt(folder):
    """Its floats are bfloat16, as config.json says; without that they would be float32."""
    folder.mkdir()
    rng = np.random.default_rng(7)
    codes = rng.standard_normal((64, 64)).astype(ml_dtypes.float8_e4m3fn)
    save_file({"layer.weight": codes, "layer.weight_scale": np.array(0.375, np.float32)},
              folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}))
    return folder

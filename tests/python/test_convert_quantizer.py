"""`dequant convert` on what ONNX Runtime's quantizer makes of the digits model under its options:
the same bits without --strip-qdq; no quantization and the same accuracy with it."""

import logging

import numpy as np
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from support import EXAMPLES, assert_same_outputs, convert, digits_accuracy, op_types

OPTIONS = {
    "int8": dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8),
    "symmetric int8": dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                           extra_options={"ActivationSymmetric": True}),
    "uint16 and int4": dict(activation_type=QuantType.QUInt16, weight_type=QuantType.QInt4),
    "int16 per channel": dict(activation_type=QuantType.QInt16, weight_type=QuantType.QInt8,
                              per_channel=True),
    "contributed operators": dict(extra_options={"UseQDQContribOps": True}),
    "a pair for each reader": dict(extra_options={"DedicatedQDQPair": True}),
    "weights in pairs": dict(extra_options={"AddQDQPairToWeight": True}),
    "activations kept": dict(extra_options={"QDQKeepRemovableActivations": True}),
    "convolutions alone": dict(op_types_to_quantize=["Conv", "Relu"]),
    "external data": dict(use_external_data_format=True),
}
IMAGES = np.load(EXAMPLES / "digits_test_images.npy")


class Images(CalibrationDataReader):
    """The images in batches, as the quantizer wants them."""

    def __init__(self):
        self.batches = iter(np.split(IMAGES, 4))

    def get_next(self):
        batch = next(self.batches, None)
        return None if batch is None else {"image": batch}


@pytest.mark.parametrize("options", OPTIONS)
def test_quantized_digits_become_float(options, tmp_path):
    logging.disable(logging.WARNING)  # its advice to prepare the model
    source = tmp_path / "in.onnx"
    quantize_static(EXAMPLES / "digits_float.onnx", source, Images(), quant_format=QuantFormat.QDQ,
                    **OPTIONS[options])
    logging.disable(logging.NOTSET)
    _, report = convert(source)
    assert report["totals"]["folded"] > 0
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)

    plain, report = convert(source, "--strip-qdq", to="plain.onnx")
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(op_types(plain))
    assert report["left"] == []
    assert abs(digits_accuracy(tmp_path / "plain.onnx") - digits_accuracy(source)) <= 0.5

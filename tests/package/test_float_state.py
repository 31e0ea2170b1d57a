"""Whatever rounding the calling thread has set, and whether it flushes subnormal numbers, model
files give the same bits."""

import ctypes
import ctypes.util
import os
import pathlib
import platform

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import dequant

SHARED = pathlib.Path(os.environ.get("DEQUANT_SHARED", "../shared"))
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
X86 = platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                reason="rounding modes have other numbers here")
MODES = {"downward": 0x400, "upward": 0x800, "toward_zero": 0xC00} if X86 else \
    {"upward": 0x400000, "downward": 0x800000, "toward_zero": 0xC00000}


class Rounding:
    """Sets a rounding mode for a block, and checks that nobody else has changed it."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.before = LIBM.fegetround()
        assert LIBM.fesetround(self.mode) == 0

    def __exit__(self, *_):
        found = LIBM.fegetround()
        LIBM.fesetround(self.before)
        assert found == self.mode


class Flushing:
    """Sets the bits of MXCSR that flush subnormal numbers, by the C library's fesetenv."""

    MXCSR, FLUSH = 28, 0x8040  # the offset in fenv_t; flush to zero, subnormals are zeros

    def __enter__(self):
        self.before = ctypes.create_string_buffer(32)
        LIBM.fegetenv(self.before)
        changed = bytearray(self.before.raw)
        mxcsr = int.from_bytes(changed[self.MXCSR:], "little") | self.FLUSH
        changed[self.MXCSR:] = mxcsr.to_bytes(4, "little")
        LIBM.fesetenv(ctypes.create_string_buffer(bytes(changed), 32))

    def __exit__(self, *_):
        now = ctypes.create_string_buffer(32)
        LIBM.fegetenv(now)
        LIBM.fesetenv(self.before)
        assert int.from_bytes(now.raw[self.MXCSR:], "little") & self.FLUSH == self.FLUSH


def scale_of_a_product(factor, other):
    """Codes of int8 whose scale two constants and a Mul give."""
    nodes = [helper.make_node("Mul", ["a", "b"], ["scale"]),
             helper.make_node("DequantizeLinear", ["w", "scale"], ["y"])]
    constants = [numpy_helper.from_array(np.float32(factor), "a"),
                 numpy_helper.from_array(np.float32(other), "b"),
                 numpy_helper.from_array(np.arange(-128, 128, dtype=np.int8), "w")]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info(
        "y", TensorProto.FLOAT, [256])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()


@pytest.mark.parametrize("mode", MODES)
def test_scales_that_a_model_multiplies_were_rounded_as_the_caller_rounds(mode):
    model = scale_of_a_product(0.1, 0.3)
    want = dequant.convert(model).model
    with Rounding(MODES[mode]):
        assert dequant.convert(model).model == want


@pytest.mark.skipif(not X86, reason="MXCSR is of x86")
def test_subnormal_scales_of_a_model_were_zeros_where_the_caller_flushes():
    model = scale_of_a_product(1e-20, 1e-20)
    want = dequant.convert(model).model
    with Flushing():
        assert dequant.convert(model).model == want


@pytest.mark.parametrize("mode", MODES)
def test_scales_that_have_scales_were_rounded_as_the_caller_rounds(mode, tmp_path):
    folder = SHARED / "checkpoints" / "bnb_nf4_double"
    if not folder.is_dir():
        pytest.skip("no ../shared/checkpoints")
    dequant.convert(folder, output=tmp_path / "want", dtype="float32")
    with Rounding(MODES[mode]):
        dequant.convert(folder, output=tmp_path / "got", dtype="float32")
        with dequant.open(folder) as model:
            read = {name: np.asarray(model[name]) for name in model}
    with dequant.open(folder) as model:
        for name in model:
            assert read[name].tobytes() == np.asarray(model[name]).tobytes(), name
    assert (tmp_path / "got" / "model.safetensors").read_bytes() == (
        tmp_path / "want" / "model.safetensors").read_bytes()

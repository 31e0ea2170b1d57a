#!/usr/bin/env bash
# Installs missing packages, builds the command line, and converts a quantized model to a float
# model and a quantized checkpoint to a dense one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh build
cmake --preset release >/dev/null
cmake --build build/release
build/release/dequant convert examples/digits_qdq_int8.onnx \
  --output build/digits_float_from_int8.onnx --force
rm -rf build/fp8 build/fp8_dense
python3 examples/make_fp8_checkpoint.py build/fp8
build/release/dequant convert build/fp8 --output build/fp8_dense

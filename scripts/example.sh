#!/usr/bin/env bash
# Installs missing packages, builds the command line, and converts a quantized model to a float
# model.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh build
cmake --preset release >/dev/null
cmake --build build/release
build/release/dequant convert examples/digits_qdq_int8.onnx \
  --output build/digits_float_from_int8.onnx --force

#!/usr/bin/env bash
# From a fresh machine to a result: installs what is missing, builds the command line and turns the
# weights of a real quantized model back into floats.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh build
cmake --preset release >/dev/null
cmake --build build/release
build/release/dequant convert examples/digits_qdq_int8.onnx \
  --output build/digits_float_from_int8.onnx --force

#!/usr/bin/env bash
# Installs missing packages, builds everything, and runs all tests. Arguments are passed to ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh test
cmake --preset dev >/dev/null
cmake --build build
scripts/wheel.sh
[ -d ../shared/conformance ] ||
  echo "test: ../shared/conformance is missing: the tests that read it are skipped" >&2
ctest --test-dir build --output-on-failure --parallel "$(nproc)" "$@"

#!/usr/bin/env bash
# Installs missing packages. Does nothing if all packages are installed.
#
#   setup.sh build   packages for building the library and the command line
#   setup.sh test    also packages for building and running all tests (the default)
#   setup.sh ci      also packages for .ci/run
#   setup.sh ci-packages   the same without the Python environment of the tests
#   setup.sh cluster packages for building and for scripts/cluster_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages_build=(g++ cmake ninja-build libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev
                libflatbuffers-dev libprotozero-dev libre2-dev libxxhash-dev nettle-dev pkg-config
                python3)
packages_test=(libgtest-dev libgmock-dev libbenchmark-dev binutils python3-dev python3-venv)
packages_ci=(clang clang-format-14 libclang-rt-14-dev g++-aarch64-linux-gnu qemu-user git
             valgrind chromium)
packages_cluster=(openmpi-bin slurm-wlm munge)

# install_packages NAME...: installs the packages that are not installed.
install_packages() {
  if ! command -v dpkg-query apt-get >/dev/null; then
    echo "setup: no apt here; these Debian packages, or their like, must be there: $*" >&2
    return
  fi
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -x installed >/dev/null ||
      missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  if [ ${#as_root[@]} -gt 0 ] && ! command -v sudo >/dev/null; then
    echo "setup: there is no sudo here; run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Makes the Python environment of the tests in build/venv, which no build writes to.
make_venv() {
  local venv=build/venv wanted
  wanted=$(sha256sum scripts/requirements.txt)
  [ "$(cat "$venv/stamp" 2>/dev/null)" = "$wanted" ] && [ -x "$venv/bin/python" ] && return
  echo "setup: making $venv"
  rm -rf "$venv"
  mkdir -p build
  /usr/bin/python3 -m venv "$venv" 2>/dev/null || python3 -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/requirements.txt
  echo "$wanted" >"$venv/stamp"
}

case ${1:-test} in
  build) install_packages "${packages_build[@]}" ;;
  test)
    install_packages "${packages_build[@]}" "${packages_test[@]}"
    make_venv
    ;;
  ci)
    install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_ci[@]}"
    make_venv
    ;;
  ci-packages)
    install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_ci[@]}"
    ;;
  cluster)
    install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_cluster[@]}"
    make_venv
    ;;
  *)
    echo "usage: setup.sh [build | test | ci | ci-packages | cluster]" >&2
    exit 2
    ;;
esac

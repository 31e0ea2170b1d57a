#!/usr/bin/env bash
# Installs release wheels in a fresh Debian that has Python and nothing else, and runs the package
# and the command there. Needs root, debootstrap, and the network of apt and pip.
#
#   portable_test.sh SUITE [WHEELS]   SUITE: bookworm (Python 3.11), trixie (Python 3.13), ...
#                                     WHEELS: the folder of the wheels; build/release_wheels
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../../.." && pwd)
suite=${1:?usage: portable_test.sh SUITE [WHEELS]}
wheels=$(realpath "${2:-$source_dir/build/release_wheels}")
base=$source_dir/build/portable/$suite  # the system as debootstrap left it
system=$source_dir/build/portable/$suite.run

# The mirror that this machine's apt uses for Debian's main archive.
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u |
  grep -m 1 '/debian/*$'; }

# What Debian's packages install; python3-venv has pip.
make_base() {
  [ ! -e "$base/usr/bin/python3" ] || return 0
  echo "portable: making $suite"
  rm -rf "$base.new" && mkdir -p "$(dirname "$base")"
  debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$base.new" "$(mirror)" \
    >"$base.log" || { tail -n 20 "$base.log" >&2; exit 1; }
  mv "$base.new" "$base"
}

# inside COMMAND...: runs in the system, in a namespace whose mounts end with the command.
inside() {
  unshare --mount --pid --fork sh -c 'mount -t proc proc "$1/proc" && shift && exec "$@"' sh \
    "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$system" "$@"
}

make_base
rm -rf "$system"
cp -a "$base" "$system"
mkdir "$system/wheels" "$system/test"
cp "$wheels"/*.whl "$system/wheels"
cp "$here/in_system.py" "$source_dir"/examples/*.onnx "$system/test"

version=$(inside python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
echo "portable: $suite has Python $version"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --python-version "$version" --dest "$system/wheels" numpy

# Otherwise the test would say nothing of the libraries in the wheel.
if find "$system/usr/lib" "$system/lib/" -name 'libfmt*' -o -name 'libre2*' | grep .; then
  echo "portable: the system has the libraries of the wheel" >&2
  exit 1
fi
inside python3 -m venv /venv
inside /venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index \
  --find-links /wheels dequant
inside /venv/bin/python /test/in_system.py
inside /venv/bin/dequant convert /test/digits_qdq_int4.onnx -o /test/float.onnx
inside /venv/bin/dequant vectors onnx --seed 1 -n 20 -o /test/cases.json
inside /venv/bin/dequant check /test/cases.json
inside /venv/bin/python -m dequant --version
rm -rf "$system"
echo "portable: $suite, good"

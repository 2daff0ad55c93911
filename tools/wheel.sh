#!/usr/bin/env bash
# Build the wheel, install it into a new environment in an empty folder, and run the demo there.
# Usage: tools/wheel.sh [PYTHON]
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
python=${1:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH VIRTUAL_ENV
cd "$folder"
"$python" -m venv venv
pip=(venv/bin/python -m pip --quiet --disable-pip-version-check)
"${pip[@]}" wheel --no-deps "$root"
"${pip[@]}" install -c "$root/constraints.txt" fedbary-*.whl
mkdir empty && cd empty
where=$(../venv/bin/python -c 'import fedbary; print(fedbary.__file__)')
case $where in
  "$folder"/*) ;;
  *) echo "fedbary was imported from $where, not from the wheel"; exit 1 ;;
esac
../venv/bin/fedbary --version
../venv/bin/fedbary demo
test -s fedbary-demo/report.html
test -s fedbary-demo/clients.csv

#!/usr/bin/env bash
# Build the wheels of the four packages and try them in new environments, in an empty folder: the core alone with its
# demo and its tests, and each other package beside it.
# Usage: tools/wheels.sh [PYTHON]
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
python=${1:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH VIRTUAL_ENV
export FLWR_TELEMETRY_ENABLED=0 RAY_USAGE_STATS_ENABLED=0
cd "$folder"
mkdir wheels empty
"$python" -m venv build
build/bin/python -m pip --quiet --disable-pip-version-check install twine
build/bin/python -m pip --quiet --disable-pip-version-check wheel --no-deps -w wheels "$root"/packages/*
build/bin/twine check --strict wheels/*

made() {  # NAME, packages to install from their wheels
  "$python" -m venv "$1"
  "$1"/bin/python -m pip --quiet --disable-pip-version-check install -c "$root/constraints.txt" --find-links wheels "${@:2}"
  where=$(cd empty && ../"$1"/bin/python -c 'import fedbary; print(fedbary.__file__)')
  case $where in
    "$folder"/*) echo "$1: $("$1"/bin/fedbary --version)" ;;
    *) echo "fedbary was imported from $where, not from the wheel"; exit 1 ;;
  esac
}
here() { (cd empty && "../$@"); }

core=$(echo wheels/fedbary-[0-9]*.whl)
made core "$core[excel,privacy,sql]" -r "$root/requirements-test.txt"
here core/bin/fedbary demo
test -s empty/fedbary-demo/report.html
test -s empty/fedbary-demo/clients.csv
(cd "$root" && "$folder"/core/bin/python -m pytest -n 2 -q -p no:cacheprovider -m "not federation" \
  packages/fedbary/tests --ignore-glob='*/test_*_page.py')

made lab "$core[lab]"
here lab/bin/fedbary compare --list > /dev/null
here lab/bin/fedbary reproduce --list > /dev/null
made flower "$core[flower]"
here flower/bin/fedbary federation init flower-federation --nodes north,south > /dev/null
here flower/bin/python -c 'from fedbary.flower import SelectedNodes, answers, value_nodes'
made nvflare "$core[nvflare]"
here nvflare/bin/fedbary federation init flare-federation --engine nvflare --nodes north,south > /dev/null
here nvflare/bin/python -c 'from fedbary.nvflare import Coordinator, Site, recipe'
# All together: what each offers is there, and nothing is offered twice.
made all "$core[flower,nvflare,lab]"
here all/bin/fedbary doctor > /dev/null
here all/bin/python -c 'from fedbary.flower import Recording; import fedbary as fb; fb.boost'
echo "four wheels work alone and together"

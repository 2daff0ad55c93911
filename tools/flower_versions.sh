#!/usr/bin/env bash
# Flower at both ends of what packages/fedbary-flower/pyproject.toml allows, and one older release: in environments of their own, from scratch.
#   tools/flower_versions.sh [FOLDER]    with SIMULATION=1 also a simulation on Ray with the newest
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/flower-versions}
tests=packages/fedbary-flower/tests
export OMP_NUM_THREADS=1 FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1
export RAY_USAGE_STATS_ENABLED=0 FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1
mkdir -p "$folder"
constraints="$folder/constraints.txt"
grep -v "^flwr" constraints.txt > "$constraints"
core="numpy scipy scikit-learn POT pandas pyarrow narwhals joblib threadpoolctl typer rich plotly jinja2 pillow platformdirs cryptography"

made() {  # VERSION, the requirement that brings what it needs
  local python="$folder/$1/bin/python"
  [ -x "$python" ] || python3 -m venv "$folder/$1"
  # shellcheck disable=SC2086
  "$python" -m pip install -q -c "$constraints" "$2" $core pytest pytest-timeout pytest-xdist hypothesis >&2
  # 1.42.0 asks for a certifi that some registries lack; it works with the one of 1.41.
  "$python" -m pip install -q --no-deps "flwr==$1" -e packages/fedbary -e packages/fedbary-flower -e packages/fedbary-lab >&2
  "$python" -c 'import flwr; print("flwr", flwr.__version__)' >&2
  echo "$python"
}

choosing="$tests/test_choosing.py $tests/test_flower_recording.py"
inprocess="$tests/test_answers.py $tests/test_node_names.py $tests/test_flower_events.py"

python=$(made 1.32.1 "flwr==1.32.1")
# shellcheck disable=SC2086
"$python" -m pytest -q -n 0 -p no:cacheprovider $choosing
for version in 1.41.0 1.42.0; do
  python=$(made "$version" "flwr[simulation]==1.41.0")
  # shellcheck disable=SC2086
  "$python" -m pytest -q -n 0 -p no:cacheprovider $choosing $inprocess
done
if [ "${SIMULATION:-}" ]; then
  "$python" -m pytest -q -n 0 -p no:cacheprovider -m federation "$tests/test_training_apps.py"
fi

#!/usr/bin/env bash
# Walk the path of docs/quickstart.md in a fresh clone with a fresh environment, and print how long each step takes.
# Usage: tools/newcomer.sh [REPOSITORY [FOLDER]]; FOLDER must not exist.
set -euo pipefail
repository=$(realpath "${1:-.}")
folder=${2:-$(mktemp -d)/fedbary}
unset PYTHONPATH VIRTUAL_ENV
step() { # NAME COMMAND...: seconds of one step
  local name=$1 start=$SECONDS
  shift
  "$@" > "$log" 2>&1 || { cat "$log"; exit 1; }
  printf '%4d s  %s\n' $((SECONDS - start)) "$name"
}
log=$(mktemp)
echo "$(nproc) cores, $(python3 --version)"
step "git clone" git clone -q "$repository" "$folder"
cd "$folder"
step "make demo" make demo
PATH="$PWD/.venv/bin:$PATH"
cp examples/hospitals/hospital_south.csv mine.csv
step "fedbary check mine.csv" fedbary check mine.csv --label diagnosis --id patient
step "fedbary value mine.csv" fedbary value mine.csv --label diagnosis --id patient \
  --reference examples/hospitals/validation.parquet -o mine-out
test -s mine-out/report.html
step "fedbary rows mine-out" fedbary rows mine-out --client mine
printf '%4d s  in all, to a report about a CSV file\n' $SECONDS

"""The scripts and texts of a federation's folder, as templates."""

from __future__ import annotations

import json
from pathlib import Path

from fedbary.deploy.plan import Plan, from_template

# Flower's programs do not call home, and install nothing.
ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
CONNECTION = "fedbary"


def filled(template: str, plan: Plan, target: Path, node: str = "") -> str:
    """Put the plan, and what Flower needs, into a template."""
    flower = {
        "environment": "\n".join(f"export {key}={value}" for key, value in ENVIRONMENT.items()),
        "connection": CONNECTION,
        "ca": json.dumps(str(target / "ca" / "ca.crt"), ensure_ascii=False),
    }
    return from_template(template, plan, node, flower)


CONFIG = """\
[superlink]
default = "@connection@"

[superlink.@connection@]
address = "@address@"
root-certificates = @ca@
"""

_HEAD = """\
#!/usr/bin/env bash
# @@what
set -euo pipefail
umask 077
HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)"
@environment@
"""

_COORDINATOR = """\
export FLWR_HOME="$HERE/flwr"
export PATH=@programs@:"$PATH"
"""

# What both start scripts do: a program that crashed is started again, and nothing of it stays when the script ends.
_SUPERVISOR = """\
set -m   # the program and whatever it starts are a process group, which ends as one
mkdir -p "$FLWR_HOME"
NOTED="$FLWR_HOME/noted"   # what the program's last lines mean, one word each; 'end' when all of it has ended
group=""
shown() {   # pass the program's lines on
  trap '' INT TERM HUP
  echo ready >> "$NOTED"
  while IFS= read -r line; do
    printf '%s\\n' "$line" || true
    meaning "$line" >> "$NOTED"
  done
  echo end >> "$NOTED"
}
noted() { case "$(< "$NOTED")" in *"$1"*) true ;; *) false ;; esac; }
end() {   # all of the program, politely first
  [ -n "$group" ] || return 0
  kill -TERM -- "-$group" 2> /dev/null || true
  local last=$((SECONDS + 8))
  until noted end || [ "$SECONDS" -ge "$last" ]; do sleep 0.1; done
  kill -KILL -- "-$group" 2> /dev/null || true
  group=""
}
trap 'exec 2> /dev/null; end; exit 0' INT TERM HUP
run() {   # the program, to its end; leaves its exit status in $status
  : > "$NOTED"
  "$@" < /dev/null > >(shown) 2>&1 &
  group=$!
  while true; do
    status=0
    wait "$group" 2> /dev/null || status=$?
    kill -0 "$group" 2> /dev/null || break
    sleep 1   # it is only stopped
  done
  for _ in {1..50}; do noted ready && break; sleep 0.1; done   # before that, lines would be lost with a signal
  end
}
pause() {   # say why, then wait, longer when it has gone on for two minutes
  local seconds=10
  [ $((SECONDS - since)) -lt 120 ] || seconds=60
  echo "$1 Trying again in $seconds s; Ctrl-C ends." >&2
  echo end > "$NOTED"
  sleep "$seconds" &
  group=$!
  wait "$group" || true
  group=""
}
since=$SECONDS
"""

SERVER = (
    _HEAD.replace("@@what", "The server of the federation; ends with Ctrl-C. FEDBARY_BIND is the address to listen on.")
    + _COORDINATOR
    + _SUPERVISOR
    + """\
meaning() {
  case "$1" in *'Uvicorn running on'*) echo up ;; esac
}
while true; do
  run flower-superlink --host "${FEDBARY_BIND:-@host@}" --port @port@ --ssl-ca-certfile "$HERE/ca/ca.crt" \\
    --ssl-certfile "$HERE/server/server.pem" --ssl-keyfile "$HERE/server/server.key" \\
    --database "$HERE/server/superlink.db" --enable-supernode-auth --disable-runtime-dependency-installation
  if ! noted up; then
    echo "The server did not start: what it said stands above." >&2
    exit $((status ? status : 1))
  fi
  [ "$status" != 0 ] || exit 0
  since=$SECONDS
  pause "The server ended by itself (exit status $status); runs that were under way go on with resume=true."
done
"""
)

REGISTER = (
    _HEAD.replace("@@what", "Tell the running server which nodes may take part: all of them, or those named.")
    + _COORDINATOR
    + """\
cd "$HERE/flwr"   # elsewhere Flower might take a folder called @connection@ for an app
mkdir -p "$HERE/registered"
[ $# -gt 0 ] || set -- @nodes@
failed=0
for name in "$@"; do
  answer="$(flwr supernode register "$HERE/nodes/$name/key.pub" @connection@ --name "$name" --format json)" || true
  case "$answer" in
    *'"success": true'*) printf '%s\\n' "$answer" > "$HERE/registered/$name.json"
      cp "$HERE/nodes/$name/key.pub" "$HERE/registered/$name.pub"; echo "registered: $name" ;;
    *'already in use'*) echo "registered before: $name" ;;
    *) echo "not registered: $name: $answer" >&2; failed=1 ;;
  esac
done
exit "$failed"
"""
)

RUN = (
    _HEAD.replace("@@what", "Run a Flower app on the federation: ./run.sh APP-FOLDER [options of flwr run]")
    + _COORDINATOR
    + """\
[ $# -gt 0 ] || { echo "usage: $0 APP-FOLDER [options of flwr run]" >&2; exit 2; }
if [ -d "$1" ]; then app="$(cd -- "$1" && pwd -P)"; else app="$1"; fi; shift
cd "$HERE/flwr"   # elsewhere Flower might take a folder called @connection@ for an app
exec flwr run "$app" @connection@ --stream "$@"
"""
)

NODE = (
    _HEAD.replace("@@what", "The node @node@; ends with Ctrl-C: ./node-@node@.sh DATA-FILE ['key=value' ...]")
    + """\
KEPT="${FEDBARY_KEPT:-$HERE}"   # for what the node remembers, and for the results that are its owner's alone
export FLWR_HOME="$KEPT/flwr"
[ $# -gt 0 ] || { echo "usage: $0 DATA-FILE ['key=value' ...], for example 'label=\\"diagnosis\\"'" >&2; exit 2; }
command -v flower-supernode > /dev/null || { echo "flower-supernode is not on the PATH" >&2; exit 2; }
case "$1" in
  *://*) data="$1" ;;   # a database
  *) data="$(cd -- "$(dirname -- "$1")" && pwd -P)/$(basename -- "$1")"
     [ -r "$data" ] || { echo "cannot read $data" >&2; exit 2; } ;;
esac; shift
TABLE="${FEDBARY_TABLE:-@node@}"   # what was asked of a table is kept under its name, whatever its file is called
PORT="${FEDBARY_PORT:-@node_port@}"
case "$data$KEPT$TABLE" in *[\\"\\\\]*) echo "quotes and backslashes cannot stand in a path here" >&2; exit 2 ;; esac
"""
    + _SUPERVISOR
    + """\
meaning() {
  case "$1" in
    *'SuperNode ID:'*) echo joined ;;
    *'not yet valid'* | *'has expired'*) echo dated ;;
    *'CERTIFICATE_VERIFY_FAILED'*) echo stranger ;;
    *'[code: 2004]'*) echo refused ;;
    *'SuperNode terminated gracefully'*) echo unsigned ;;   # Flower's way to end when its signature was not accepted
    *'address already in use'*) echo taken ;;
  esac
}
while true; do
  run flower-supernode --superlink "@address@" --root-certificates "$HERE/ca.crt" \\
    --auth-supernode-private-key "$HERE/key" --host 127.0.0.1 --port "$PORT" \\
    --node-config "name=\\"@node@\\" data-path=\\"$data\\" table=\\"$TABLE\\" \\
state-path=\\"$KEPT/state\\" output-path=\\"$KEPT/results\\" $*"
  if noted joined; then since=$SECONDS; fi
  if noted dated; then
    pause "The server's certificate is not valid at this machine's time, $(date): is the clock right?"
  elif noted stranger; then
    pause "The server at @address@ is not the one that ca.crt vouches for: ask the coordinator which is right."
  elif noted refused; then
    pause "The server does not let this node in: for a minute after a crash, and for good where its key is not \
registered (the coordinator's ./register.sh @node@)."
  elif noted taken; then
    pause "Port $PORT is taken: does this node run already? FEDBARY_PORT chooses another one."
  elif noted unsigned; then
    pause "The server no longer accepts what this node signs: is the clock right ($(date)), and the node registered?"
  elif noted joined || [ "$status" -gt 128 ]; then
    pause "The node ended by itself (exit status $status)."
  else
    [ "$status" = 0 ] || echo "The node did not start: what Flower said stands above." >&2
    exit "$status"
  fi
done
"""
)

README = """\
# A federation on Flower

Server: `@address@`. Certificates are valid for @days@ days. `fedbary federation status .` says how it is doing, and
every command of `fedbary federation` ends with what to type next.

## Who gets what

Over a safe channel, each data owner gets their own folder and nothing else:

@list@

Then delete the file `key` in each of these folders here; `key.pub` stays. An owner who would rather make the key
themselves runs `ssh-keygen -t ecdsa -b 384 -N "" -f key` in their folder and sends you `key.pub`, which replaces
`nodes/NAME/key.pub` here, before you register it.

| stays with the coordinator | what it is |
| --- | --- |
| `ca/ca.key` | signs servers for this federation: keep it off the server, best off the network |
| `ca/ca.crt` | how nodes recognise the server; public |
| `server/server.key`, `server/server.pem` | on the server only |
| `app/` | FedBary as a Flower app, for `run.sh`; its two sides come with the package |
| `flwr/` | Flower's settings for `register.sh` and `run.sh` |
| `registered/` | which key and which of Flower's ids the server knows each node by |

## Start

1. `./server.sh` and leave it running. `FEDBARY_BIND=0.0.0.0 ./server.sh` listens on all addresses.
2. `./register.sh` once the server runs. It remembers the nodes in `server/superlink.db`, also when it is restarted.
3. Each owner: `./node-NAME.sh DATA-FILE 'label="COLUMN"'` in their folder.
4. `fedbary federation run . --reference FILE --label COLUMN -o OUT`, on the server's machine. It shows how the run goes
   on, names who is missing, and ends with the report in `OUT`; Ctrl-C stops the run. `fedbary watch OUT` shows the same
   in another terminal. `./run.sh app --run-config 'reference="/path/FILE" label="COLUMN"'` is Flower's own way, and
   `./run.sh APP-FOLDER` runs any other app.

## Look after it

| type | and it |
| --- | --- |
| `fedbary federation doctor .` | checks everything, with the remedy to type |
| `fedbary federation add-node . NAME` | lets another owner in, also while the server runs |
| `fedbary federation rotate-keys . NAME` | gives a node a new key; the old one is refused from then on |
| `fedbary federation rotate-keys . --server` | gives the server a new certificate, which the nodes know by `ca.crt` |

Only registered keys are let in, and everything travels over TLS. But **whoever can reach the server's port, the data
owners included, can also register nodes, list them and start runs, and with a run comes a program that the nodes
execute**: Flower 1.41 offers its control interface on the same port, and its free edition has no login for it. Let only
the nodes' addresses through your firewall, and only owners who trust each other that far.

If you move this folder, correct the path in `flwr/config.toml`. To start over, remove the folder.
"""

NODE_README = """\
# Node @node@

This folder is yours; `key` is secret and says that you are @node@. The federation's server is `@address@`.

`./node-@node@.sh DATA-FILE 'label="COLUMN"'` takes part, in an environment with `fedbary` and Flower. With fedbary's
app your rows stay here: `results/` gets your row values, `state/@node@/` the ledger of what left and your node's log.
Questions are counted for your table with all its versions, whatever its file is called. Another table, of other rows
altogether, gets another name: `FEDBARY_TABLE=other ./node-@node@.sh OTHER-FILE`.

Try it first: `fedbary preview DATA-FILE --label COLUMN` shows what would leave, and what is wrong with the table. A
question that failed for a wrong column is used up; `fedbary policy allow state/@node@/ledger.jsonl` allows one more.

Flower's nodes run the program that comes with each run. Read the app before you take part, stop the node when a run is
over, and prefer the container: there a program sees nothing of your machine but what you mount.

In a container, after putting fedbary's wheel into this folder:

```bash
podman build -t fedbary-node -f Containerfile .
mkdir -p kept
podman run --rm --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \\
  --userns keep-id --user "$(id -u):$(id -g)" \\
  -v "$PWD":/federation:ro -v "$PWD/kept":/kept -v /path/to/your/data:/data:ro \\
  fedbary-node /data/mine.parquet 'label="COLUMN"'
```

With Docker leave out `--userns keep-id`. The node only calls the server: no port has to be opened.
"""

CONTAINER = """\
# A data owner's node. The key and the rows are mounted when it runs, never copied into the image.
FROM python:3.12-slim
COPY fedbary-*.whl /tmp/
RUN pip install --no-cache-dir /tmp/fedbary-*.whl "flwr>=1.41,<1.43" && rm /tmp/fedbary-*.whl \\
    && useradd --create-home --uid 10001 node
USER node
ENV HOME=/tmp FEDBARY_KEPT=/kept
WORKDIR /tmp
VOLUME ["/federation", "/data", "/kept"]
ENTRYPOINT ["bash", "/federation/node-@node@.sh"]
"""

"""The texts and the script of a federation on FLARE, as templates for `fedbary.deploy.plan.from_template`."""

from __future__ import annotations

SERVER = """\
#!/usr/bin/env bash
# The server of the federation; ends with Ctrl-C. It keeps its jobs in this kit, wherever the kit was moved to.
set -euo pipefail
umask 077
HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)"
export PATH=@programs@:"$PATH"
export PYTHONSAFEPATH=1   # files of the folder in which this is typed are no modules
# How long a job that is over waits to hear of a site that was lost.
export NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT="${NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT:-30}"
python3 -c 'import sys; from pathlib import Path; from fedbary_nvflare.kits import with_store
with_store(Path(sys.argv[1]), Path(sys.argv[1]))' "$HERE"
exec bash "$HERE/startup/sub_start.sh" --once
"""

SITE_CONFIG = """\
# What the site @node@ answers for. This file is yours: no job can read, change or replace it.
# Paths without a leading / start at this kit's folder.

# data-path = "/path/to/your/table.parquet"
label = "label"
# id = "visit"
# person = "patient"        # whose each row is, where a person has several
policy = "local/policy.toml"

# Questions are counted for your table with all its versions, under this name; other rows altogether get another name.
table = "@node@"
state-path = "state"        # ledger, log and secret, in state/@node@
output-path = "results"     # row values and your own report
"""

README = """\
# A federation on NVIDIA FLARE

Server: `@address@`. Certificates are valid for @days@ days, those of the sites for 360 at most.
`fedbary federation status .` says how it is doing.

## Who gets what

Over a safe channel, each data owner gets their own kit and nothing else:

@list@

Then delete `startup/client.key` in each of these folders here. On the server's machine belongs `server/`, with a
`python3` that has `fedbary[nvflare]`; `admin/` is the coordinator's and starts runs.

| stays with the coordinator | what it is |
| --- | --- |
| `provision/` | FLARE's own record, with the key that signs kits of this federation: best off the network |
| `admin/` | whoever has this kit may start jobs; `transfer/fedbary` in it is one for FLARE's own console |

## Start

1. `server/server.sh` on the server, and leave it running. (`server/startup/start.sh` is FLARE's own way, which also
   starts it again when it crashes.)
2. Each owner: fill in `local/fedbary.toml` and `local/policy.toml`, then `startup/start.sh`, in their kit.
3. `fedbary federation run . --reference FILE --label COLUMN --output FOLDER`

Everything travels over TLS with a certificate on both sides. Sites run fedbary as it is installed there; a job brings
settings, never code: `local/resources.json` of each kit allows two classes, and `local/authorization.json` neither
code of jobs (`byoc`) nor commands of the console. FLARE keeps no list of revoked certificates: for a lost key all
kits are made anew, by `fedbary federation rotate-keys . --server`.

To start over, remove the folder.
"""

SITE_README = """\
# Site @node@

This kit is yours; `startup/client.key` is secret and says that you are @node@. The federation's server is `@address@`.

1. Put this folder where no part of its path has a blank, which FLARE's scripts do not bear, and install
   `fedbary[nvflare]` into an environment whose `python3` comes first on the PATH.
2. Fill in `local/fedbary.toml` (where your table is) and `local/policy.toml` (what may be asked;
   `fedbary policy check local/policy.toml` reads it to you).
3. `startup/start.sh` takes part, and starts again what crashes. To stop: `touch shutdown.fl` in this folder.
   In a container or under systemd, `startup/sub_start.sh --once` stays in the foreground.

Before that, `fedbary preview DATA-FILE --label COLUMN --policy local/policy.toml` shows what would leave, and what is
wrong with the table. A question that failed for a wrong column, say, is used up;
`fedbary policy allow state/@node@/ledger.jsonl` allows another one.

Your rows stay here: `results/` gets your row values, `state/@node@/` the ledger of what left and your site's log.
The site only calls the server: no port has to be opened.

What jobs may do here stands in `local/`, and is yours to change: `resources.json` allows two classes, both of software
that you have installed, and with `ClosedSite` keeps FLARE's program from everything but jobs without code, whatever the
server says; `authorization.json` refuses code that comes with a job, and commands of the console. FLARE
reads `resources.json.default` and `authorization.json.default` only where these two are missing.
"""

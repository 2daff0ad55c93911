"""A new federation on Flower as a folder: certificates, keys, scripts that start it, and how it is doing."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
CONNECTION = "fedbary"
SETTINGS = "federation.json"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*")
_SECRET, _PUBLIC, _PROGRAM = 0o600, 0o644, 0o700
_SECONDS = 20


@dataclass(frozen=True)
class Plan:
    """What a federation is to be like.

    Parameters
    ----------
    nodes : sequence of str
        Names of the data owners' nodes, made of letters, digits, ``_`` and ``-``.
    host, port : str, int
        Where the server listens and the nodes find it.
    node_port : int
        Port of the first node on its own machine's loopback; the next nodes have the next ones.
    days : int
        How long the certificates are valid.
    san : sequence of str
        More names of the server, ``DNS:fed.example.org`` or ``IP:192.0.2.7``.

    Examples
    --------
    >>> Plan(["north", "south"]).address
    '127.0.0.1:8443'
    >>> Plan(["../north"])
    Traceback (most recent call last):
    fedbary.errors.SettingsError: '../north' cannot be a node's name: use 1 to 64 letters, digits, '_' and '-'.
    """

    nodes: Sequence[str]
    host: str = "127.0.0.1"
    port: int = 8443
    node_port: int = 9500
    days: int = 365
    san: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in self.nodes:
            # A leading '-' would be read as an option by the programs that the name is given to.
            if not _NAME.fullmatch(name) or name.startswith("-"):
                raise SettingsError(
                    f"{name!r} cannot be a node's name: use 1 to 64 letters, digits, '_' and '-'"
                    f"{', and no hyphen first' if name.startswith('-') else ''}."
                )
        if not self.nodes:
            raise SettingsError("No node was named: give --nodes with at least one name.")
        # Some file systems do not tell 'North' from 'north'.
        if len({name.lower() for name in self.nodes}) < len(self.nodes):
            raise SettingsError("Two nodes have the same name: names must differ in more than their case.")
        if not (_is_ip(self.host) or _HOST.fullmatch(self.host)):
            raise SettingsError(f"{self.host!r} is neither a host name nor an IP address.")
        last = self.node_port + len(self.nodes) - 1
        for port in (self.port, self.node_port, last):
            if not 1 <= port <= 65535:
                raise SettingsError(f"{port} is not a port: ports go from 1 to 65535.")
        if self.node_port <= self.port <= last:
            raise SettingsError(
                f"The nodes' ports {self.node_port} to {last} include the server's, {self.port}: choose others."
            )
        if not 1 <= self.days <= 3650:
            raise SettingsError(f"The certificates cannot be valid for {self.days} days: choose 1 to 3650.")
        for entry in self.san:
            kind, _, value = entry.partition(":")
            if not (kind == "DNS" and _HOST.fullmatch(value)) and not (kind == "IP" and _is_ip(value)):
                raise SettingsError(f"{entry!r} is no name of a server: write DNS:name or IP:address.")

    @property
    def address(self) -> str:
        """Host and port, as Flower's programs take them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def ports(self) -> dict[str, int]:
        """Each node's own port."""
        return {name: self.node_port + i for i, name in enumerate(self.nodes)}


def create(folder: str | Path, plan: Plan) -> Path:
    """Write a new federation; nothing of an existing one is touched, and nothing is left behind if it fails.

    Returns
    -------
    Path
        The folder, absolute.
    """
    _need_flower()
    target = Path(folder).absolute()
    if target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir())):
        what = "already holds a federation" if (target / SETTINGS).exists() else "is not an empty folder"
        raise SettingsError(f"'{target}' {what}: choose another folder, so that no key is overwritten.")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        for path, (text, mode) in _files(plan, target).items():
            _write(draft, path, text, mode)
        draft.replace(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def status(folder: str | Path) -> dict[str, Any]:
    """How a federation is doing: certificates, keys, the server, and the nodes that it knows."""
    _need_flower()
    folder = Path(folder).absolute()
    plan = _read_plan(folder)
    problem = _server_problem(plan, folder / "ca" / "ca.crt")
    known, list_problem = ({}, None) if problem else _listed(folder)
    nodes = []
    for name in plan.nodes:
        number = _registered(folder, name)
        state = known.pop(number, None) if number else None
        nodes.append(
            {
                "name": name,
                "key": _key_state(folder / "nodes" / name),
                "node_id": number,
                # Without an answer of the server, all there is to go by is what `register.sh` noted.
                "registered": state is not None if problem is None and list_problem is None else None,
                "status": state or ("not registered" if problem is None and list_problem is None else "unknown"),
            }
        )
    return {
        "folder": str(folder),
        "address": plan.address,
        "certificates": {name: _expiry(folder / path) for name, path in _CERTIFICATES.items()},
        "server": {"answers": problem is None, "problem": problem or list_problem},
        "nodes": nodes,
        "other_nodes": [{"node_id": number, "status": state} for number, state in known.items()],
    }


_CERTIFICATES = {"ca": "ca/ca.crt", "server": "server/server.pem"}


def _files(plan: Plan, target: Path) -> dict[str, tuple[bytes | str, int]]:
    """Every file of a new federation with its mode."""
    authority, ca = _authority(plan.days)
    key, certificate = _server(plan, authority, ca)
    files: dict[str, tuple[bytes | str, int]] = {
        SETTINGS: (_settings(plan), _PUBLIC),
        "README.md": (_fill(_README, plan, target), _PUBLIC),
        "server.sh": (_fill(_SERVER, plan, target), _PROGRAM),
        "register.sh": (_fill(_REGISTER, plan, target), _PROGRAM),
        "run.sh": (_fill(_RUN, plan, target), _PROGRAM),
        "flwr/config.toml": (_fill(_CONFIG, plan, target), _SECRET),
        "ca/ca.key": (_pem(authority), _SECRET),
        "ca/ca.crt": (_pem(ca), _PUBLIC),
        "server/server.key": (_pem(key), _SECRET),
        "server/server.pem": (_pem(certificate), _PUBLIC),
    }
    for name in plan.nodes:
        private, public = _key_pair(name)
        files |= {
            f"nodes/{name}/key": (private, _SECRET),
            f"nodes/{name}/key.pub": (public, _PUBLIC),
            f"nodes/{name}/ca.crt": (_pem(ca), _PUBLIC),
            f"nodes/{name}/node-{name}.sh": (_fill(_NODE, plan, target, name), _PROGRAM),
            f"nodes/{name}/README.md": (_fill(_NODE_README, plan, target, name), _PUBLIC),
            f"nodes/{name}/Containerfile": (_fill(_CONTAINER, plan, target, name), _PUBLIC),
        }
    return files


def _write(root: Path, path: str, text: bytes | str, mode: int) -> None:
    file = root
    for part in Path(path).parent.parts:
        file = file / part
        file.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(root / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _SECRET)
    with os.fdopen(handle, "wb") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())
    (root / path).chmod(mode)


def _settings(plan: Plan) -> str:
    content = {
        "fedbary_federation": 1,
        "nodes": list(plan.nodes),
        "host": plan.host,
        "port": plan.port,
        "node_port": plan.node_port,
        "days": plan.days,
        "san": list(plan.san),
    }
    return json.dumps(content, indent=2) + "\n"


def _read_plan(folder: Path) -> Plan:
    file = folder / SETTINGS
    if not file.is_file():
        raise DataError(f"'{folder}' holds no federation: make one with 'fedbary federation init'.")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        version = content.pop("fedbary_federation")
        if version != 1:
            raise DataError(f"'{file}' has version {version}, this fedbary reads version 1.")
        return Plan(**content)
    except (ValueError, KeyError, TypeError, AttributeError, SettingsError) as error:
        raise DataError(f"'{file}' is not a federation's ({error}): restore it, or make a new federation.") from error


# --- certificates and keys ---


def _authority(days: int) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    from cryptography import x509

    key, name = _new_key(), _common_name("fedbary federation CA")
    builder = (
        _certificate(name, name, key, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return key, _signed(builder, key, key)


def _server(
    plan: Plan, authority: EllipticCurvePrivateKey, ca: x509.Certificate
) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    own = f"{'IP' if _is_ip(plan.host) else 'DNS'}:{plan.host}"
    # The coordinator's own commands may use the loopback; that name is of no use to anybody else.
    entries = dict.fromkeys([own, *plan.san, "DNS:localhost", "IP:127.0.0.1"])
    names = [
        x509.IPAddress(ipaddress.ip_address(value)) if kind == "IP" else x509.DNSName(value)
        for kind, _, value in (entry.partition(":") for entry in entries)
    ]
    key = _new_key()
    builder = (
        _certificate(_common_name(plan.host[:64]), ca.subject, key, plan.days)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    return key, _signed(builder, key, authority)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # clocks differ
        .not_valid_after(now + timedelta(days=days))
    )


def _signed(
    builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey, signer: EllipticCurvePrivateKey
) -> x509.Certificate:
    """With the key identifiers that strict verification, the default of Python 3.13, asks for."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return (
        builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _common_name(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(item: EllipticCurvePrivateKey | x509.Certificate) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if isinstance(item, x509.Certificate):
        return item.public_bytes(Encoding.PEM)
    return item.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _key_pair(name: str) -> tuple[bytes, bytes]:
    """As ``ssh-keygen -t ecdsa -b 384`` writes them."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private, public + f" {name}\n".encode()


# --- status ---


def _expiry(file: Path) -> dict[str, Any]:
    from cryptography import x509

    try:
        end = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    except (OSError, ValueError):
        return {"expires": None, "days_left": None}
    return {"expires": end.isoformat(), "days_left": (end - datetime.now(UTC)) // timedelta(days=1)}


def _key_state(folder: Path) -> str:
    """The private key may be gone, once its owner has it: then the public one is all that is needed here."""
    if (folder / "key").is_file():
        return "pair"
    return "public" if (folder / "key.pub").is_file() else "none"


def _registered(folder: Path, name: str) -> str | None:
    """The node id that `register.sh` noted."""
    try:
        return str(int(json.loads((folder / "registered" / f"{name}.json").read_text(encoding="utf-8"))["node-id"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _server_problem(plan: Plan, ca: Path) -> str | None:
    """Why the server cannot be talked to, if so."""
    try:
        context = ssl.create_default_context(cafile=str(ca))
        with (
            socket.create_connection((plan.host, plan.port), timeout=5) as link,
            context.wrap_socket(link, server_hostname=plan.host),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        return f"it shows a certificate that is not this federation's ({error.verify_message})"
    except (ssl.SSLError, OSError) as error:
        return f"it does not answer ({error.strerror or error})"


def _listed(folder: Path) -> tuple[dict[str, str], str | None]:
    """Status of each node id that the server knows, asked with Flower's own program."""
    command = [str(_programs() / "flwr"), "supernode", "list", CONNECTION, "--format", "json"]
    environment = {**os.environ, **ENVIRONMENT, "FLWR_HOME": str(folder / "flwr")}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, and no shell
            command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        answer = json.loads(done.stdout)
        if not answer.get("success"):
            return {}, f"it does not list its nodes ({answer.get('error-message', 'no reason given')})"
        return {
            str(node["node-id"]): str(node["status"]) for node in answer["nodes"] if node["status"] != "unregistered"
        }, None
    except subprocess.TimeoutExpired:
        return {}, f"it did not list its nodes within {_SECONDS} seconds"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}, "Flower's program 'flwr supernode list' gave no answer that can be read"


def _programs() -> Path:
    """Where this Python's programs lie, Flower's among them."""
    return Path(sys.executable).parent


def _need_flower() -> None:
    import importlib.util

    if any(importlib.util.find_spec(name) is None for name in ("flwr", "cryptography")):
        raise SettingsError("A federation runs on Flower: install it with pip install 'fedbary[flower]'")


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


# --- texts ---


def _fill(template: str, plan: Plan, target: Path, node: str = "") -> str:
    """Put the plan into a template; what stands in a script is quoted for the shell."""
    words: Mapping[str, str] = {
        "environment": "\n".join(f"export {key}={value}" for key, value in ENVIRONMENT.items()),
        "programs": shlex.quote(str(_programs())),
        "host": plan.host,
        "port": str(plan.port),
        "address": plan.address,
        "nodes": " ".join(plan.nodes),
        "list": "\n".join(f"- `nodes/{name}` to {name}" for name in plan.nodes),
        "connection": CONNECTION,
        "ca": json.dumps(str(target / "ca" / "ca.crt"), ensure_ascii=False),
        "node": node,
        "node_port": str(plan.ports.get(node, "")),
        "days": str(plan.days),
    }
    return re.sub(r"@(\w+)@", lambda found: words[found[1]], template)


_CONFIG = """\
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

_SERVER = (
    _HEAD.replace("@@what", "The server of the federation; ends with Ctrl-C. FEDBARY_BIND is the address to listen on.")
    + _COORDINATOR
    + """\
exec flower-superlink --host "${FEDBARY_BIND:-@host@}" --port @port@ --ssl-ca-certfile "$HERE/ca/ca.crt" \\
  --ssl-certfile "$HERE/server/server.pem" --ssl-keyfile "$HERE/server/server.key" \\
  --database "$HERE/server/superlink.db" --enable-supernode-auth --disable-runtime-dependency-installation
"""
)

_REGISTER = (
    _HEAD.replace("@@what", "Tell the running server which nodes may take part: all of them, or those named.")
    + _COORDINATOR
    + """\
mkdir -p "$HERE/registered"
[ $# -gt 0 ] || set -- @nodes@
failed=0
for name in "$@"; do
  answer="$(flwr supernode register "$HERE/nodes/$name/key.pub" @connection@ --name "$name" --format json)" || true
  case "$answer" in
    *'"success": true'*) printf '%s\\n' "$answer" > "$HERE/registered/$name.json"; echo "registered: $name" ;;
    *'already in use'*) echo "registered before: $name" ;;
    *) echo "not registered: $name: $answer" >&2; failed=1 ;;
  esac
done
exit "$failed"
"""
)

_RUN = (
    _HEAD.replace("@@what", "Run a Flower app on the federation: ./run.sh APP-FOLDER [options of flwr run]")
    + _COORDINATOR
    + """\
[ $# -gt 0 ] || { echo "usage: $0 APP-FOLDER [options of flwr run]" >&2; exit 2; }
app="$1"; shift
exec flwr run "$app" @connection@ --stream "$@"
"""
)

_NODE = (
    _HEAD.replace("@@what", "The node @node@; ends with Ctrl-C: ./node-@node@.sh DATA-FILE ['key=value' ...]")
    + """\
KEPT="${FEDBARY_KEPT:-$HERE}"   # for what the node remembers, and for the results that are its owner's alone
export FLWR_HOME="$KEPT/flwr"
[ $# -gt 0 ] || { echo "usage: $0 DATA-FILE ['key=value' ...], for example 'label=\\"diagnosis\\"'" >&2; exit 2; }
command -v flower-supernode > /dev/null || { echo "flower-supernode is not on the PATH" >&2; exit 2; }
data="$(cd -- "$(dirname -- "$1")" && pwd -P)/$(basename -- "$1")"; shift
[ -r "$data" ] || { echo "cannot read $data" >&2; exit 2; }
case "$data$KEPT" in *[\\"\\\\]*) echo "quotes and backslashes cannot stand in a path here" >&2; exit 2 ;; esac
exec flower-supernode --superlink "@address@" --root-certificates "$HERE/ca.crt" \\
  --auth-supernode-private-key "$HERE/key" --host 127.0.0.1 --port "${FEDBARY_PORT:-@node_port@}" \\
  --node-config "name=\\"@node@\\" data-path=\\"$data\\" \\
state-path=\\"$KEPT/state\\" output-path=\\"$KEPT/results\\" $*"
"""
)

_README = """\
# A federation on Flower

Server: `@address@`. Certificates are valid for @days@ days. `fedbary federation status .` says how it is doing.

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
| `flwr/` | Flower's settings for `register.sh` and `run.sh` |

## Start

1. `./server.sh` and leave it running. `FEDBARY_BIND=0.0.0.0 ./server.sh` listens on all addresses.
2. `./register.sh` once the server runs. It remembers the nodes in `server/superlink.db`, also when it is restarted.
3. Each owner: `./node-NAME.sh DATA-FILE` in their folder.
4. `./run.sh APP-FOLDER`

Only registered keys are let in, and everything travels over TLS. But **whoever can reach the server's port, the data
owners included, can also register nodes, list them and start runs, and with a run comes a program that the nodes
execute**: Flower 1.41 offers its control interface on the same port, and its free edition has no login for it. Let only
the nodes' addresses through your firewall, and only owners who trust each other that far.

If you move this folder, correct the path in `flwr/config.toml`. To start over, remove the folder.
"""

_NODE_README = """\
# Node @node@

This folder is yours; `key` is secret and says that you are @node@. The federation's server is `@address@`.

`./node-@node@.sh DATA-FILE 'label="COLUMN"'` takes part, in an environment with `fedbary` and Flower. With fedbary's
app your rows stay here: `results/` gets your row values, `state/` what your node remembers between messages.

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

_CONTAINER = """\
# A data owner's node. The key and the rows are mounted when it runs, never copied into the image.
FROM python:3.12-slim
COPY fedbary-*.whl /tmp/
RUN pip install --no-cache-dir /tmp/fedbary-*.whl "flwr>=1.41,<1.42" && rm /tmp/fedbary-*.whl \\
    && useradd --create-home --uid 10001 node
USER node
ENV HOME=/tmp FEDBARY_KEPT=/kept
WORKDIR /tmp
VOLUME ["/federation", "/data", "/kept"]
ENTRYPOINT ["bash", "/federation/node-@node@.sh"]
"""

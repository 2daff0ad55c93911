"""Whether the keys, the certificates and the running server of a federation on Flower fit together."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
import tomllib
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from shlex import quote
from typing import Any

from fedbary.deploy.network import Finding, package_finding
from fedbary.deploy.plan import Plan, is_ip
from fedbary_flower.scripts import CONNECTION

_SECONDS = 5
_MOST_SKEW = 60.0


def findings(folder: Path, plan: Plan, found: Mapping[str, Any]) -> list[Finding]:
    """Everything that is looked at, with what to type where something is wrong."""
    return [
        package_finding("fedbary-flower", "real federations", needed=True),
        *_files(folder, plan),
        *(_server(folder, plan) if found["server"]["answers"] else ()),
        *_keys(folder, plan),
    ]


def _files(folder: Path, plan: Plan) -> Iterator[Finding]:
    if problem := certificate_problem(folder, plan):
        yield Finding("server's names", "problem", problem, _rotate(folder, "--server"), needed=True)
    else:
        yield Finding("server's names", "ok", f"the certificate is for {plan.host}, and its key fits", needed=True)
    if knows_its_place(folder):
        yield Finding("Flower's settings", "ok", "name this folder", needed=True)
    else:
        words, file = "name another folder: this one was moved", folder / "flwr" / "config.toml"
        remedy = f'write root-certificates = "{folder / "ca" / "ca.crt"}" into {file}'
        yield Finding("Flower's settings", "problem", words, remedy, needed=True)


def _server(folder: Path, plan: Plan) -> Iterator[Finding]:
    """What it shows, and its clock: certificates and signed requests are refused where clocks differ."""
    if not shows_its_certificate(folder, plan):
        words = "still shows an older certificate than server/server.pem"
        start = quote(str(folder / "server.sh"))
        yield Finding("running server", "missing", words, f"end it, and start it again: {start}", needed=True)
    skew = clock_skew(folder, plan)
    if skew is None:
        yield Finding("clock", "ok", "the server does not say what time it is")
    elif abs(skew) > _MOST_SKEW:
        words = f"the server's is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
        yield Finding("clock", "problem", words, "set both: sudo timedatectl set-ntp true", needed=True)
    else:
        yield Finding("clock", "ok", "the server's and this machine's agree")


def _keys(folder: Path, plan: Plan) -> Iterator[Finding]:
    for name in plan.nodes:
        if problem := key_problem(folder, name):
            yield Finding(f"key of {name}", "problem", problem, _rotate(folder, name), needed=True)


def _rotate(folder: Path, word: str) -> str:
    return f"fedbary federation rotate-keys {quote(str(folder))} {word}"


def certificate_problem(folder: Path, plan: Plan) -> str | None:
    """What is wrong between the server's certificate, its key and the host of the plan."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        certificate = x509.load_pem_x509_certificate((folder / "server" / "server.pem").read_bytes())
        key = load_pem_private_key((folder / "server" / "server.key").read_bytes(), None)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return "the server's key or certificate cannot be read"
    if key.public_key() != certificate.public_key():
        return "the server's key is not that of its certificate"
    known = (
        ipaddress.ip_address(plan.host) in names.get_values_for_type(x509.IPAddress)
        if is_ip(plan.host)
        else plan.host in names.get_values_for_type(x509.DNSName)
    )
    return None if known else f"the certificate is not for {plan.host}"


def key_problem(folder: Path, name: str) -> str | None:
    """What is wrong between a node's two keys and the one that the server was told."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

    home = folder / "nodes" / name
    try:
        public = load_ssh_public_key((home / "key.pub").read_bytes())
        if (home / "key").is_file() and load_ssh_private_key((home / "key").read_bytes(), None).public_key() != public:
            return "key and key.pub are not a pair"
        told = folder / "registered" / f"{name}.pub"
        if told.is_file() and load_ssh_public_key(told.read_bytes()) != public:
            return "the server was told another key than key.pub"
    except (OSError, ValueError):
        return "its key cannot be read"
    return None


def knows_its_place(folder: Path) -> bool:
    """Whether Flower's settings name this folder; they hold its path."""
    try:
        settings = tomllib.loads((folder / "flwr" / "config.toml").read_text(encoding="utf-8"))
        named = Path(settings["superlink"][CONNECTION]["root-certificates"])
        return named.samefile(folder / "ca" / "ca.crt")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def shows_its_certificate(folder: Path, plan: Plan) -> bool:
    """Whether the running server shows the certificate that lies in the folder."""
    try:
        with (
            socket.create_connection((plan.host, plan.port), timeout=_SECONDS) as link,
            _trusting(folder).wrap_socket(link, server_hostname=plan.host) as safe,
        ):
            shown = safe.getpeercert(binary_form=True)
        text = (folder / "server" / "server.pem").read_text(encoding="ascii")
        return shown == ssl.PEM_cert_to_DER_cert(text)
    except (OSError, ValueError):
        return False


def clock_skew(folder: Path, plan: Plan) -> float | None:
    """By how many seconds the server's clock is ahead of this one's, as its answer to any request says."""
    link = http.client.HTTPSConnection(plan.host, plan.port, timeout=_SECONDS, context=_trusting(folder))
    try:
        link.request("HEAD", "/")
        said = link.getresponse().getheader("date")
        return None if said is None else parsedate_to_datetime(said).timestamp() - time.time()
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        link.close()


def _trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "ca" / "ca.crt"))

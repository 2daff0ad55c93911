"""Whether the keys, the certificates and the running server of a federation on Flower fit together."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
import tomllib
from email.utils import parsedate_to_datetime
from pathlib import Path

from fedbary.deploy.plan import CONNECTION, Plan, is_ip

_SECONDS = 5


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


def is_taken(plan: Plan) -> bool:
    """Whether anybody at all listens where the server should."""
    try:
        with socket.create_connection((plan.host, plan.port), timeout=_SECONDS):
            return True
    except OSError:
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

"""Certificates of the federation and its server, and the key pairs of its nodes."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fedbary.deploy.plan import Plan, is_ip

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


def authority(days: int) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    """A new certificate authority: its key and its own certificate."""
    key = _new_key()
    return key, authority_certificate(key, days)


def authority_certificate(key: EllipticCurvePrivateKey, days: int) -> x509.Certificate:
    """An authority's own certificate, from now on."""
    from cryptography import x509

    name = _common_name("fedbary federation CA")
    builder = (
        _certificate(name, name, key, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _signed(builder, key, key)


def read_authority(key: bytes, certificate: bytes) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    """An authority from its files."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    signer = load_pem_private_key(key, None)
    assert isinstance(signer, EllipticCurvePrivateKey)
    return signer, x509.load_pem_x509_certificate(certificate)


def server_certificate(
    plan: Plan, authority: EllipticCurvePrivateKey, ca: x509.Certificate
) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    """The server's key, and its certificate for all names of the plan."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    own = f"{'IP' if is_ip(plan.host) else 'DNS'}:{plan.host}"
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


def pem(item: EllipticCurvePrivateKey | x509.Certificate) -> bytes:
    """As the text that programs read."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if isinstance(item, x509.Certificate):
        return item.public_bytes(Encoding.PEM)
    return item.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_pair(name: str) -> tuple[bytes, bytes]:
    """As ``ssh-keygen -t ecdsa -b 384`` writes them."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private, public + f" {name}\n".encode()

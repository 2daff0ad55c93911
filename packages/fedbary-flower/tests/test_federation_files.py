"""What `fedbary federation init` writes, what it refuses, and what `status` says before anything runs."""

import json
import os
import re
import socket
import ssl
import stat
import subprocess
import threading
import tomllib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from codes import coded
from fedbary.cli import main
from fedbary.deploy.plan import Plan
from fedbary.errors import DataError, SettingsError
from fedbary_flower.scripts import ENVIRONMENT
from fedbary_flower.setup import create
from fedbary_flower.status import status


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    """Made where new files would be open to all, in a folder whose name a careless script would trip over."""
    usual = os.umask(0)
    try:
        folder = tmp_path_factory.mktemp("fed") / "it's $HOME"
        return create(folder, Plan(["north", "south_2"], host="127.0.0.1", port=18443, san=["DNS:fed.example.org"]))
    finally:
        os.umask(usual)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_secret_can_be_read_by_others(federation):
    assert all(mode(path) == 0o700 for path in [federation, *federation.rglob("*")] if path.is_dir())
    secret = [path for path in federation.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]
    assert {str(path.relative_to(federation)) for path in secret} == {
        "ca/ca.key", "server/server.key", "nodes/north/key", "nodes/south_2/key",
    }  # fmt: skip
    assert all(mode(path) == 0o600 for path in secret)
    assert all(mode(path) == 0o700 for path in federation.rglob("*.sh"))


def test_an_owners_folder_holds_all_that_its_node_needs_and_nothing_of_the_others(federation):
    names = {path.name for path in (federation / "nodes" / "north").iterdir()}
    assert names == {"key", "key.pub", "ca.crt", "node-north.sh", "README.md", "Containerfile"}
    assert (federation / "nodes/north/ca.crt").read_bytes() == (federation / "ca/ca.crt").read_bytes()
    assert not any("south" in path.read_text() for path in (federation / "nodes" / "north").iterdir())


def test_the_keys_are_those_of_ssh_keygen(federation):
    keys = []
    for name in ("north", "south_2"):
        private = load_ssh_private_key((federation / "nodes" / name / "key").read_bytes(), None)
        public = load_ssh_public_key((federation / "nodes" / name / "key.pub").read_bytes())
        assert isinstance(private.curve, ec.SECP384R1)
        assert private.public_key() == public
        keys.append(public)
    assert keys[0] != keys[1]


def test_the_server_has_its_names_and_an_end(federation):
    server = x509.load_pem_x509_certificate((federation / "server/server.pem").read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fed.example.org", "localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert 364 <= (server.not_valid_after_utc - server.not_valid_before_utc).days <= 365


@pytest.fixture
def listening(federation):
    """A TLS server with the federation's certificate; gives its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(federation / "server/server.pem", federation / "server/server.key")
    door = socket.create_server(("127.0.0.1", 0))

    def serve():
        try:
            with context.wrap_socket(door.accept()[0], server_side=True) as link:
                link.recv(1)
        except OSError:
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield door.getsockname()[1]
    thread.join(300)
    door.close()


def test_strict_verification_accepts_the_server(federation, listening):
    context = ssl.create_default_context(cafile=federation / "ca/ca.crt")
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", listening), timeout=300) as link,
        context.wrap_socket(link, server_hostname="fed.example.org") as safe,
    ):
        assert safe.version() == "TLSv1.3"


def test_status_tells_another_federations_server(listening, tmp_path):
    other = create(tmp_path / "other", Plan(["north"], port=listening))
    server = status(other)["server"]
    assert not server["answers"]
    assert "not this federation's" in server["problem"]


def test_scripts_are_valid_and_opt_out_of_calling_home(federation):
    scripts = list(federation.rglob("*.sh"))
    assert {path.name for path in scripts} == {
        "server.sh", "register.sh", "run.sh", "node-north.sh", "node-south_2.sh",
    }  # fmt: skip
    for script in scripts:
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
        assert all(f"export {key}={value}\n" in script.read_text() for key, value in ENVIRONMENT.items())
        assert "@" not in script.read_text().replace('"$@"', "")


def test_every_node_has_its_own_port_and_listens_at_home_only(federation):
    texts = [path.read_text() for path in sorted(federation.rglob("node-*.sh"))]
    assert [re.search(r"FEDBARY_PORT:-(\d+)", text)[1] for text in texts] == ["9500", "9501"]
    assert all("--host 127.0.0.1" in text for text in texts)


def test_a_node_is_started_with_its_own_folder_and_data(federation, tmp_path):
    """A program that prints its arguments stands in for Flower's."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "flower-supernode"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o700)
    (tmp_path / "my data.csv").touch()
    folder = federation / "nodes" / "north"
    done = subprocess.run(
        [folder / "node-north.sh", "my data.csv", 'label="y"'],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    given = done.stdout.splitlines()
    options = dict(zip(given[::2], given[1::2], strict=True))
    assert options["--superlink"] == "127.0.0.1:18443"
    assert options["--auth-supernode-private-key"] == str(folder / "key")
    assert f'data-path="{tmp_path / "my data.csv"}"' in options["--node-config"]
    assert 'table="north"' in options["--node-config"]
    assert options["--node-config"].endswith('label="y"')
    missing = subprocess.run([folder / "node-north.sh", "none.csv"], capture_output=True, text=True, check=False)
    assert missing.returncode == 2


def test_flowers_settings_name_the_server(federation):
    settings = tomllib.loads((federation / "flwr" / "config.toml").read_text())
    assert settings["superlink"]["fedbary"] == {
        "address": "127.0.0.1:18443",
        "root-certificates": str(federation / "ca" / "ca.crt"),
    }


def test_the_container_holds_no_key_and_does_not_run_as_root(federation):
    text = (federation / "nodes" / "north" / "Containerfile").read_text()
    assert re.findall(r"^FROM (.*)$", text, re.MULTILINE) == ["python:3.12-slim"]
    assert re.findall(r"^COPY (.*)$", text, re.MULTILINE) == ["fedbary-*.whl /tmp/"]
    assert "\nUSER node\n" in text


def test_an_existing_federation_is_never_overwritten(federation):
    before = {path: path.read_bytes() for path in federation.rglob("*") if path.is_file()}
    with pytest.raises(SettingsError, check=coded("deploy.folder-taken")):
        create(federation, Plan(["east"]))
    assert {path: path.read_bytes() for path in federation.rglob("*") if path.is_file()} == before
    assert [path.name for path in federation.parent.iterdir()] == [federation.name]


def test_other_peoples_files_are_not_mixed_with(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    for name in ("full", "file"):
        with pytest.raises(SettingsError, check=coded("deploy.folder-taken")):
            create(tmp_path / name, Plan(["a"]))
    (tmp_path / "empty").mkdir()
    assert mode(create(tmp_path / "empty", Plan(["a"]))) == 0o700


@pytest.mark.parametrize("name", ["../up", "a b", "a/b", "", "ä", "a;rm", "$(x)", "a\n", "-x", "a" * 65, "."])
def test_hostile_names_are_refused(name):
    with pytest.raises(SettingsError, check=coded("deploy.node-name")):
        Plan([name])


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"nodes": []}, "no-nodes"),
        ({"nodes": ["a", "A"]}, "same-node-name"),
        ({"host": "x; rm -rf"}, "not-a-host"),
        ({"host": 'x"'}, "not-a-host"),
        ({"port": 0}, "not-a-port"),
        ({"node_port": 65536}, "not-a-port"),
        ({"port": 9500}, "ports-overlap"),
        ({"days": 0}, "days"),
        ({"san": ["fed.example.org"]}, "server-name"),
        ({"san": ["IP:nowhere"]}, "server-name"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, code):
    with pytest.raises(SettingsError, check=coded(f"deploy.{code}")):
        Plan(**{"nodes": ["a"], **settings})


def test_an_address_of_version_6_is_put_into_brackets():
    assert Plan(["a"], host="::1").address == "[::1]:8443"


def test_the_commands_speak_in_words_and_in_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    folder = tmp_path / "fed"
    assert (
        main(["federation", "init", str(folder), "--nodes", "north, south", "--port", str(port), "--days", "20"]) == 0
    )
    (folder / "nodes" / "south" / "key").unlink()
    capsys.readouterr()
    assert main(["federation", "status", str(folder)]) == 0
    words = capsys.readouterr().out
    assert f"The server at 127.0.0.1:{port}: it does not answer" in words
    assert "is valid for 19 days" in words
    assert main(["federation", "status", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(node["name"], node["key"], node["status"]) for node in found["nodes"]] == [
        ("north", "pair", "unknown"), ("south", "public", "unknown"),
    ]  # fmt: skip
    assert found["certificates"]["ca"]["days_left"] == 19


@pytest.mark.parametrize("command", ["init", "run", "status", "doctor", "add-node", "rotate-keys"])
def test_every_command_has_an_example(command, capsys):
    assert main(["federation", command, "--help"]) == 0
    assert f"Example:  fedbary federation {command}" in capsys.readouterr().out


def test_without_flower_the_extra_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fedbary.deploy.network.NETWORKS", {})
    assert main(["federation", "init", str(tmp_path / "fed"), "--nodes", "a"]) == 2
    assert capsys.readouterr().err == (
        "error: a federation over flower needs the package fedbary-flower, which is not installed: "
        "pip install 'fedbary[flower]'\n"
    )
    assert not (tmp_path / "fed").exists()


def test_a_folder_that_is_no_federation_is_said(tmp_path):
    with pytest.raises(DataError, check=coded("deploy.no-federation")):
        status(tmp_path)
    (tmp_path / "federation.json").write_text('{"fedbary_federation": 1, "nodes": ["../x"]}')
    with pytest.raises(DataError, check=coded("deploy.plan-damaged")):
        status(tmp_path)

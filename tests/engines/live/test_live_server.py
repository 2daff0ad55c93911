"""The server shows three things to whoever knows its token and calls it by its name, and nothing to anybody else."""

import json
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from made_up_runs import HOSTILE, finish, hostile_run

from fedbary.engines.live.server import LiveServer
from fedbary.errors import SettingsError

pytest_plugins = ["live_fixtures"]


class Address:
    """A served run, asked through a bare socket so that nothing tidies up the path."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.token = parts.hostname, parts.port, parts.path.strip("/")

    def ask(self, path, *, method="GET", host=None, raw=None):
        """Status, headers and body of an answer."""
        host = f"{self.host}:{self.port}" if host is None else host
        text = raw if raw is not None else f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        with socket.create_connection((self.host, self.port), timeout=10) as connection:
            connection.sendall(text)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body


@pytest.fixture
def served(tmp_path, log):
    with LiveServer(tmp_path / "out") as server:
        yield Address(server.url)


def test_the_real_command_refuses_wrong_tokens_names_methods_and_paths(tmp_path, log, beside):
    folder = tmp_path / "out"
    hostile_run(log)
    (tmp_path / "secret.txt").write_text("CANARY")
    (folder / "clients.csv").write_text("CANARY")
    process = beside("serve", "out")
    url = process.stdout.readline().strip()
    at = Address(url)
    assert (at.host, len(at.token)) == ("127.0.0.1", 32)
    seen = []
    wrong = at.token[:-1] + ("A" if at.token[-1] != "A" else "B")
    for path in ("/", f"/{wrong}/", f"/{at.token[:-1]}/", f"/{at.token}", "/state.json", f"/{wrong}/state.json", "//",
                 f"/%2e/{at.token}/", f"/é{at.token}/"):  # fmt: skip
        seen.append(at.ask(path))
    for name in ("../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "%2e%2e%2fsecret.txt", "..\\secret.txt",
                 "clients.csv", "events.jsonl", "./state.json", "//etc/passwd", "state.json/", "report.html",
                 "state.json%00", "%73tate.json", "../" + at.token + "/state.json"):  # fmt: skip
        seen.append(at.ask(f"/{at.token}/{name}"))
    assert {status for status, _, _ in seen} == {404}
    assert {body for _, _, body in seen} == {b"Not Found\n"}
    for host in ("evil.example", f"evil.example:{at.port}", "127.0.0.1", "127.0.0.1:1", f"x@127.0.0.1:{at.port}",
                 f"localhost.evil.example:{at.port}", "", "["):  # fmt: skip
        assert at.ask(f"/{at.token}/state.json", host=host)[0] == 403
    assert at.ask("/", raw=f"GET /{at.token}/ HTTP/1.1\r\n\r\n".encode())[0] == 403
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert at.ask(f"/{at.token}/", method=method)[0] == 405
    assert at.ask(f"/{at.token}/state.json", host=f"localhost:{at.port}")[0] == 200
    assert at.ask(f"/{at.token}/state.json?x=1")[0] == 200
    process.send_signal(2)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "", "")


def test_the_page_the_state_and_then_the_report(served, tmp_path, log):
    status, headers, page = served.ask(f"/{served.token}/")
    assert status == 200
    assert b"<script>" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Server"].strip() == "fedbary"
    waiting = json.loads(served.ask(f"/{served.token}/state.json")[2])
    assert (waiting["standing"], waiting["clients"]) == ("waiting", [])
    hostile_run(log)
    running = json.loads(served.ask(f"/{served.token}/state.json")[2])
    assert [one["client"] for one in running["clients"]] == list(HOSTILE)
    assert running["report"] is False
    assert served.ask(f"/{served.token}/report.html")[0] == 404
    finish(log, tmp_path / "out")
    assert json.loads(served.ask(f"/{served.token}/state.json")[2])["report"] is True
    status, headers, report = served.ask(f"/{served.token}/report.html")
    assert (status, report) == (200, (tmp_path / "out" / "report.html").read_bytes())
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, headers, body = served.ask(f"/{served.token}/report.html", method="HEAD")
    assert (status, int(headers["Content-Length"]), body) == (200, len(report), b"")


def test_a_report_that_is_a_link_out_of_the_folder_is_not_served(served, tmp_path, log):
    hostile_run(log)
    (tmp_path / "secret.html").write_text("CANARY")
    finish(log, tmp_path / "out")
    (tmp_path / "out" / "report.html").unlink()
    (tmp_path / "out" / "report.html").symlink_to(tmp_path / "secret.html")
    assert served.ask(f"/{served.token}/report.html")[0] == 404


def test_nonsense_does_not_stop_it(served):
    for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"):  # fmt: skip
        with socket.create_connection((served.host, served.port), timeout=10) as connection:
            connection.sendall(raw)
    assert served.ask(f"/{served.token}/state.json")[0] == 200


def test_slow_and_very_many_connections_do_not_keep_others_out(tmp_path, log, monkeypatch):
    hostile_run(log)
    monkeypatch.setattr("fedbary.engines.live.server._LONGEST", 0.5)
    with LiveServer(tmp_path / "out") as server:
        at = Address(server.url)
        slow = [socket.create_connection((at.host, at.port), timeout=10) for _ in range(100)]
        for one in slow:
            with suppress(OSError):  # the first had to give way to the last
                one.sendall(b"GET / HTTP/1.1\r\n")
        assert at.ask(f"/{at.token}/state.json")[0] == 200
        for one in slow:  # nothing more is sent, and long before a read times out everything is closed
            with suppress(ConnectionError):
                assert one.recv(1) == b""
            one.close()


def test_what_a_node_keeps_for_its_owner_is_not_served(tmp_path, beside):
    (tmp_path / "owner.json").write_text("{}")
    (tmp_path / "report.html").write_text("rows")
    process = beside("serve", ".")
    assert process.wait(30) == 2
    assert process.stdout.read() == ""


def test_listening_everywhere_takes_addresses_but_no_foreign_names(tmp_path):
    with LiveServer(tmp_path, host="0.0.0.0") as server:
        assert urlsplit(server.url).hostname == "127.0.0.1"
        assert server.is_called(f"192.0.2.7:{server.port}")
        assert not server.is_called(f"evil.example:{server.port}")
    with LiveServer(tmp_path) as server:
        assert not server.is_called(f"192.0.2.7:{server.port}")
        with pytest.raises(SettingsError, match=f"port {server.port}"):
            LiveServer(tmp_path, port=server.port)
    with pytest.raises(SettingsError, match=r"nowhere\.invalid"):
        LiveServer(Path(), host="nowhere.invalid")

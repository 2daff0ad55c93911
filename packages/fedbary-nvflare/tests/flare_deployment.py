"""A real federation on FLARE: kits of its own provisioner, and the programs that they start, on loopback with TLS."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import fedbary as fb
from fedbary.deploy.plan import Plan
from fedbary_nvflare import network as nvflare
from processes import eventually, free_ports

POLICY = 'protocols = ["sketch", "cards"]\nmax_questions = 20\n'
_OVER = ("done", "some-failed", "refused", "too-few-nodes", "failed")


class Deployment:
    """A server and a site for every file, started with the kits' own programs."""

    def __init__(self, home, data, *, label="label", policy=POLICY, port=None):
        self.home, self.folder = Path(home), Path(home) / "fed"
        self.plan = Plan(sorted(data), port=port or free_ports(1), engine="nvflare")
        self.programs, self._logs = {}, []
        nvflare.create(self.folder, self.plan)
        for name, file in data.items():
            self.configure(name, f'data-path = "{file}"\nlabel = "{label}"\nreport = false\n', policy)

    def configure(self, name, text, policy=POLICY):
        """As the owner of a site does, in the site's own kit."""
        local = self.kit(name) / "local"
        kept = f'table = "{name}"\nstate-path = "state"\noutput-path = "results"\npolicy = "local/policy.toml"\n'
        (local / "fedbary.toml").write_text(text + kept)
        (local / "policy.toml").write_text(policy)

    def kit(self, name):
        return self.folder / "server" if name == "server" else self.folder / "nodes" / name

    def start(self, name):
        script = ["server.sh"] if name == "server" else ["startup/sub_start.sh", "--once"]
        self._run(name, "bash", self.kit(name) / script[0], *script[1:])

    def start_supervised(self, name):
        """With FLARE's ``start.sh``, which starts again what crashes."""
        self._run(name, "bash", self.kit(name) / "startup/start.sh")

    def _run(self, name, *command):
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        log = (self.home / f"{name}.log").open("ab")
        self._logs.append(log)
        self.programs[name] = subprocess.Popen(
            command, cwd=self.home, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def online(self):
        return {node["name"] for node in nvflare.status(self.folder)["nodes"] if node["status"] == "online"}

    def wait_for(self, *names, seconds=300):
        assert eventually(lambda: self.online().issuperset(names), seconds), self.log("server")[-3000:]

    def start_all(self):
        for name in ("server", *self.plan.nodes):
            self.start(name)
        self.wait_for(*self.plan.nodes)

    def log(self, name):
        return (self.home / f"{name}.log").read_text(errors="replace")

    def processes(self, name=None):
        """Everything that runs out of a kit; FLARE gives each job a process, which may outlive its parent."""
        place = os.fsencode(self.folder if name is None else self.kit(name))
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if any(word == place or word.startswith(place + b"/") for word in words):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def signal(self, name, what):
        for pid in self.processes(name):
            os.kill(pid, what)

    def kill(self, name):
        """Without a word, and every process of it."""
        while self.processes(name):
            self.signal(name, signal.SIGKILL)
            self._reap()
            time.sleep(0.1)

    def stop_all(self):
        """Politely, then not; nothing of it is left."""
        for what, seconds in ((signal.SIGCONT, 0), (signal.SIGTERM, 10), (signal.SIGKILL, 300)):
            for pid in self.processes():
                os.kill(pid, what)
            if eventually(lambda: self._reap() or not self.processes(), seconds) and what != signal.SIGCONT:
                break
        for log in self._logs:
            log.close()
        assert not self.processes(), "a process outlived its federation"

    def _reap(self):
        for program in self.programs.values():
            program.poll()

    def submit(self, output, **config):
        usual = {"label": "label", "nodes": ",".join(self.plan.nodes), "join-deadline": 60.0, "output": str(output)}
        config = usual | {key.replace("_", "-"): value for key, value in config.items()}
        return nvflare.submit(self.folder, self.plan, None, config)

    def wait_until_over(self, output, job, seconds=300):
        """What the run left, once it says so itself, or FLARE does; the folder's outcome, and the job's standing."""

        def over():
            said = outcome(output)
            own = said is not None and said["run"] == job  # an earlier job may have ended in the same folder
            return (own and said["status"] in _OVER) or nvflare.standing(self.folder, job).state == "over"

        assert eventually(over, seconds), self.log("server")[-4000:]
        return outcome(output)

    def value(self, output, **config):
        job = self.submit(output, **config)
        self.wait_until_over(output, job)
        assert (output / "valuation.json").is_file(), self.log("server")[-4000:]
        return fb.Valuation.load(output)


def outcome(output):
    file = Path(output) / "outcome.json"
    return json.loads(file.read_text()) if file.is_file() else None


class Relay:
    """Carries connections to a port, and counts what goes through in both directions."""

    def __init__(self, target):
        self.bytes, self._target, self._open = 0, target, True
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while self._open:
            try:
                near, _ = self._door.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                continue
            threading.Thread(target=self._carry, args=(near, far), daemon=True).start()

    def _carry(self, near, far):
        with near, far, selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in ready.select():
                    try:
                        found = key.fileobj.recv(2**16)
                        key.data.sendall(found)
                    except OSError:
                        return
                    if not found:
                        return
                    self.bytes += len(found)

    def close(self):
        self._open = False
        self._door.close()


def poc(data, reference, protocol, *, label="label", **config):
    """Value the files of a folder over a federation of its own: the result, seconds from the job on, bytes of sites."""
    files = {file.stem: file for file in sorted(Path(data).glob("*.parquet"))}
    with tempfile.TemporaryDirectory() as home:
        made = Deployment(home, files, label=label)
        relay = Relay(made.plan.port)
        for name in files:
            config_file = made.kit(name) / "startup" / "fed_client.json"
            text = config_file.read_text()
            config_file.write_text(text.replace(f":{made.plan.port}", f":{relay.port}"))
        try:
            made.start_all()
            asked = {} if reference is None else {"reference": str(reference)}
            before, started = relay.bytes, time.perf_counter()
            result = made.value(Path(home) / "out", protocol=protocol, label=label, **asked, **config)
            return result, time.perf_counter() - started, relay.bytes - before
        finally:
            made.stop_all()
            relay.close()

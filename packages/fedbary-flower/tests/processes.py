"""Real programs for tests: started as a user does, on free loopback ports, and gone when the test is."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path


def free_ports(count):
    """The first of so many free ports in a row."""
    while True:
        doors = []
        try:
            doors.append(socket.create_server(("127.0.0.1", 0)))
            first = doors[0].getsockname()[1]
            doors += [socket.create_server(("127.0.0.1", first + i)) for i in range(1, count)]
            return first
        except (OSError, OverflowError):
            continue
        finally:
            for door in doors:
                door.close()


def eventually(check, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.3)
    return False


def ours(folder):
    """Processes that were started with FLWR_HOME in this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"FLWR_HOME={folder}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def alive(pid):
    """Whether a process has not ended; one that ended and that nobody has asked for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid):
    """A process and all that it started, and they."""
    found = [pid]
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
        except OSError:
            continue
        found += [each for child in children for each in descendants(int(child))]
    return found


def listens_at(port):
    """Local addresses that are listened on with this port."""
    lines = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
    ]
    return [line[1].split(":")[0] for line in lines if line[3] == "0A" and int(line[1].split(":")[1], 16) == port]


@contextmanager
def running(folder, *, strict=False):
    """Start scripts as a user does; everything has ended when the block has.

    A node that was killed by a test can leave a helper of Flower's behind; ``strict`` says that nobody may.
    """
    started = []
    usual = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    usual.pop("FLWR_HOME", None)

    def run(*command, environment=()):
        log = (folder / f"log-{len(started)}.txt").open("w+")
        variables = {**usual, **dict(environment)}
        started.append(
            (subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT), log)
        )
        return started[-1][0], Path(log.name)

    try:
        yield run
    finally:
        for process, _ in reversed(started):
            process.terminate()
        for process, log in started:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            log.close()
        gone = eventually(lambda: not ours(folder), 300 if strict else 3)
        for pid in ours(folder):
            os.kill(pid, signal.SIGKILL)
    assert gone or not strict, "a process outlived its federation"

"""Commands as a shell runs them; those of `fedbary` in this process, where starting one would take most of the time."""

import io
import os
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

# Instead of running the command, print its words as bash has read them: without quotes, with what a pattern stands for.
_WORDS = """fedbary() { printf '%s\\0' "$@"; }\n"""
PLAIN = ("fedbary", "cd", "cp", "mkdir", "tail")
_PATIENCE = 800


def run(script: str) -> tuple[int, str]:
    """Exit code of a script and what it printed, from the current folder on; the first command that fails ends it."""
    lines = script.replace("\\\n", " ").splitlines()
    commands = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not all(is_plain(line) for line in commands):
        return _started(script)
    code, said = 0, ""
    with chdir("."):
        for line in commands:
            code, printed = _ended(line)
            said += printed
            if code != 0:
                break
    return code, said


def is_plain(line: str) -> bool:
    """Whether a line is one command that can be run alone: no pipe, no file, no variable set."""
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
    except ValueError:  # a quotation that goes on in the next line
        return False
    return words[0] in PLAIN and not any(word[0] in "();<>|&" for word in words if word)


def _ended(line: str) -> tuple[int, str]:
    """Exit code of a plain command and what it printed."""
    command, _, rest = line.strip().partition(" ")
    if command == "cd":
        try:
            os.chdir(_bash(f"printf %s {rest}"))
        except OSError as error:
            return 1, f"cd: {error}\n"
        return 0, ""
    return _here(line) if command == "fedbary" else _started(line)


def _here(line: str) -> tuple[int, str]:
    from fedbary.cli import main

    words = _bash(_WORDS + line).removesuffix("\0").split("\0")
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main(words)
    return code, printed.buffer.getvalue().decode()


def _started(script: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout


def _bash(script: str) -> str:
    return subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout

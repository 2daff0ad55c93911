"""What a shell is told when somebody presses Tab."""

import os
import subprocess

from cli_fixtures import FEDBARY


def offered(line, cwd, **environment):
    """What bash is told for the last word of a line."""
    words = line.split(" ")
    done = subprocess.run(
        [FEDBARY],
        env=os.environ
        | {"_FEDBARY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        | environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()

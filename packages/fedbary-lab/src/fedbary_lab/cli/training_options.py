"""Options that commands which train share, and what an interrupted one of them leaves."""

from __future__ import annotations

from pathlib import Path

from fedbary.cli.ui.options import option
from fedbary.cli.ui.session import session
from fedbary.cli.ui.settings import SettingsOf
from fedbary_lab.training.fedavg_settings import FedAvg

LABEL = option("The column that holds the label.", "COL", default="", show_default=False)
# The seed of a command is that of its training.
TRAINING = SettingsOf(FedAvg, panel="Training", without=("seed",))


def finished_parts(output: Path) -> str:
    """What an interrupted comparison or boost leaves, and how to go on."""
    from fedbary_lab.result_cache import cached_parts

    parts = cached_parts(output)
    if not parts:
        return "interrupted: nothing was finished, nothing was kept"
    return f"interrupted: finished and kept in {output}: {', '.join(parts)}; go on with\n  {session().typed_command()}"

"""Commands of the laboratory, which `fedbary` takes over by the entry point ``fedbary.commands``."""

import typer

from fedbary.cli.ui.command import register
from fedbary_lab.cli.boost import boost
from fedbary_lab.cli.compare import compare
from fedbary_lab.cli.datasets import datasets
from fedbary_lab.cli.reproduce import reproduce

app = typer.Typer()
register(app, compare, boost, datasets, reproduce)

"""Commands of the laboratory, which `fedbary` takes over by the entry point ``fedbary.commands``."""

import typer

from fedbary.cli.ui.command_kinds import Command, example_of
from fedbary.cli.ui.terminal_text import paragraphs
from fedbary_lab.cli.boost import boost
from fedbary_lab.cli.compare import compare
from fedbary_lab.cli.datasets import datasets
from fedbary_lab.cli.reproduce import reproduce

app = typer.Typer()
for command, example in (
    (compare, "fedbary compare 'sites/*.parquet' --label y --reference test.parquet --methods gtg,mr,cgsv,sketch"),
    (boost, "fedbary boost 'sites/*.parquet' --label y --reference validation.parquet --test test.parquet"),
    (datasets, "fedbary datasets mnist"),
    (reproduce, "fedbary reproduce detection --smoke"),
):
    app.command(cls=Command, help=paragraphs(command.__doc__), epilog=example_of(example))(command)

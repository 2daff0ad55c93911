"""The application: its commands, its global options, and what each kind of ending means to a shell."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, Any

import click
import typer

from fedbary import __version__
from fedbary.cli.boost import boost
from fedbary.cli.check import check
from fedbary.cli.compare import compare
from fedbary.cli.datasets import datasets
from fedbary.cli.demo import demo
from fedbary.cli.federation import federation
from fedbary.cli.ledger import ledger
from fedbary.cli.policy import policy
from fedbary.cli.preview import preview
from fedbary.cli.reproduce import reproduce
from fedbary.cli.rows import rows
from fedbary.cli.text import one_line, paragraphs
from fedbary.cli.value import value
from fedbary.errors import FedbaryError


class Ending(IntEnum):
    """Exit codes. 3, some clients failed and the result is written, is raised by the commands."""

    DONE = 0
    BUG = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


app = typer.Typer(
    name="fedbary",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with:  fedbary demo",
)
for command, example in (
    (demo, "fedbary demo -o fedbary-demo"),
    (value, "fedbary value 'sites/*.parquet' --label diagnosis --reference validation.parquet -o out"),
    (rows, "fedbary rows out --client hospital_a --export clean"),
    (check, "fedbary check mine.parquet --schema schema.json"),
    (preview, "fedbary preview mine.parquet --label diagnosis --reference like-theirs.parquet"),
    (ledger, "fedbary ledger ledger.jsonl --policy policy.toml"),
    (compare, "fedbary compare 'sites/*.parquet' --label y --reference test.parquet --methods gtg,mr,cgsv,sketch"),
    (boost, "fedbary boost 'sites/*.parquet' --label y --reference validation.parquet --test test.parquet"),
    (datasets, "fedbary datasets"),
    (reproduce, "fedbary reproduce detection --smoke"),
):
    app.command(help=paragraphs(command.__doc__), epilog=f"Example:  {example}")(command)
app.add_typer(policy, name="policy")
app.add_typer(federation, name="federation")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; errors are one sentence, never a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names may hold what the terminal's encoding cannot show
            stream.reconfigure(errors="replace")
    shared: dict[str, Any] = {"debug": False}
    try:
        code = typer.main.get_command(app).main(given, prog_name="fedbary", standalone_mode=False, obj=shared)
    except (KeyboardInterrupt, click.Abort):
        return _end(Ending.INTERRUPTED, "interrupted")
    except click.ClickException as error:
        return _end(Ending.BAD_INPUT, error.format_message())
    except FedbaryError as error:
        return _end(Ending.BAD_INPUT, str(error), debug=shared["debug"])
    except OSError as error:
        where = f"'{error.filename}': " if error.filename else ""
        return _end(Ending.BAD_INPUT, f"{where}{error.strerror or error}", debug=shared["debug"])
    except Exception as error:
        problem = f"fedbary met a bug ({type(error).__name__}: {error})"
        advice = (
            "please report the traceback above" if shared["debug"] else "rerun with 'fedbary --debug ...' to see it"
        )
        return _end(Ending.BUG, f"{problem}; {advice}", debug=shared["debug"])
    return code if isinstance(code, int) else Ending.DONE


def _end(ending: Ending, sentence: str, *, debug: bool = False) -> int:
    if debug:
        traceback.print_exc()
    print(f"error: {one_line(sentence)}", file=sys.stderr)
    return int(ending)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fedbary {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Say what each client's data is worth, and which rows are wrong, before training and without pooling data.

    Exit codes: 0 all clients valued, 2 bad input, 3 some clients failed and the result is written, 1 a bug.
    """
    if isinstance(context.obj, dict):
        context.obj["debug"] = debug

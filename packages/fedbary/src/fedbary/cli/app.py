"""The application: its commands, its global options, and what each kind of ending means to a shell."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from importlib.metadata import entry_points

import typer

from fedbary import __version__
from fedbary.cli.commands.audit import audit
from fedbary.cli.commands.check import check
from fedbary.cli.commands.demo import demo
from fedbary.cli.commands.doctor import doctor
from fedbary.cli.commands.federation import federation
from fedbary.cli.commands.ledger import ledger
from fedbary.cli.commands.message_files import answer, ask, card
from fedbary.cli.commands.policy import policy
from fedbary.cli.commands.preview import preview
from fedbary.cli.commands.report import report
from fedbary.cli.commands.rows import rows
from fedbary.cli.commands.schema import schema
from fedbary.cli.commands.show import show
from fedbary.cli.commands.value import value
from fedbary.cli.commands.watch import watch
from fedbary.cli.ui.command import Group, paragraphs, register
from fedbary.cli.ui.options import flag
from fedbary.cli.ui.session import Interrupted, Session, new_session, one_line, visible
from fedbary.cli.ui.session import session as current_session
from fedbary.errors import FedbaryError, Waiting
from fedbary.filling import COMMAND


class Ending(IntEnum):
    """Exit codes. Commands raise 3, too, with the result written: clients failed, or an audit got too far."""

    DONE = 0
    BUG = 1
    BAD_INPUT = 2
    WAITING = 3
    INTERRUPTED = 130


app = typer.Typer(
    name="fedbary",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with:  fedbary demo",
)
register(app, demo, value, report, rows, card, ask, answer, show, watch, check, preview, audit, ledger, doctor)
app.add_typer(policy, name="policy")
app.add_typer(schema, name="schema")
app.add_typer(federation, name="federation")
for offered in entry_points(group="fedbary.commands"):
    try:
        app.add_typer(offered.load())
    except Exception as error:  # a stranger's code, which may fail in any way: the other commands go on
        print(f"the commands of {offered.value} cannot be loaded ({type(error).__name__}: {error})", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; errors are one sentence, never a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names may hold what the terminal's encoding cannot show
            stream.reconfigure(errors="replace")
    with new_session(given) as session:
        try:
            code = typer.main.get_command(app).main(given, prog_name="fedbary", standalone_mode=False)
        except BaseException as error:
            ending = _explain(error, session)
            session.end(ending, error)
            return ending
    code = code if isinstance(code, int) else Ending.DONE
    session.end(code)
    return code


def _explain(error: BaseException, session: Session) -> int:
    """What a user is told of an error, in one sentence, and the exit code that it means."""
    if session.debug and not isinstance(error, Interrupted | SystemExit) and _parser_words(error) is None:
        traceback.print_exception(error)
    match error:
        case SystemExit(__context__=BrokenPipeError()):  # `fedbary rows … | head` has seen enough
            return Ending.DONE
        case SystemExit():  # the completion of shells ends in this way
            return error.code if isinstance(error.code, int) else Ending.DONE
        case Interrupted():
            for line in str(error).splitlines():
                print(visible(line), file=sys.stderr)
            return Ending.INTERRUPTED
        case KeyboardInterrupt() | typer.Abort():
            return _end(Ending.INTERRUPTED, "interrupted")
        case Exception() if (words := _parser_words(error)) is not None:
            # A group without a command has printed its help.
            return _end(Ending.BAD_INPUT, words) if words else Ending.DONE
        case Waiting():
            print(one_line(error.note.text(COMMAND)))
            return Ending.WAITING
        case FedbaryError():
            return _end(Ending.BAD_INPUT, error.note.text(COMMAND))
        case OSError():
            where = f"'{error.filename}': " if error.filename else ""
            return _end(Ending.BAD_INPUT, f"{where}{error.strerror or error}")
    advice = "please report the traceback above" if session.debug else "rerun with 'fedbary --debug ...' to see it"
    return _end(Ending.BUG, f"fedbary met a bug ({type(error).__name__}: {error}); {advice}")


def _parser_words(error: BaseException) -> str | None:
    """What Typer says of a command line that it cannot parse; which Click the error comes from, releases differ."""
    return str(error.format_message()) if hasattr(error, "format_message") else None


def _end(ending: Ending, sentence: str) -> int:
    print(f"error: {one_line(sentence)}", file=sys.stderr)
    return int(ending)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fedbary {__version__}")
        raise typer.Exit


def options(
    debug: bool = flag("--debug", "Show the traceback of an error."),
    version: bool = flag(  # noqa: ARG001 - its callback acts
        "--version", "Print the version and stop.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Say what each client's data is worth, and which rows are wrong, before training and without pooling data.

    Exit codes: 0 done, 2 bad input, 3 some clients failed or have not answered, or an
    audit got too far, and the result is written, 130
    interrupted, 1 a bug.
    """
    current_session().debug = debug


app.callback(help=paragraphs(options.__doc__))(options)

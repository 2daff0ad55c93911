"""`fedbary ask`, `card` and `answer`: questions, cards and answers as files, which people send to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.show import file_page, for_programs
from fedbary.cli.ui.command import command
from fedbary.cli.ui.inputs import STUDY_FILE, Study, is_study
from fedbary.cli.ui.options import (
    DEVICE,
    LEDGER,
    OWN_LABEL,
    OWN_NAME,
    OWN_TABLE,
    POLICY,
    ROW_ID,
    SEED,
    SOME_FAILED,
    argument,
    one_of,
    option,
)
from fedbary.cli.ui.results import guess_parts, written
from fedbary.cli.ui.settings import OF_RUN, OWN_READING, chosen_protocol
from fedbary.cli.ui.terminal import progress, show
from fedbary.data.options import ReadOptions
from fedbary.data.places import is_url, place_name
from fedbary.errors import DataError, FedbaryError, SettingsError, Waiting, wrong_parameter
from fedbary.filling import COMMAND
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import RowRules, Space, Task
from fedbary.views.page import Line, Page, Part

if TYPE_CHECKING:
    from fedbary.engines.files.message_file import FileKind, MessageFile
    from fedbary.guard.node_config import NodeConfig
    from fedbary.protocols.messages import Message


@command("fedbary ask --reference validation.parquet --label diagnosis -o study", **OF_RUN, reading=OWN_READING)
def ask(
    *,
    label: str = option("The column that holds the label.", "COL", default=..., show_default=False),
    reference: Path | None = option("Validation rows to compare with; they stay here.", "FILE"),
    row_id: str | None = ROW_ID,
    client: list[str] | None = option("Whom you ask; may be repeated. Left out: one question for anybody.", "NAME"),
    output: Path = option("The study's folder.", None, "-o", "--output", default=Path("study")),
    protocol: str = option(
        "Which protocol; one of several rounds needs --client.",
        "NAME",
        default="sketch",
        panel="The protocol",
        complete=one_of(*PROTOCOLS),
    ),
    protocol_options: Mapping[str, object],
    rules: RowRules,
    space: Space,
    reading: ReadOptions,
    seed: int = SEED,
) -> Page:
    """Write questions that you send to data owners as files: by e-mail, on a stick, as you like.

    The folder gets question.fb, or one question for each --client. An owner answers with `fedbary answer` and sends
    the answer back; `fedbary value FOLDER ANSWERS` reads the answers, and asks on where the protocol has further
    rounds. Your validation rows stay here: what leaves of them is what `fedbary show` prints of a question.
    """
    from fedbary.guard.node import Question

    if is_study(output):
        raise SettingsError("cli.study-exists", folder=str(output))
    asked = Question(chosen_protocol(protocol, protocol_options), rules, {})
    place = None if reference is None else str(reference.resolve())
    names = None if client is None else tuple(client)
    study = Study(asked, space, seed, label, row_id, place, names, reading)
    with progress("reading the reference") as listener:
        try:
            study.run(output, wait=True, progress=listener)
        except Waiting:
            study.save(output)
    questions = sorted(output.glob("*.fb"))
    whom = "every data owner" if client is None else "its owner"
    advice = (
        f"Send {'it' if len(questions) == 1 else 'each'} to {whom}, who answers with",
        f"  fedbary answer TABLE {questions[0].name} -o NAME.answer",
        "and read what comes back with",
        f"  fedbary value {output} *.answer",
    )
    parts: list[Part] = [*map(written, questions), "", *(Line(words, whole=True) for words in advice)]
    return Page(parts, {"study": output / STUDY_FILE, "questions": questions})


@command("fedbary card mine.parquet --label diagnosis -o mine.card", reading=OWN_READING)
def card(
    table: str = OWN_TABLE,
    *,
    label: str | None = OWN_LABEL,
    row_id: str | None = ROW_ID,
    epsilon: float | None = option("Differential privacy: the smaller, the more noise. Needs --schema."),
    delta: float = option("The δ that goes with --epsilon.", default=1e-6),
    schema: Path | None = option("Public coordinates, from `fedbary schema make`.", "FILE"),
    min_group: int = option("Fewest different rows behind anything in the card.", min=1, default=5),
    task: str = option("classification, regression or auto.", "NAME", default="auto", complete=one_of("auto")),
    name: str | None = OWN_NAME,
    policy: Path | None = POLICY,
    ledger: Path | None = LEDGER,
    output: Path | None = option("The card. Default: TABLE's name with .card.", "FILE", "-o", "--output"),
    device: str = DEVICE,
    reading: ReadOptions,
) -> Page:
    """Make the card of your table: counts, sums and products of its classes and columns, and no row.

    TABLE is your file, folder of images or database. One card answers every later question of a coordinator, and
    nobody can steer what is in it; all of it is printed. Your policy decides whether it may leave, and your ledger
    has a line of it. The same command gives the same card again, without counting. Nothing is sent: that is up to
    you.
    """
    from fedbary.compute import computing_on
    from fedbary.engines.files.message_file import FileKind
    from fedbary.engines.files.owner import make_card
    from fedbary.engines.local import one_thread
    from fedbary.guard.guarded_client import as_error
    from fedbary.guard.owner_files import LOG
    from fedbary.protocols.cards import Cards
    from fedbary.protocols.messages import Failure
    from fedbary.space.schema import Schema

    agreed = None if schema is None else Schema.load(schema)
    tasks: dict[str, Task] = {"auto": "auto", "classification": "classification", "regression": "regression"}
    if task not in tasks:
        raise wrong_parameter("task", "card", f"one of {', '.join(tasks)}", task)
    label = label or ("label" if agreed is None else agreed.label.name)
    how = {"label": label, "row_id": row_id, "reading": reading, "policy": policy, "ledger": ledger}
    target, config = _place(table, output, FileKind.CARD, name, **how)
    settings = Cards(min_group=min_group, epsilon=epsilon, delta=delta, policy="guarded" if epsilon is None else "dp")
    guesses: list[str] = []
    with progress("adding up"), one_thread(), computing_on(device, "card"):
        made = make_card(
            config,
            settings,
            schema=agreed,
            task=tasks[task],
            seen=lambda read: guesses.extend(note.text(COMMAND) for note in read.notes),
        )
    if isinstance(made, Failure):
        show(Line(f"log      {config.home / LOG}  what was refused, and why", whole=True))
        raise as_error(made)
    made.save(target)
    return _written(made, target, config, {"guesses": guesses, "written": target}, before=guess_parts(guesses))


@command("fedbary answer mine.parquet question.fb -o mine.answer", reading=OWN_READING)
def answer(
    table: str = OWN_TABLE,
    question: Path = argument("The question (.fb) or model that you were sent.", "FILE"),
    *,
    output: Path | None = option("The answer. Default: TABLE's name with .answer.", "FILE", "-o", "--output"),
    label: str | None = option("The label column. Default: the question's, or 'label'.", "COL"),
    row_id: str | None = ROW_ID,
    name: str | None = OWN_NAME,
    policy: Path | None = POLICY,
    ledger: Path | None = LEDGER,
    results: Path | None = option("For your row values and report. Default: beside the ledger.", "FOLDER"),
    device: str = DEVICE,
    reading: ReadOptions,
) -> Page:
    """Answer a question that a coordinator sent you as a file, and print everything that the answer holds.

    TABLE is your file, folder of images or database, FILE the question; `fedbary show FILE` prints what is in it.
    Your policy decides what may leave, and your ledger has a line of it before the answer is written. The same
    question gets the same answer again. What the question says of your rows is written for you at once: row values
    and a report. Nothing is sent: that is up to you. Exit code 3: you refuse, and the answer says so.
    """
    from fedbary.compute import computing_on
    from fedbary.engines.files.message_file import FileKind, MessageFile
    from fedbary.engines.files.owner import answer_file
    from fedbary.engines.local import one_thread
    from fedbary.guard.owner_files import LOG

    file = MessageFile.load(question, FileKind.QUESTION, FileKind.MODEL)
    message, envelope = file.message()
    label = label or _label_of(message)
    how = {"label": label, "row_id": row_id, "reading": reading, "policy": policy, "ledger": ledger}
    target, config = _place(table, output, FileKind.ANSWER, name, results=results, **how)
    with progress("answering"), one_thread(), computing_on(device, "answer"):
        made = answer_file(file, config)
    made.save(target)
    home = config.output / envelope.session
    page = _written(made, target, config, {"written": target, "results": home}, mine=_own_results(home))
    if (config.home / LOG).is_file():
        page.parts.append(Line(f"log      {config.home / LOG}  what failed or was refused, and why", whole=True))
    return replace(page, code=SOME_FAILED if "failure" in made.packed.head else 0)


def _label_of(message: Message) -> str:
    """The label column of a question's schema; its usual name where there is none."""
    from fedbary.space.schema import Schema

    if "schema" not in message.scalars:
        return "label"
    try:
        return Schema.from_json(str(message.scalars["schema"])).label.name
    except FedbaryError:
        return "label"  # the refusal is the owner's half's to say


def owner_config(
    table: str,
    *,
    label: str,
    row_id: str | None,
    reading: ReadOptions,
    name: str,
    policy: Path | None = None,
    ledger: Path | None = None,
    results: Path | None = None,
) -> NodeConfig:
    """What a node of this owner would be configured with: the same table has the same ledger over any engine."""
    from fedbary.guard.node_config import NodeConfig

    if not is_url(table) and not Path(table).exists():
        raise DataError("data.no-file", where=table)
    options: dict[str, Any] = {"data-path": table, "label": label, "name": name}
    options |= {} if row_id is None else {"id": row_id}
    options |= {} if policy is None else {"policy": str(policy)}
    config = replace(NodeConfig.of(options, 0), reading=reading)
    if ledger is not None:
        home = ledger.parent if ledger.name == "ledger.jsonl" else ledger
        config = replace(config, home=home, output=home / "results")
    return config if results is None else replace(config, output=results)


def beside(table: str, suffix: str) -> Path:
    """Where what is made of a table is written by default: beside it, or here where it lies in a database."""
    return (Path() if is_url(table) else Path(table).parent) / f"{place_name(table)}{suffix}"


def _place(table: str, output: Path | None, kind: FileKind, name: str | None, **how: Any) -> tuple[Path, NodeConfig]:
    """Where an owner's file is written, and what its node would be configured with."""
    target = output or beside(table, kind.suffix)
    kind.check(target)  # before anything counts
    return target, owner_config(table, name=name or target.stem, **how)


def _written(
    made: MessageFile,
    target: Path,
    config: NodeConfig,
    own: Mapping[str, object],
    *,
    before: Sequence[Part] = (),
    mine: Sequence[Part] = (),
) -> Page:
    """All that is in a file which an owner may send, where it is, and which ledgers have questions about the rows."""
    copies = [note.text(COMMAND) for note in config.copies()]
    data = {**for_programs(made), **own, "ledger": config.ledger.path, "copies": copies}
    ledgers = [f"ledger   {config.ledger.path}", *(f"look     {copy}" for copy in copies)]
    parts = [*file_page(made).parts, *before, "", written(target, ": send it to the coordinator"), *mine]
    return Page([*parts, *(Line(words, whole=True) for words in ledgers)], data)


def _own_results(folder: Path) -> list[Part]:
    """Where the owner finds what is its own, and why something is not there."""
    values = "rows.csv" if (folder / "rows.csv").is_file() else "rows.parquet"  # of very many rows there is no CSV
    named = {"report.html": "your report", values: "your row values"}
    found = [f"{folder / name}  {what}" for name, what in named.items() if (folder / name).is_file()]
    reasons = [folder / name for name in ("no-row-values.txt", "no-report.txt") if (folder / name).is_file()]
    found += [reason.read_text(encoding="utf-8").strip() for reason in reasons]
    return [Line(f"yours    {words}", whole=True) for words in found]

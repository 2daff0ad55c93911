"""`fedbary ask`: questions as files, for data owners who have no server to talk to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import ROW_ID, SEED, one_of, option
from fedbary.cli.ui.settings import OF_RUN, OWN_READING, chosen_protocol
from fedbary.data.options import ReadOptions
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import Space
from fedbary.valuation.rows import RowRules
from fedbary.views.page import Line, Page, Part


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
    from fedbary.cli.ui.owner import written
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.study import NAME, Study, is_study
    from fedbary.errors import SettingsError, Waiting
    from fedbary.guard.node import Asked

    if is_study(output):
        raise SettingsError("cli.study-exists", folder=str(output))
    asked = Asked(chosen_protocol(protocol, protocol_options), rules, {})
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
    return Page(parts, {"study": output / NAME, "questions": questions})

"""What flags promise their owner, in plain words and from what the run noted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.valuation.rows import MEASURED, RowFacts
from fedbary.wording import counted, whole_percent

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.judging.federation import Estimate

_REASONS = (("label", "by their label"), ("features", "by their features"))
_WRONG_CLASSES = (
    " It is an estimate of labels that were replaced at random, without a guarantee; where two classes are mixed up "
    "throughout, more may be wrong."
)
_WRONG_NUMBERS = (
    " It is an estimate of numbers that clean rows hardly have, without a guarantee; smaller errors are not seen, so "
    "more may be wrong."
)


def owner_headline(rows: pd.DataFrame, facts: RowFacts) -> str:
    """What is wrong with the rows, in one line."""
    total = len(rows)
    flagged = rows[rows["flag"].fillna(False).astype(bool)]
    suspects = int(rows["suspect"].fillna(False).astype(bool).sum())
    if rows["flag"].isna().all() and not suspects:
        return f"{counted(total, 'row')}, ranked; this run flags none."
    if flagged.empty:
        return _nothing_flagged(total, suspects, facts)
    counts = [(int((flagged["reason"] == reason).sum()), words) for reason, words in _REASONS]
    parts = [f"{count:,} {words}" for count, words in counts if count]
    if len(parts) == 1 and len(flagged) > 1:
        parts = ["all" + parts[0].removeprefix(f"{len(flagged):,}")]
    look = "row looks" if total == 1 else "rows looks" if len(flagged) == 1 else "rows look"
    more = f"; {suspects:,} more {'is' if suspects == 1 else 'are'} suspect" if suspects else ""
    return f"{len(flagged):,} of {total:,} {look} wrong{': ' + ', '.join(parts) if parts else ''}{more}."


def _nothing_flagged(total: int, suspects: int, facts: RowFacts) -> str:
    """Nobody may read that all is well where a share of wrong labels is estimated."""
    wrong = facts.wrong_labels
    doubted = 0 if wrong is None else round(wrong.share * total)
    if suspects:
        estimate = ""
        if wrong is not None and doubted:
            estimate = f": about {100 * wrong.share:.0f} % of the labels are estimated to be wrong"
        are = "is" if suspects == 1 else "are"
        return f"{suspects:,} of {total:,} rows {are} suspect, though none is flagged{estimate}."
    none = "The one row is not flagged" if total == 1 else f"None of the {total:,} rows is flagged"
    if not doubted:
        return f"{none}."
    return f"{none}, but about {doubted:,} of the labels {'is' if doubted == 1 else 'are'} estimated to be wrong."


def promises(rows: pd.DataFrame, facts: RowFacts, *, numbers: bool = False) -> list[dict[str, str]]:
    """Titles and sentences: what a flag means, what it does not, and what was not tested."""
    said = [_rate(rows, facts)]
    if rows["flag"].notna().any():
        said.append(
            {
                "title": "What a flag means",
                "text": "The label does not fit the measurements, or these are odd among your own rows. That can be a "
                "mistake, or something rare and right, such as an uncommon case: look at a row before you remove it.",
            }
        )
    suspects = int(rows["suspect"].fillna(False).astype(bool).sum())
    if suspects:
        said.append(
            {
                "title": "What a suspect is",
                "text": f"{counted(suspects, 'row')} below the flagged ones, the worst of the rest, up to the number "
                "that is estimated to be bad. Nothing is promised of them: many may be fine.",
            }
        )
    if facts.wrong_labels is not None:
        said.append(
            {
                "title": "Wrong labels, estimated",
                "text": _estimated(facts.wrong_labels, len(rows)) + (_WRONG_NUMBERS if numbers else _WRONG_CLASSES),
            }
        )
    if facts.untested and rows["flag"].notna().any():
        said.append(
            {
                "title": "Not tested",
                "text": f"{counted(facts.untested, 'row')} could not be tested, because others have hardly any rows of "
                "their class. They are ranked, but never flagged.",
            }
        )
    return said


def _estimated(wrong: Estimate, rows: int) -> str:
    many = round(wrong.share * rows)
    if not many:
        return "No label is estimated to be wrong."
    return (
        f"About {whole_percent(wrong.share)} of the labels ({100 * wrong.low:.0f}–{100 * wrong.high:.0f} %), "
        f"{counted(many, 'row')}, {'is' if many == 1 else 'are'} estimated to be wrong, flagged or not."
    )


def _rate(rows: pd.DataFrame, facts: RowFacts) -> dict[str, str]:
    if rows["flag"].isna().all():
        return {
            "title": "Why nothing is flagged",
            "text": f"This run ranks rows and flags none ({facts.guarantee}). The least valuable rows come first: look "
            "at these, and stop where they look right.",
        }
    title, promise = "How far to trust the flags", str(facts.guarantee)
    rate = facts.guarantee.facts.get("rate")
    if facts.guarantee.code != MEASURED or not isinstance(rate, float):
        return {
            "title": title,
            "text": f"Nothing is promised about how many flagged rows are in fact fine: {promise}.",
        }
    flagged = int(rows["flag"].fillna(False).astype(bool).sum())
    about = round(rate * flagged)
    if flagged:
        many = f"about {about:,}" if about else "hardly any"
        here = f"Of the {counted(flagged, 'row')} here, expect {many} to be fine."
    else:
        here = "No row stands out so clearly here."
    return {"title": title, "text": f"{promise[0].upper()}{promise[1:]}. {here}"}
